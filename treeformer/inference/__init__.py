"""Inference: text or trees in, answers of a trained model out.

The classes of models are loaded on first use, so that the answers alone do not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from treeformer.inference.answers import Classification, Effect, Phrase, Translation

if TYPE_CHECKING:
    from treeformer.inference.attending import Attended, attend
    from treeformer.inference.classifier import Classifier
    from treeformer.inference.translator import Translator

__all__ = [
    "Attended",
    "Classification",
    "Classifier",
    "Effect",
    "Phrase",
    "Translation",
    "Translator",
    "attend",
]

_LAZY = {
    "Attended": "attending",
    "Classifier": "classifier",
    "Translator": "translator",
    "attend": "attending",
}


def __getattr__(name: str) -> object:
    """A name that needs torch, imported now."""
    if name in _LAZY:
        return getattr(import_module(f"treeformer.inference.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'treeformer.inference' has no attribute {name!r}", name=name)
