"""Neural networks that read parse trees.

Every public name is loaded on first use: ``from treeformer import Tree`` does not load torch, and
``from treeformer import TreeBatch`` does not load transformers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what a type checker reads; _MODULES is what runs, and a test compares the two
    from treeformer.data.processor import TreeProcessor as TreeProcessor
    from treeformer.models.bilstm import BiLstmConfig as BiLstmConfig
    from treeformer.models.bilstm import BiLstmForSequenceClassification as BiLstmForSequenceClassification
    from treeformer.models.conv_seq2seq import ConvSeq2SeqConfig as ConvSeq2SeqConfig
    from treeformer.models.conv_seq2seq import (
        ConvSeq2SeqForConditionalGeneration as ConvSeq2SeqForConditionalGeneration,
    )
    from treeformer.models.dynamic_conv import DynamicConvConfig as DynamicConvConfig
    from treeformer.models.dynamic_conv import (
        DynamicConvForConditionalGeneration as DynamicConvForConditionalGeneration,
    )
    from treeformer.models.dynamic_conv import (
        DynamicConvForSequenceClassification as DynamicConvForSequenceClassification,
    )
    from treeformer.models.transformer import TransformerConfig as TransformerConfig
    from treeformer.models.transformer import (
        TransformerForConditionalGeneration as TransformerForConditionalGeneration,
    )
    from treeformer.models.transformer import (
        TransformerForSequenceClassification as TransformerForSequenceClassification,
    )
    from treeformer.models.tree2seq import Tree2SeqConfig as Tree2SeqConfig
    from treeformer.models.tree2seq import (
        Tree2SeqForConditionalGeneration as Tree2SeqForConditionalGeneration,
    )
    from treeformer.models.tree_lstm import TreeLstmConfig as TreeLstmConfig
    from treeformer.models.tree_lstm import (
        TreeLstmForSequenceClassification as TreeLstmForSequenceClassification,
    )
    from treeformer.models.tree_transformer import TreeTransformerConfig as TreeTransformerConfig
    from treeformer.models.tree_transformer import (
        TreeTransformerForConditionalGeneration as TreeTransformerForConditionalGeneration,
    )
    from treeformer.models.tree_transformer import (
        TreeTransformerForSequenceClassification as TreeTransformerForSequenceClassification,
    )
    from treeformer.ops import TreeBatch as TreeBatch
    from treeformer.parsing import load_parser as load_parser
    from treeformer.trees import Tree as Tree

__version__ = "0.1.0"

_MODULES = {
    "Tree": "treeformer.trees",
    "TreeBatch": "treeformer.ops",
    "TreeProcessor": "treeformer.data.processor",
    "load_parser": "treeformer.parsing",
    "TreeTransformerConfig": "treeformer.models.tree_transformer",
    "TreeTransformerForSequenceClassification": "treeformer.models.tree_transformer",
    "TreeTransformerForConditionalGeneration": "treeformer.models.tree_transformer",
    "TransformerConfig": "treeformer.models.transformer",
    "TransformerForSequenceClassification": "treeformer.models.transformer",
    "TransformerForConditionalGeneration": "treeformer.models.transformer",
    "DynamicConvConfig": "treeformer.models.dynamic_conv",
    "DynamicConvForSequenceClassification": "treeformer.models.dynamic_conv",
    "DynamicConvForConditionalGeneration": "treeformer.models.dynamic_conv",
    "ConvSeq2SeqConfig": "treeformer.models.conv_seq2seq",
    "ConvSeq2SeqForConditionalGeneration": "treeformer.models.conv_seq2seq",
    "BiLstmConfig": "treeformer.models.bilstm",
    "BiLstmForSequenceClassification": "treeformer.models.bilstm",
    "TreeLstmConfig": "treeformer.models.tree_lstm",
    "TreeLstmForSequenceClassification": "treeformer.models.tree_lstm",
    "Tree2SeqConfig": "treeformer.models.tree2seq",
    "Tree2SeqForConditionalGeneration": "treeformer.models.tree2seq",
}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    """The public object called ``name``, imported now and kept for the next time."""
    if name not in _MODULES:
        raise AttributeError(
            f"module 'treeformer' has no attribute {name!r}; it exports {', '.join(_MODULES)}", name=name
        )
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
