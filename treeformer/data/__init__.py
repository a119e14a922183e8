"""Data: from corpora to batches of model inputs."""

import treeformer.needs_torch  # noqa: F401
