"""The fast path from bracket text to trees: one regular expression, and one short loop over the leaves.

A match is a run of opening brackets with their labels, one preterminal with its word, and the closing
brackets after it. ``Pattern.split`` returns all of them as one flat list. The loop raises
:class:`MalformedError` where the text is not trees; ``diagnosis.py`` then finds the reason.
"""

import re
from collections.abc import Callable

from treeformer.caching import TextCache

from .escapes import decode_word
from .labels import bare_label
from .tree import Tree, trusted_tree

_GAP = r"[ \t\n]*+"
_TEXT = r"[^ \t\n()]"
_OPENER = rf"(?:\({_GAP}{_TEXT}*+{_GAP}(?=\())"
_OPENER_LABEL = re.compile(rf"\({_GAP}({_TEXT}*+)")
_PRETERMINAL = rf"\({_GAP}({_TEXT}++)[ \t\n]++({_TEXT}++){_GAP}"
_LEAF = re.compile(rf"({_OPENER}*+){_PRETERMINAL}(\)(?:[ \t\n]*\))*+){_GAP}|{_OPENER}++")


class MalformedError(Exception):
    """The text is not a sequence of trees."""


class LabelReader:
    """Labels as trees hold them, from labels and runs of opening brackets in the text; both are cached.

    Args:
        rewrite: gives the label of a tree for a label in the text.
    """

    def __init__(self, rewrite: Callable[[str], str]) -> None:
        self.label = TextCache(rewrite).__getitem__
        self.run_inside = TextCache(self._run_inside).__getitem__
        self.run_outside = TextCache(self._run_outside).__getitem__

    def _run_inside(self, run: str) -> tuple[str, ...]:
        """The labels of a run of opening brackets inside a tree."""
        labels = _OPENER_LABEL.findall(run)
        if "" in labels:
            raise MalformedError
        return tuple(map(self.label, labels))

    def _run_outside(self, run: str) -> tuple[str, ...]:
        """The labels of a run that begins a tree, whose first label may be missing and then is ``ROOT``."""
        labels = _OPENER_LABEL.findall(run)
        if "" in labels[1:]:
            raise MalformedError
        return tuple(self.label(label or "ROOT") for label in labels)


STRIPPED = LabelReader(bare_label)
VERBATIM = LabelReader(str)


def scan(text: str, reader: LabelReader, *, collapse: bool) -> list[Tree]:
    """The trees of ``text``; with ``collapse`` only the lowest node of each unary chain.

    A closing node belongs to a chain if it begins where the last node that closed at this leaf began; the
    leaf itself counts as a node. A root ``DOC`` needs more care, see ``transforms.collapse``.
    """
    parts = _LEAF.split(text)
    if "".join(parts[::5]).strip(" \t\n"):
        raise MalformedError
    runs, closings = parts[1::5], parts[4::5]
    tags = list(map(reader.label, parts[2::5]))
    words = parts[3::5]
    if "RB-" in text:
        words = [decode_word(word) for word in words]
    trees: list[Tree] = []
    open_labels: list[str] = []
    open_starts: list[int] = []
    labels: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    run_inside, run_outside = reader.run_inside, reader.run_outside
    first = leaf = 0
    for run, closing in zip(runs, closings, strict=True):
        if run:
            opened = run_inside(run) if open_labels else run_outside(run)
            open_labels += opened
            open_starts += (leaf,) * len(opened)
        last_start = leaf if collapse else -1
        leaf += 1
        if closing != ")":
            count = closing.count(")") - 1
            if count > len(open_labels):
                raise MalformedError
            for _ in range(count):
                label = open_labels.pop()
                start = open_starts.pop()
                if start != last_start:
                    labels.append(label)
                    starts.append(start)
                    ends.append(leaf)
                    if collapse:
                        last_start = start
        if not open_labels:
            if not labels:  # one word: its lowest node, or its tag
                labels, starts, ends = [opened[-1] if run else tags[first]], [0], [1]
            leaves = slice(first, first + leaf)
            spans = tuple(zip(starts, ends, strict=True))
            trees.append(trusted_tree(tuple(words[leaves]), tuple(tags[leaves]), tuple(labels), spans))
            first, leaf, labels, starts, ends = leaves.stop, 0, [], [], []
    if open_labels:
        raise MalformedError
    return trees
