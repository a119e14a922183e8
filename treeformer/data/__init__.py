"""Data: from corpora to batches of model inputs."""
