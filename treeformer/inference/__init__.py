"""Inference: text or trees in, answers of a trained model out."""

from treeformer.inference.answers import Classification, Phrase, Translation
from treeformer.inference.classifier import Classifier
from treeformer.inference.translator import Translator

__all__ = ["Classification", "Classifier", "Phrase", "Translation", "Translator"]
