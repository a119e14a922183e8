"""Training: from trees on disk to weights on disk."""
