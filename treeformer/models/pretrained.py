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

from treeformer.data.vocabulary import IGNORED
from treeformer.model_folder import no_progress_bars, refuse_pickles


class PreTrained(PreTrainedModel):
    """A model with a config, saved as safetensors and loaded from nothing else."""

    main_input_name = "input_ids"
    _supports_sdpa = True

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

        ``local_files_only=False`` lets transformers look for a model of that name on its hub.
        """
        if options.setdefault("use_safetensors", True) is not True:
            raise ValueError(
                "use_safetensors: only safetensors files are loaded, a pickle could run any code"
            )
        options.setdefault("local_files_only", True)
        refuse_pickles(Path(folder))
        try:
            with no_progress_bars():
                return super().from_pretrained(folder, *arguments, **options)
        except SafetensorError as error:
            raise ValueError(f"{folder}: the weights are not a valid safetensors file ({error})") from error

    def save_pretrained(self, *arguments: Any, **options: Any) -> None:
        """Write config and weights into a folder, as transformers does."""
        with no_progress_bars():
            super().save_pretrained(*arguments, **options)


def check_ids(name: str, ids: Tensor | None, size: int) -> None:
    """Refuse ids outside 0 … size − 1. Only on the CPU: on a GPU that would wait for the device."""
    if ids is None:
        raise ValueError(f"{name}: expected a tensor, got None")
    if ids.device.type == "cpu" and ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < size:
        raise ValueError(f"{name}: expected 0 to {size - 1}, got {int(ids.min())} to {int(ids.max())}")


def check_mask(input_ids: Tensor, attention_mask: Tensor) -> None:
    """Refuse a mask of another shape and, on the CPU, an example without any token."""
    if attention_mask.shape != input_ids.shape:
        raise ValueError(
            f"attention_mask: expected the shape {list(input_ids.shape)} of input_ids, "
            f"got {list(attention_mask.shape)}"
        )
    if attention_mask.device.type == "cpu" and not attention_mask.bool().any(1).all():
        raise ValueError("attention_mask: expected at least one token in every example, got none")


def check_padding(name: str, mask: Tensor) -> None:
    """Refuse a mask ``[B, s]`` that has padding before a token."""
    if (mask[:, 1:] & ~mask[:, :-1]).any():
        raise ValueError(f"{name}: expected tokens first, then padding, got tokens after padding")


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of ``logits [..., classes]`` and ``targets [...]``, in float32 at least."""
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(wide.flatten(0, -2), targets.flatten(), ignore_index=IGNORED)
