"""Trees as tensors, and hierarchical accumulation as a pure function on them."""

import treeformer.needs_torch  # noqa: F401
from treeformer.ops.accumulation import Implementation, accumulate
from treeformer.ops.batch import TreeBatch
from treeformer.ops.convention import Convention

__all__ = ["Convention", "Implementation", "TreeBatch", "accumulate"]
