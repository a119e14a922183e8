"""One file a system. All follow the conventions of Hugging Face transformers."""

from treeformer.models.transformer import (
    TransformerConfig,
    TransformerForConditionalGeneration,
    TransformerForSequenceClassification,
)
from treeformer.models.tree_transformer import (
    TreeTransformerConfig,
    TreeTransformerForConditionalGeneration,
    TreeTransformerForSequenceClassification,
)

__all__ = [
    "TransformerConfig",
    "TransformerForConditionalGeneration",
    "TransformerForSequenceClassification",
    "TreeTransformerConfig",
    "TreeTransformerForConditionalGeneration",
    "TreeTransformerForSequenceClassification",
]
