"""Dependency trees as lists of heads (-1 for the root), and how to make them projective."""

from collections.abc import Sequence

from .shape import Span


def dependency_order(heads: Sequence[int]) -> list[int]:
    """The words that hang on the root, heads before dependents, each subtree in one run."""
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
    """For each word the smallest span around it and everything below it."""
    starts = list(range(len(heads)))
    ends = list(range(1, len(heads) + 1))
    for word in reversed(dependency_order(heads)):
        head = heads[word]
        if head >= 0:
            starts[head] = min(starts[head], starts[word])
            ends[head] = max(ends[head], ends[word])
    return list(zip(starts, ends, strict=True))


def subtree_sizes(heads: Sequence[int]) -> list[int]:
    """For each word the number of words in its subtree, itself included."""
    sizes = [1] * len(heads)
    for word in reversed(dependency_order(heads)):
        if heads[word] >= 0:
            sizes[heads[word]] += sizes[word]
    return sizes


def lifted_heads(heads: Sequence[int]) -> list[int]:
    """Heads of a projective tree: the shortest arc over a stranger is lifted, again and again.

    An arc is projective if its head is above every word between its ends. The leftmost of equally short arcs
    goes first. Arcs from the root are always projective, so lifting ends.
    """
    lifted = list(heads)
    while (word := _shortest_crossing(lifted)) >= 0:
        lifted[word] = lifted[lifted[word]]
    return lifted


def _shortest_crossing(heads: Sequence[int]) -> int:
    """The dependent of the shortest arc that is not projective, or -1."""
    sizes = subtree_sizes(heads)
    if all(end - start == size for (start, end), size in zip(subtree_spans(heads), sizes, strict=True)):
        return -1
    place = {word: index for index, word in enumerate(dependency_order(heads))}
    arcs = [word for word, head in enumerate(heads) if head >= 0]
    arcs.sort(key=lambda word: abs(word - heads[word]))
    for word in arcs:
        head = heads[word]
        below = range(place[head], place[head] + sizes[head])
        if any(place[between] not in below for between in range(min(word, head) + 1, max(word, head))):
            return word
    return -1
