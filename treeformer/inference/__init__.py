"""Inference: text or trees in, answers of a trained model out."""

from treeformer.inference.classifier import Classification, Classifier, Phrase
from treeformer.inference.translator import Translation, Translator

__all__ = ["Classification", "Classifier", "Phrase", "Translation", "Translator"]
