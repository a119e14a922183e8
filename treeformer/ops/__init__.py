"""Trees as tensors, and hierarchical accumulation as a pure function on them."""

from treeformer.ops.accumulation import accumulate
from treeformer.ops.batch import TreeBatch

__all__ = ["TreeBatch", "accumulate"]
