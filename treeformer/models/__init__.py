"""One file per system. All follow the conventions of Hugging Face transformers."""

from importlib import import_module

import treeformer.needs_torch  # noqa: F401
from treeformer.models.bilstm import BiLstmConfig, BiLstmForSequenceClassification
from treeformer.models.conv_seq2seq import ConvSeq2SeqConfig, ConvSeq2SeqForConditionalGeneration
from treeformer.models.dynamic_conv import (
    DynamicConvConfig,
    DynamicConvForConditionalGeneration,
    DynamicConvForSequenceClassification,
)
from treeformer.models.linear import LinearConfig, LinearForSequenceClassification
from treeformer.models.transformer import (
    TransformerConfig,
    TransformerForConditionalGeneration,
    TransformerForSequenceClassification,
    TransformerModel,
)
from treeformer.models.tree2seq import Tree2SeqConfig, Tree2SeqForConditionalGeneration
from treeformer.models.tree_lstm import TreeLstmConfig, TreeLstmForSequenceClassification
from treeformer.models.tree_transformer import (
    TreeTransformerConfig,
    TreeTransformerForConditionalGeneration,
    TreeTransformerForSequenceClassification,
    TreeTransformerModel,
)

__all__ = [
    "BiLstmConfig",
    "BiLstmForSequenceClassification",
    "ConvSeq2SeqConfig",
    "ConvSeq2SeqForConditionalGeneration",
    "DynamicConvConfig",
    "DynamicConvForConditionalGeneration",
    "DynamicConvForSequenceClassification",
    "LinearConfig",
    "LinearForSequenceClassification",
    "TransformerConfig",
    "TransformerForConditionalGeneration",
    "TransformerForSequenceClassification",
    "TransformerModel",
    "Tree2SeqConfig",
    "Tree2SeqForConditionalGeneration",
    "TreeLstmConfig",
    "TreeLstmForSequenceClassification",
    "TreeTransformerConfig",
    "TreeTransformerForConditionalGeneration",
    "TreeTransformerForSequenceClassification",
    "TreeTransformerModel",
]

import_module("treeformer.models.systems")  # it registers the models with transformers
