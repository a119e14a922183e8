"""Dependency trees as lists of heads (-1 for the root), and projective trees from them."""

from collections.abc import Sequence
from heapq import heappop, heappush

from .shape import Span


def dependency_order(heads: Sequence[int]) -> list[int]:
    """The words below the root, heads before dependents, the words of each subtree in one run."""
    dependents: list[list[int]] = [[] for _ in heads]
    for word, head in enumerate(heads):
        if head >= 0:
            dependents[head].append(word)
    order = []
    waiting = [word for word, head in enumerate(heads) if head < 0]
    while waiting:
        word = waiting.pop()
        order.append(word)
        waiting += dependents[word]
    return order


def subtree_spans(heads: Sequence[int]) -> list[Span]:
    """The smallest span around each word and all words below it."""
    starts = list(range(len(heads)))
    ends = list(range(1, len(heads) + 1))
    for word in reversed(dependency_order(heads)):
        head = heads[word]
        if head >= 0:
            starts[head] = min(starts[head], starts[word])
            ends[head] = max(ends[head], ends[word])
    return list(zip(starts, ends, strict=True))


def subtree_sizes(heads: Sequence[int]) -> list[int]:
    """The number of words in the subtree of each word, itself included."""
    sizes = [1] * len(heads)
    for word in reversed(dependency_order(heads)):
        if heads[word] >= 0:
            sizes[heads[word]] += sizes[word]
    return sizes


def lifted_heads(heads: Sequence[int]) -> list[int]:
    """Heads of a projective tree: the shortest arc that is not projective is lifted until none is left.

    An arc is projective if its head is above every word between its ends. The leftmost of equally short arcs
    is lifted first. Arcs from the root are always projective, so lifting terminates.
    """
    sizes = subtree_sizes(heads)
    if all(end - start == size for (start, end), size in zip(subtree_spans(heads), sizes, strict=True)):
        return list(heads)
    return _Lifting(heads, sizes).run()


class _Lifting:
    """A dependency tree while its arcs are lifted.

    ``order`` lists heads before dependents, each subtree in one run, and ``place`` is its inverse. When a
    word leaves its head, only that head's subtree shrinks: of the other arcs only those from this head can
    become non-projective, and none becomes projective. So only this head's dependents are checked to keep
    ``waiting``, a heap of the arcs to lift by length, up to date.
    """

    def __init__(self, heads: Sequence[int], sizes: list[int]) -> None:
        self.heads = list(heads)
        self.sizes = sizes
        self.order = dependency_order(heads)
        self.place = [0] * len(heads)
        self._renumber(0, len(heads))
        self.dependents: list[set[int]] = [set() for _ in heads]
        for word, head in enumerate(heads):
            if head >= 0:
                self.dependents[head].add(word)
        self.is_waiting = [False] * len(heads)
        self.waiting: list[tuple[int, int]] = []
        for word in filter(self._is_crossing, range(len(heads))):
            self._wait(word)

    def run(self) -> list[int]:
        """Lift until every arc is projective; returns the heads."""
        while self.waiting:
            _, word = heappop(self.waiting)
            self.is_waiting[word] = False
            head = self.heads[word]
            self._lift(word)
            for dependent in self._uncovered(head, word):
                self._wait(dependent)
            if self._is_crossing(word):
                self._wait(word)
        return self.heads

    def _wait(self, word: int) -> None:
        """Add the arc of ``word`` to those to lift."""
        self.is_waiting[word] = True
        heappush(self.waiting, (abs(word - self.heads[word]), word))

    def _lift(self, word: int) -> None:
        """Attach ``word`` to the head of its head; its run moves to the end of the old head's run."""
        head = self.heads[word]
        start = self.place[word]
        middle = start + self.sizes[word]
        end = self.place[head] + self.sizes[head]
        self.order[start:end] = self.order[middle:end] + self.order[start:middle]
        if middle < end:
            self._renumber(start, end)
        self.sizes[head] -= self.sizes[word]
        self.dependents[head].remove(word)
        self.heads[word] = self.heads[head]
        self.dependents[self.heads[word]].add(word)

    def _renumber(self, start: int, end: int) -> None:
        """Update the places of the words from ``start`` to ``end`` in the order."""
        for place in range(start, end):
            self.place[self.order[place]] = place

    def _uncovered(self, head: int, word: int) -> list[int]:
        """The dependents of ``head`` whose arcs became non-projective when ``word`` left it."""
        gone = self.order[self.place[word] : self.place[word] + self.sizes[word]]
        left = max([other for other in gone if other < head], default=-1)
        right = min([other for other in gone if other > head], default=len(self.heads))
        return [
            dependent
            for dependent in self.dependents[head]
            if not left < dependent < right and not self.is_waiting[dependent]
        ]

    def _is_crossing(self, word: int) -> bool:
        """Whether a word between ``word`` and its head is not below that head."""
        head = self.heads[word]
        if head < 0 or abs(word - head) == 1:
            return False
        between = self.place[min(word, head) + 1 : max(word, head)]
        first = self.place[head]
        return min(between) < first or max(between) >= first + self.sizes[head]
