"""Inference: text or trees in, answers of a trained model out."""
