"""Neural networks that read parse trees.

Every public name is loaded on first use: ``from treeformer import Tree`` does not load torch, and
``from treeformer import TreeBatch`` does not load transformers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what a type checker reads; _MODULES is what runs, and a test compares the two
    from treeformer.data.processor import TreeProcessor as TreeProcessor
    from treeformer.models.transformer import TransformerConfig as TransformerConfig
    from treeformer.models.transformer import (
        TransformerForConditionalGeneration as TransformerForConditionalGeneration,
    )
    from treeformer.models.transformer import (
        TransformerForSequenceClassification as TransformerForSequenceClassification,
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
