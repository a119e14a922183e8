"""What the models of all systems share: initial weights, loading and saving, checks of inputs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

from treeformer.checksums import check_folder, replaced
from treeformer.data.vocabulary import IGNORED
from treeformer.encoders import load_encoder
from treeformer.model_folder import (
    CONFIG,
    check_finite,
    check_sizes,
    check_tensors,
    no_progress_bars,
    read_config,
    refuse_pickles,
    stored_tensors,
    weight_files,
)
from treeformer.models.pretrained_words import pretrained_part

GENERATION = "generation_config.json"
_ENCODER = "encoder."  # the names of its tensors begin so
_FILES = (CONFIG, GENERATION, "*.safetensors", "*.safetensors.index.json")  # of a saved model


class PreTrained(PreTrainedModel):
    """A model with a config, saved as safetensors and loaded from nothing else."""

    main_input_name = "input_ids"
    _supports_sdpa = True
    accepts_loss_kwargs = False  # losses are means: a Trainer that accumulates gradients divides them

    encoder: nn.Module  #: its ``embedding`` holds the tokens in its first ``vocab_size`` rows

    def get_input_embeddings(self) -> Any:
        return self.encoder.embedding

    def _init_weights(self, module: nn.Module) -> None:
        """Initialise a norm as the identity, a linear map by Xavier, a module of ours by itself.

        transformers visits inner modules first, so ``reset_parameters`` of a module decides about its parts.
        """
        if isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif callable(reset := getattr(module, "reset_parameters", None)):
            reset()

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, folder: str | os.PathLike[str], *arguments: Any, **options: Any
    ) -> Self:
        """The model saved in ``folder``. Only safetensors files are read, and only from this machine.

        Its tensors must be those that its config asks for: all of them, of the right shapes, finite. The
        encoder that a model reads words through must be on this machine if it was frozen in training.
        ``local_files_only=False`` lets transformers look for a model of that name on its hub.

        Between a model with a head and a bare encoder only the encoder is loaded: the head is left out, or
        starts fresh.
        """
        if options.setdefault("use_safetensors", True) is not True:
            raise ValueError(
                "use_safetensors: only safetensors files are loaded, a pickle could run any code"
            )
        options.setdefault("local_files_only", True)
        source: object = folder
        same_head = not _is_bare(cls.__name__)
        if Path(folder).is_dir():
            same_head = cls._has_head_of(Path(folder))
            check_folder(Path(folder))
            refuse_pickles(Path(folder))
            source = cls._check_weights(Path(folder), same_head=same_head)
        with_report = options.pop("output_loading_info", False)
        try:
            with no_progress_bars():
                loaded: Any = super().from_pretrained(folder, *arguments, output_loading_info=True, **options)
        except SafetensorError as error:
            raise ValueError(f"{folder}: the weights are not a valid safetensors file ({error})") from error
        except (AttributeError, KeyError, TypeError) as error:  # of a value that no check above knows
            raise ValueError(f"{Path(folder) / CONFIG}: {_line(error)}") from error
        model, report = loaded
        for problem, key in (("missing", "missing_keys"), ("not of this model", "unexpected_keys")):
            names = [name for name in report[key] if same_head or name.startswith(_ENCODER)]
            if names:  # of a model that is not in a folder
                raise ValueError(f"{folder}: tensor {min(names)} is {problem}")
        check_finite(source, model.state_dict())
        attach_encoder(model, folder)
        return loaded if with_report else model

    @classmethod
    def _has_head_of(cls, folder: Path) -> bool:
        """Whether a folder should hold the head of this class: neither of the two is a bare encoder."""
        names = read_config(folder).get("architectures")
        stored = str(names[0]) if isinstance(names, list) and names else cls.__name__
        return stored == cls.__name__ or not (_is_bare(stored) or _is_bare(cls.__name__))

    @classmethod
    def _check_weights(cls, folder: Path, *, same_head: bool) -> Path:
        """Raise ``ValueError`` if the weights in a folder are not those of its config; return their place.

        Without ``same_head`` only tensors of the encoder are compared. This reads
        the headers of files and allocates nothing.
        """
        path, config = folder / CONFIG, read_config(folder)
        files = weight_files(folder)
        if not files:
            return folder  # transformers names the file that it expects
        source = files[0] if len(files) == 1 else folder
        stored = stored_tensors(files)
        check_sizes(path, config, stored)
        try:
            with torch.device("meta"):
                config_class: Any = cls.config_class
                model = cls(config_class.from_pretrained(folder, local_files_only=True))
        except Exception as error:  # of transformers and of the checks of sizes: they have no class in common
            raise ValueError(f"{path}: {_line(error)}") from error
        compared = "" if same_head else _ENCODER
        check_tensors(
            source,
            {name: tensor.shape for name, tensor in stored.items() if name.startswith(compared)},
            {
                name: tuple(tensor.shape)
                for name, tensor in model.state_dict().items()
                if name.startswith(compared)
            },
            optional=getattr(model, "all_tied_weights_keys", {}),
        )
        return source

    def save_pretrained(
        self, save_directory: str | os.PathLike[str], *arguments: Any, **options: Any
    ) -> None:
        """Write config and weights into a folder, as transformers does, with their checksums."""
        folder = Path(save_directory)
        folder.mkdir(parents=True, exist_ok=True)
        with no_progress_bars(), replaced(folder, _FILES):
            super().save_pretrained(save_directory, *arguments, **options)


def attach_encoder(model: nn.Module, source: object) -> None:
    """Load the frozen encoder of a model, if it has one; ValueError if it is missing or has changed."""
    part = pretrained_part(model)
    if part is None or part.network is not None:
        return
    try:
        part.attach(load_encoder(part.settings.name, sha256=part.settings.sha256))
    except (OSError, ValueError) as error:
        raise ValueError(f"{source}: {_line(error)}") from error


def _is_bare(class_name: str) -> bool:
    """Whether a model class of this name is an encoder without a head."""
    return class_name.endswith("Model")


def _line(error: Exception) -> str:
    """The message of an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def check_ids(name: str, ids: Tensor | None, size: int) -> None:
    """Refuse ids outside 0 … size − 1. Only on the CPU: on a GPU that would wait for the device."""
    if ids is None:
        raise ValueError(f"{name}: expected a tensor, got None")
    if torch.compiler.is_compiling() or ids.device.type != "cpu":
        return
    if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < size:
        raise ValueError(f"{name}: expected 0 to {size - 1}, got {int(ids.min())} to {int(ids.max())}")


def check_mask(vectors: Tensor, attention_mask: Tensor) -> None:
    """Refuse a mask of another shape than the tokens and, on the CPU, an example without any token."""
    if attention_mask.shape != vectors.shape[:2]:
        raise ValueError(
            f"attention_mask: expected the shape {list(vectors.shape[:2])} of input_ids, "
            f"got {list(attention_mask.shape)}"
        )
    if torch.compiler.is_compiling() or attention_mask.device.type != "cpu":
        return
    if not attention_mask.bool().any(1).all():
        raise ValueError("attention_mask: expected at least one token in every example, got none")


def check_padding(name: str, mask: Tensor) -> None:
    """Refuse a mask ``[B, s]`` that has padding before a token."""
    if (mask[:, 1:] & ~mask[:, :-1]).any():
        raise ValueError(f"{name}: expected tokens first, then padding, got tokens after padding")


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of ``logits [..., classes]`` and ``targets [...]``, in float32 at least."""
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(wide.flatten(0, -2), targets.flatten(), ignore_index=IGNORED)
