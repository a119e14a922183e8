"""What all systems share: where weights start, and how they are loaded."""

from __future__ import annotations

import os
from typing import Any, Self

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig, PreTrainedModel

IGNORED = -100  #: a target that takes no part in a loss


class PreTrained(PreTrainedModel):
    """A model with a config, saved as safetensors and loaded from nothing else."""

    main_input_name = "input_ids"
    _supports_sdpa = True

    encoder: nn.Module  #: its ``embedding`` holds the tokens in its first ``vocab_size`` rows

    def get_input_embeddings(self) -> Any:
        return self.encoder.embedding

    def _init_weights(self, module: nn.Module) -> None:
        """Our modules know how they start; a norm starts as the identity, any other linear map as Xavier.

        Modules come after those inside them, so what a module says about its parts has the last word.
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
        try:
            return super().from_pretrained(folder, *arguments, **options)
        except SafetensorError as error:
            raise ValueError(f"{folder}: the weights are not a valid safetensors file ({error})") from error


def check_choice(config: PreTrainedConfig, name: str, choices: tuple[str, ...]) -> None:
    """Refuse a config whose field ``name`` is none of the choices."""
    value = getattr(config, name)
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of ``logits [..., classes]`` and ``targets [...]``, in float32 at least."""
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return F.cross_entropy(wide.flatten(0, -2), targets.flatten(), ignore_index=IGNORED)


def compute_dtype(states: Tensor) -> torch.dtype:
    """The dtype in which linear maps of these states are computed: autocast may choose another."""
    device = states.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
