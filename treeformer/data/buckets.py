"""Buckets: a few shapes for examples of many sizes, chosen to need little padding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MULTIPLE = 8  #: widths are multiples of this, which matrix units prefer ...
SMALL = (2, 4)  #: ... or one of these
LEVELS = 4  #: numbers of levels are multiples of this, large ones of four times this

Numbers = NDArray[np.int64]


class Shape(NamedTuple):
    """The shape of a batch: number of examples, and padded numbers of leaves, nodes and targets."""

    rows: int
    leaves: int
    nodes: int
    targets: int
    limits: tuple[int, int] | None = None  #: levels and folds at most, see `treeformer.ops.levels.Limits`

    @property
    def widths(self) -> tuple[int, int, int]:
        """Leaves, nodes and targets."""
        return self.leaves, self.nodes, self.targets


class _Group(NamedTuple):
    """Cells (sizes that occur) with one common shape, and the best way to split them."""

    cells: Numbers  #: indices of cells
    saving: int  #: padding that the split saves
    side: NDArray[np.bool_]  #: the cells of the second half


def buckets_of(widths: Numbers, tokens: int, shapes: int) -> tuple[list[Shape], Numbers]:
    """At most ``shapes`` shapes, small ones first, and the shape number ``[N]`` of each example.

    All examples start in one group, padded to the widest. The group whose split at one width saves the most
    padding is split, repeatedly, as long as a split saves more than one update holds.

    Args:
        widths: ``[N, 3]``, leaves, nodes and targets of each example.
        tokens: leaves and nodes that fit in an update; targets alone may be as many.
        shapes: largest number of shapes.
    """
    rounded = -(-widths // MULTIPLE) * MULTIPLE
    for small in reversed(SMALL):
        rounded[(widths > 0) & (widths <= small)] = small
    keys = (rounded[:, 0] << 42) | (rounded[:, 1] << 21) | rounded[:, 2]  # one number sorts faster than three
    _, places, cell_of, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    cells = rounded[places]
    groups = [_group(cells, counts, np.arange(len(cells)))]
    while len(groups) < shapes:
        best = max(range(len(groups)), key=lambda number: groups[number].saving)
        group = groups[best]
        if group.saving <= tokens:
            break
        groups[best] = _group(cells, counts, group.cells[~group.side])
        groups.append(_group(cells, counts, group.cells[group.side]))
    boxes = [tuple(map(int, cells[group.cells].max(0))) for group in groups]
    order = sorted(range(len(groups)), key=lambda number: (sum(boxes[number]), boxes[number]))
    group_of = np.empty(len(cells), np.int64)
    for place, number in enumerate(order):
        group_of[groups[number].cells] = place
    return [_shape(boxes[number], tokens, len(widths)) for number in order], group_of[cell_of]


def rounded_limits(shape: Shape, levels: int, folds: int) -> tuple[int, int]:
    """Limits of a batch of this shape, rounded up so that many batches share them.

    Most trees have no more folds than a binary tree without unary nodes, one less than leaves.

    Args:
        shape: the shape of the batch.
        levels, folds: the most that any of its trees has.
    """
    usual, most = max(shape.leaves - 1, shape.nodes), shape.leaves + shape.nodes - 1
    width = usual if folds <= usual else most
    step = LEVELS if levels <= 8 * LEVELS else 4 * LEVELS
    return min(-(-levels // step) * step, width), width


def _shape(box: tuple[int, ...], tokens: int, examples: int) -> Shape:
    """The shape with these widths and as many rows as fit, at most one for each example."""
    leaves, nodes, targets = box
    rows = max(1, tokens // max(leaves + nodes, targets))
    return Shape(min(rows, examples), leaves, nodes, targets)


def _group(cells: Numbers, counts: Numbers, members: Numbers) -> _Group:
    """The group of these cells with its best split."""
    sizes, weights = cells[members], counts[members]
    whole = int(sizes.max(0).sum() * weights.sum())
    best = _Group(members, 0, np.zeros(len(members), bool))
    for width in range(sizes.shape[1]):
        order = np.argsort(sizes[:, width], kind="stable")
        cuts = np.flatnonzero(np.diff(sizes[order, width])) + 1
        if not len(cuts):
            continue
        below = np.maximum.accumulate(sizes[order]).sum(1) * np.cumsum(weights[order])
        above = np.maximum.accumulate(sizes[order[::-1]]).sum(1) * np.cumsum(weights[order[::-1]])
        costs = below[cuts - 1] + above[::-1][cuts]
        cut = int(costs.argmin())
        if whole - int(costs[cut]) > best.saving:
            side = np.zeros(len(members), bool)
            side[order[cuts[cut] :]] = True
            best = _Group(members, whole - int(costs[cut]), side)
    return best
