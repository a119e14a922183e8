"""Inference: text or trees in, answers of a trained model out.

The classes of models are loaded on first use, so that the answers alone do not load torch.
"""

from typing import TYPE_CHECKING

from treeformer.inference.answers import Classification, Phrase, Translation

if TYPE_CHECKING:
    from treeformer.inference.classifier import Classifier
    from treeformer.inference.translator import Translator

__all__ = ["Classification", "Classifier", "Phrase", "Translation", "Translator"]


def __getattr__(name: str) -> object:
    """The classifier or the translator, imported now."""
    if name == "Classifier":
        from treeformer.inference.classifier import Classifier

        return Classifier
    if name == "Translator":
        from treeformer.inference.translator import Translator

        return Translator
    raise AttributeError(f"module 'treeformer.inference' has no attribute {name!r}", name=name)
