"""Trees as brackets, on one line or on several."""

from .escapes import encode_word
from .tree import Tree

_DEEPEST_INDENT = 60


def one_line(tree: Tree) -> str:
    """The brackets of ``tree`` on one line, words escaped."""
    openers = [""] * len(tree.words)
    closers = [0] * len(tree.words)
    nodes_at = nodes_by_first_leaf(tree)
    for leaf, nodes in enumerate(nodes_at):
        openers[leaf] = "".join([f"({tree.labels[node]} " for node in nodes])
    for _, end in tree.spans:
        closers[end - 1] += 1
    leaves = zip(openers, tree.tags, map(encode_word, tree.words), closers, strict=True)
    return " ".join([f"{opener}({tag} {word}){')' * count}" for opener, tag, word, count in leaves])


def several_lines(tree: Tree, width: int) -> str:
    """The brackets of ``tree``; a constituent longer than ``width`` columns has a line for each child.

    Lines are indented by two columns per level, at most by 60.
    """
    words = [encode_word(word) for word in tree.words]
    flat = _fitting_nodes(tree, words, width)
    closers = [0] * len(words)
    for _, end in tree.spans:
        closers[end - 1] += 1
    pieces: list[str] = []
    for leaf, nodes in enumerate(nodes_by_first_leaf(tree)):
        for node in nodes:
            pieces += (_break_before(tree.parents[node], tree.depths[node], flat), "(", tree.labels[node])
        pieces.append(_break_before(tree.leaf_parents[leaf], tree.leaf_depths[leaf], flat))
        pieces.append(f"({tree.tags[leaf]} {words[leaf]}){')' * closers[leaf]}")
    return "".join(pieces)


def nodes_by_first_leaf(tree: Tree) -> list[list[int]]:
    """The nodes that begin at each leaf, from the highest to the lowest."""
    beginning: list[list[int]] = [[] for _ in tree.words]
    for node in range(len(tree) - 1, -1, -1):
        beginning[tree.spans[node][0]].append(node)
    return beginning


def _fitting_nodes(tree: Tree, words: list[str], width: int) -> list[bool]:
    """Whether the indented brackets of each node fit in ``width`` columns."""
    lengths = [len(label) + 2 for label in tree.labels]
    for leaf, parent in enumerate(tree.leaf_parents):
        lengths[parent] += len(words[leaf]) + len(tree.tags[leaf]) + 4
    for node, parent in enumerate(tree.parents[:-1]):
        lengths[parent] += lengths[node] + 1
    return [length + _indent(depth) <= width for length, depth in zip(lengths, tree.depths, strict=True)]


def _break_before(parent: int, depth: int, flat: list[bool]) -> str:
    """The separator before a child of ``parent``."""
    if parent < 0:
        return ""
    return " " if flat[parent] else "\n" + " " * _indent(depth)


def _indent(depth: int) -> int:
    """The indentation at ``depth`` levels below the root."""
    return min(2 * depth, _DEEPEST_INDENT)
