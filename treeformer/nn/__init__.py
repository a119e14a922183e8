"""Layers over the operations in `treeformer.ops`: plain `torch.nn.Module`s without transformers."""

import treeformer.needs_torch  # noqa: F401
from treeformer.nn.accumulation import HierarchicalAccumulation
from treeformer.nn.attention import Attention, AttentionRecord, Traces
from treeformer.nn.bilstm import BiLstmLayer, WordContext
from treeformer.nn.composition import TreeComposition
from treeformer.nn.convolution import DynamicConvolution, LightweightConvolution
from treeformer.nn.embedding import ScaledEmbedding, sinusoids, with_positions
from treeformer.nn.stacks import Decoder, DecoderLayer, Encoder, EncoderLayer
from treeformer.nn.tree_attention import TreeAttention

__all__ = [
    "Attention",
    "AttentionRecord",
    "BiLstmLayer",
    "Decoder",
    "DecoderLayer",
    "DynamicConvolution",
    "Encoder",
    "EncoderLayer",
    "HierarchicalAccumulation",
    "LightweightConvolution",
    "ScaledEmbedding",
    "Traces",
    "TreeAttention",
    "TreeComposition",
    "WordContext",
    "sinusoids",
    "with_positions",
]
