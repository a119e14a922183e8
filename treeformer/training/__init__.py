"""Training: from trees on disk to weights on disk."""

import treeformer.needs_torch  # noqa: F401
