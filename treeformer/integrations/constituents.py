"""A constituent of a tree: its labels, its parent, its children and everything below it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from treeformer.trees import Span, Tree
from treeformer.trees.escapes import encode_word


@dataclass(frozen=True)
class Constituents:
    """A span of words of a tree. Nodes over the same words are one constituent with several labels.

    A single word is a constituent, too, without labels if no node is over it alone.

    tree: of the sentence.
    span: the words.
    places: where each word stands in its document.
    """

    tree: Tree
    span: Span
    places: list[int]

    def labels(self) -> tuple[str, ...]:
        """The labels of the nodes over exactly these words, outermost first."""
        self._check()
        nodes = zip(self.tree.labels, self.tree.spans, strict=True)
        return tuple(label for label, span in nodes if span == self.span)[::-1]

    def subtree(self) -> Tree:
        """The tree of these words; a single word gets a node with its tag."""
        self._check()
        start, end = self.span
        nodes = [
            (label, (first - start, last - start))
            for label, (first, last) in zip(self.tree.labels, self.tree.spans, strict=True)
            if start <= first and last <= end
        ] or [(self.tree.tags[start], (0, 1))]
        labels, spans = zip(*nodes, strict=True)
        return Tree(self.tree.words[start:end], self.tree.tags[start:end], labels, spans)

    def brackets(self) -> str:
        """The brackets of these words."""
        if self.span[1] - self.span[0] == 1 and not self.labels():
            return f"({self.tree.tags[self.span[0]]} {encode_word(self.tree.words[self.span[0]])})"
        return str(self.subtree())

    def all(self) -> list[Span]:
        """This constituent and all below it, words included, each before those inside it."""
        self._check()
        start, end = self.span
        return [span for span in self._spans if start <= span[0] and span[1] <= end]

    def children(self) -> list[Span]:
        """The largest constituents inside this one, from left to right."""
        children: list[Span] = []
        for span in self.all()[1:]:
            if not children or span[0] >= children[-1][1]:
                children.append(span)
        return children

    def parent(self) -> Span | None:
        """The smallest constituent around this one; None for a sentence."""
        self._check()
        start, end = self.span
        around = [span for span in self._spans if span[0] <= start and end <= span[1] and span != self.span]
        return min(around, key=lambda span: span[1] - span[0], default=None)

    @cached_property
    def _spans(self) -> list[Span]:
        """The spans of all constituents, a larger one before those inside it."""
        words = {(word, word + 1) for word in range(len(self.tree.words))}
        return sorted({*words, *self.tree.spans}, key=lambda span: (span[0], -span[1]))

    def _check(self) -> None:
        """Raise ``ValueError`` unless the words are a constituent."""
        if self.span not in self._spans:
            words = " ".join(self.tree.words[slice(*self.span)])
            raise ValueError(f"{words!r:.60} is no constituent of the sentence")
