"""The fast path from bracket text to trees: one regular expression, one short loop a leaf.

A match is a run of opening brackets with their labels, one preterminal with its word, and the closing
brackets after it. ``Pattern.split`` hands all of them over as one flat list, so the work in Python is one
turn a leaf. The loop trusts what it sees; it raises :class:`MalformedError` where the text is not trees, and
``diagnosis.py`` then finds out why.
"""

import re
from collections.abc import Callable

from .escapes import decode_word
from .labels import bare_label
from .shape import Span
from .tree import Tree, trusted_tree

_CACHE_LIMIT = 100_000
_GAP = r"[ \t\n]*+"
_TEXT = r"[^ \t\n()]"
_OPENER = rf"(?:\({_GAP}{_TEXT}*+{_GAP}(?=\())"
_OPENER_LABEL = re.compile(rf"\({_GAP}({_TEXT}*+)")
_PRETERMINAL = rf"\({_GAP}({_TEXT}++)[ \t\n]++({_TEXT}++){_GAP}"
_LEAF = re.compile(rf"({_OPENER}*+){_PRETERMINAL}(\)(?:[ \t\n]*\))*+){_GAP}|{_OPENER}++")


class MalformedError(Exception):
    """The text is not a sequence of trees."""


class _LabelCache(dict[str, str]):
    """Labels as a reader hands them out, by labels as they stand in the text."""

    def __init__(self, rewrite: Callable[[str], str]) -> None:
        super().__init__()
        self.rewrite = rewrite

    def __missing__(self, label: str) -> str:
        if len(self) >= _CACHE_LIMIT:
            self.clear()
        self[label] = rewritten = self.rewrite(label)
        return rewritten


class _RunCache(dict[str, tuple[str, ...]]):
    """Labels of a run of opening brackets, by the text of the run.

    ``outermost`` runs begin a tree: their first label may be missing and then is ``ROOT``.
    """

    def __init__(self, labels: _LabelCache, outermost: bool) -> None:
        super().__init__()
        self.labels = labels
        self.outermost = outermost

    def __missing__(self, run: str) -> tuple[str, ...]:
        if len(self) >= _CACHE_LIMIT:
            self.clear()
        labels = _OPENER_LABEL.findall(run)
        if self.outermost and labels and not labels[0]:
            labels[0] = "ROOT"
        if "" in labels:
            raise MalformedError
        self[run] = found = tuple(map(self.labels.__getitem__, labels))
        return found


class LabelCaches:
    """The caches of one way to rewrite labels."""

    def __init__(self, rewrite: Callable[[str], str]) -> None:
        self.labels = _LabelCache(rewrite)
        self.outer_runs = _RunCache(self.labels, outermost=True)
        self.inner_runs = _RunCache(self.labels, outermost=False)


STRIPPED = LabelCaches(bare_label)
VERBATIM = LabelCaches(str)

Leaves = tuple[list[str], list[str], list[str], list[str]]


def _leaves(text: str, caches: LabelCaches) -> Leaves:
    """By leaf of ``text``: the brackets opened before it, its tag, its word, the brackets closed after it."""
    parts = _LEAF.split(text)
    if "".join(parts[::5]).strip(" \t\n"):
        raise MalformedError
    words = parts[3::5]
    if "RB-" in text:
        words = [decode_word(word) for word in words]
    return parts[1::5], list(map(caches.labels.__getitem__, parts[2::5])), words, parts[4::5]


def scan_collapsed(text: str, caches: LabelCaches) -> list[Tree]:
    """The trees of ``text`` with unary chains collapsed to their lowest label.

    A closing node is a link of a chain if it begins where the last node to close at this leaf began, and the
    leaf itself counts as such a node. A root ``DOC`` needs more care than this; see ``transforms.collapse``.
    """
    runs, tags, words, closings = _leaves(text, caches)
    outer_runs, inner_runs = caches.outer_runs, caches.inner_runs
    trees: list[Tree] = []
    open_labels: list[str] = []
    open_starts: list[int] = []
    labels: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    first = leaf = 0
    for run, closing in zip(runs, closings, strict=True):
        if run:
            opened = inner_runs[run] if open_labels else outer_runs[run]
            open_labels += opened
            open_starts += (leaf,) * len(opened)
        last = leaf
        leaf += 1
        if closing != ")":
            count = closing.count(")") - 1
            if count > len(open_labels):
                raise MalformedError
            for _ in range(count):
                label = open_labels.pop()
                start = open_starts.pop()
                if start != last:
                    labels.append(label)
                    starts.append(start)
                    ends.append(leaf)
                    last = start
        if not open_labels:
            if leaf == 1:
                labels, starts, ends = [opened[-1] if run else tags[first]], [0], [1]
            leaves = slice(first, first + leaf)
            spans = tuple(zip(starts, ends, strict=True))
            trees.append(trusted_tree(tuple(words[leaves]), tuple(tags[leaves]), tuple(labels), spans))
            first, leaf, labels, starts, ends = leaves.stop, 0, [], [], []
    if open_labels:
        raise MalformedError
    return trees


def scan_kept(text: str, caches: LabelCaches) -> list[Tree]:
    """The trees of ``text``, every bracket above the preterminals a node."""
    runs, tags, words, closings = _leaves(text, caches)
    outer_runs, inner_runs = caches.outer_runs, caches.inner_runs
    trees: list[Tree] = []
    open_labels: list[str] = []
    open_starts: list[int] = []
    labels: list[str] = []
    spans: list[Span] = []
    first = leaf = 0
    for run, closing in zip(runs, closings, strict=True):
        if run:
            opened = inner_runs[run] if open_labels else outer_runs[run]
            open_labels += opened
            open_starts += (leaf,) * len(opened)
        leaf += 1
        if closing != ")":
            count = closing.count(")") - 1
            if count > len(open_labels):
                raise MalformedError
            for _ in range(count):
                labels.append(open_labels.pop())
                spans.append((open_starts.pop(), leaf))
        if not open_labels:
            if not labels:
                labels, spans = [tags[first]], [(0, 1)]
            leaves = slice(first, first + leaf)
            trees.append(trusted_tree(tuple(words[leaves]), tuple(tags[leaves]), tuple(labels), tuple(spans)))
            first, leaf, labels, spans = leaves.stop, 0, [], []
    if open_labels:
        raise MalformedError
    return trees
