"""Dynamic Conv (Wu et al. 2019): a Transformer with convolutions in the place of self-attention."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor

from treeformer.models.generation import Memory, Target
from treeformer.models.transformer import (
    TransformerConfig,
    TransformerEncoder,
    TransformerForConditionalGeneration,
    TransformerForSequenceClassification,
)
from treeformer.nn import DynamicConvolution, LightweightConvolution, Traces
from treeformer.nn.convolution import Convolution

ConvolutionKind = Literal["dynamic", "lightweight"]

KERNELS = (3, 7, 15, 31)  #: the authors' widths of the first layers; later layers have the last one


class DynamicConvConfig(TransformerConfig):
    """Sizes of a Dynamic Conv: those of the Transformer, and the following.

    Args:
        attention_heads: heads of the convolutions and of the attention to the source.
        encoder_kernels, decoder_kernels: width of the kernels in each layer, odd in the encoder. Layers
            beyond the list have the last width. Default: 3, 7, 15, 31, 31, …
        convolution: ``dynamic`` for kernels that each position predicts, or ``lightweight`` for fixed ones.
        kernel_dropout: on the weights of the kernels.
    """

    model_type = "treeformer-dynamic-conv"

    encoder_kernels: list[int] | None = None
    decoder_kernels: list[int] | None = None
    convolution: ConvolutionKind = "dynamic"
    kernel_dropout: float = 0.1

    def __post_init__(self, **extra: Any) -> None:
        super().__post_init__(**extra)
        self.check_choice("convolution", get_args(ConvolutionKind))
        self.check_rates("kernel_dropout")
        self.encoder_kernels = kernel_widths("encoder_kernels", self.encoder_kernels, self.encoder_layers)
        self.decoder_kernels = kernel_widths("decoder_kernels", self.decoder_kernels, self.decoder_layers)
        if any(width % 2 == 0 for width in self.encoder_kernels):
            raise ValueError(f"encoder_kernels: expected odd numbers, got {self.encoder_kernels}")


class DynamicConvEncoder(TransformerEncoder):
    """Embedding and encoder layers with convolutions."""

    def mixer(self, config: DynamicConvConfig, layer: int) -> Convolution:
        return convolution(config, config.encoder_kernels, layer)

    def context(self, mask: Tensor, dtype: torch.dtype) -> Tensor:
        """The mask itself: a convolution reads padding as zeros."""
        return mask


class DynamicConvForSequenceClassification(TransformerForSequenceClassification):
    """An encoder with convolutions; the mean of its states goes to one linear layer."""

    config_class = DynamicConvConfig
    config: DynamicConvConfig
    encoder_class = DynamicConvEncoder


class DynamicConvForConditionalGeneration(TransformerForConditionalGeneration):
    """Convolutions over source and target, and attention from the target to the source."""

    config_class = DynamicConvConfig
    config: DynamicConvConfig
    encoder_class = DynamicConvEncoder

    def mixer(self, config: DynamicConvConfig, layer: int) -> Convolution:
        return convolution(config, config.decoder_kernels, layer)

    def target_states(self, target: Target, memory: Memory, traces: Traces) -> Tensor:
        return super().target_states(target.unmasked(), memory, traces)


def convolution(config: DynamicConvConfig, widths: list[int] | None, layer: int) -> Convolution:
    """The convolution of a layer with the settings of the config."""
    assert widths is not None
    kind = DynamicConvolution if config.convolution == "dynamic" else LightweightConvolution
    return kind(config.d_model, config.attention_heads, widths[layer], dropout=config.kernel_dropout)


def kernel_widths(name: str, given: object, layers: int) -> list[int]:
    """One width for each layer; layers beyond the given widths have the last one."""
    widths = list(KERNELS[:layers]) if given is None else given
    if not isinstance(widths, list) or not 1 <= len(widths) <= layers:
        raise ValueError(f"{name}: expected a list of 1 to {layers} widths, one per layer, got {given!r}")
    for width in widths:
        if not isinstance(width, int) or width < 1:
            raise ValueError(f"{name}: expected whole numbers, at least 1, got {given!r}")
    return widths + widths[-1:] * (layers - len(widths))
