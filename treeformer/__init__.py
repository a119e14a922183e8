"""Neural networks that read parse trees.

Every public name is loaded on first use: ``from treeformer import Tree`` does not load torch, and
``from treeformer import TreeBatch`` does not load transformers. When both treeformer and transformers are
imported, ``AutoModelForSequenceClassification`` and the like know our models.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from treeformer.extras import missing
from treeformer.import_hook import register_with_transformers

if TYPE_CHECKING:  # for type checkers; _NAMES is what runs, and a test compares the two
    from treeformer.data.collator import TreeCollator as TreeCollator
    from treeformer.data.preparation import prepare as prepare
    from treeformer.data.processor import TreeProcessor as TreeProcessor
    from treeformer.data.reading import Reading as Reading
    from treeformer.evaluation.report import evaluate as evaluate
    from treeformer.fitting.fitting import fit as fit
    from treeformer.inference.classifier import Classifier as Classifier
    from treeformer.inference.translator import Translator as Translator
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
    from treeformer.models.linear import LinearConfig as LinearConfig
    from treeformer.models.linear import LinearForSequenceClassification as LinearForSequenceClassification
    from treeformer.models.transformer import TransformerConfig as TransformerConfig
    from treeformer.models.transformer import (
        TransformerForConditionalGeneration as TransformerForConditionalGeneration,
    )
    from treeformer.models.transformer import (
        TransformerForSequenceClassification as TransformerForSequenceClassification,
    )
    from treeformer.models.transformer import TransformerModel as TransformerModel
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
    from treeformer.models.tree_transformer import TreeTransformerModel as TreeTransformerModel
    from treeformer.ops import TreeBatch as TreeBatch
    from treeformer.parsing import load_parser as load_parser
    from treeformer.training.loop import train as train
    from treeformer.training.recipe import Recipe as Recipe
    from treeformer.trees import Tree as Tree

__version__ = "1.0.0"

_NAMES = {
    "treeformer.trees": ["Tree"],
    "treeformer.parsing": ["load_parser"],
    "treeformer.training.recipe": ["Recipe"],
    "treeformer.data.preparation": ["prepare"],
    "treeformer.training.loop": ["train"],
    "treeformer.evaluation.report": ["evaluate"],
    "treeformer.fitting.fitting": ["fit"],
    "treeformer.inference.classifier": ["Classifier"],
    "treeformer.inference.translator": ["Translator"],
    "treeformer.data.processor": ["TreeProcessor"],
    "treeformer.data.reading": ["Reading"],
    "treeformer.data.collator": ["TreeCollator"],
    "treeformer.ops": ["TreeBatch"],
    "treeformer.models.tree_transformer": [
        "TreeTransformerConfig",
        "TreeTransformerForSequenceClassification",
        "TreeTransformerForConditionalGeneration",
        "TreeTransformerModel",
    ],
    "treeformer.models.transformer": [
        "TransformerConfig",
        "TransformerForSequenceClassification",
        "TransformerForConditionalGeneration",
        "TransformerModel",
    ],
    "treeformer.models.dynamic_conv": [
        "DynamicConvConfig",
        "DynamicConvForSequenceClassification",
        "DynamicConvForConditionalGeneration",
    ],
    "treeformer.models.conv_seq2seq": ["ConvSeq2SeqConfig", "ConvSeq2SeqForConditionalGeneration"],
    "treeformer.models.bilstm": ["BiLstmConfig", "BiLstmForSequenceClassification"],
    "treeformer.models.linear": ["LinearConfig", "LinearForSequenceClassification"],
    "treeformer.models.tree_lstm": ["TreeLstmConfig", "TreeLstmForSequenceClassification"],
    "treeformer.models.tree2seq": ["Tree2SeqConfig", "Tree2SeqForConditionalGeneration"],
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    """The public object of this name, imported now and kept."""
    if name not in _MODULES:
        raise AttributeError(
            f"module 'treeformer' has no attribute {name!r}; it exports {', '.join(_MODULES)}", name=name
        )
    try:
        value: object = getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        message = missing(error.name)
        if message is None:
            raise
        raise ModuleNotFoundError(message, name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_with_transformers()
