"""Pairs of a gold tree and what a bad parser makes of it."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from tests.trees.strategies import trees
from treeformer import Tree
from treeformer.trees import join, strip

Pair = tuple[Tree, Tree]
Nodes = list[tuple[str, tuple[int, int]]]

TRACE = "-NONE-"
PUNCTUATION = [".", ",", ":", "``", "''"]
TAGS = ["NN", "VB", "RB", "RP", "-LRB-", "NN-X", "ADVP", "PRT", "ROOT", "TOP", "$", "#", *PUNCTUATION]
LABELS = ["S", "NP", "NP-SBJ", "NP=2", "ADVP", "PRT", "PRT-CLR", "ADVP|PRT", "X"]
ODD_LABELS = ["TOP", "ROOT", "ROOT-X", ".", "``", ",-X", "-LRB-", "-NONE-", "=", "S1"]
WORDS = ["a", "b", "é", "(", "-", "'", '"', "\\/", "%", "%s"]

_REALISTIC = {  # rewritten at random; NAME alone is a tag, its words are below
    "S": ["NP-SBJ VP .", "NP VP .", "ADVP-TMP , NP VP .", "S , CC S .", "`` S , '' NP VP .", "NP-SBJ=1 VP :"],
    "NP-SBJ": ["NP", "PRP", "DT NN"],
    "NP-SBJ=1": ["NNS"],
    "NP": ["DT NN", "DT JJ NN", "NNS", "PRP", "NP PP", "NP , NP ,", "NP SBAR", "-LRB- NP -RRB-", "QP NNS"],
    "QP": ["RB CD", "$ CD"],
    "VP": ["VBZ", "VBZ NP", "VBZ NP PP-LOC", "VBZ PRT", "VBZ ADVP", "VBZ S-TRACE", "VBZ SBAR", "MD VP"],
    "PP": ["IN NP"],
    "PP-LOC": ["IN NP"],
    "SBAR": ["IN S-TRACE", "WHNP S-TRACE"],
    "WHNP": ["WDT"],
    "S-TRACE": ["NP-NONE VP", "NP VP"],
    "NP-NONE": [TRACE],
    "ADVP": ["RB", "RB RB"],
    "ADVP-TMP": ["RB"],
    "PRT": ["RP"],
}
_SHORTEST = {"NP": "PRP", "VP": "VBZ", "S": "NP VP .", "S-TRACE": "NP-NONE VP"}
_WORDS = {
    "DT": "the a",
    "NN": "cat tree",
    "NNS": "dogs",
    "PRP": "it",
    "VBZ": "sees",
    "-LRB-": "(",
    "-RRB-": ")",
}


def pairs() -> st.SearchStrategy[Pair]:
    """Pairs over the same words, some long, with labels and tags that EVALB treats in a way of their own."""
    label = st.sampled_from(LABELS) | st.sampled_from(ODD_LABELS)
    gold = trees(
        leaf_words=st.sampled_from(WORDS), leaf_tags=st.sampled_from([*TAGS, TRACE]), node_labels=label
    )
    long = st.sampled_from([0, 0, 0, 35, 40, 60])
    return st.builds(lambda tree, n, random: pair(_longer(tree, n), random), gold, long, st.randoms())


def pair(gold: Tree, random: Random) -> Pair:
    """The tree, and the tree with brackets dropped, added, moved and relabelled, and some tags changed."""
    predicted = gold
    if random.random() < 0.5 and {*gold.tags} != {TRACE}:
        predicted = strip(gold)
    if random.random() < 0.2:
        predicted = _rebuilt(predicted, random)
    for _ in range(random.choice([0, 1, 2, 5])):
        predicted = random.choice([_without_bracket, _with_bracket, _relabelled])(predicted, random)
    if random.random() < 0.3:
        predicted = _retagged(predicted, random)
    return gold, predicted


def realistic_tree(random: Random) -> Tree:
    """A tree such as treebanks have: punctuation, function tags, traces, unary chains, brackets in text."""
    text = _rewritten("S", random, depth=0)
    root = random.choice(["ROOT", "", "TOP"])
    return Tree.from_brackets(f"({root} {text})", unary="keep", strip=False)


def _rewritten(name: str, random: Random, depth: int) -> str:
    """Brackets of what the grammar makes of ``name``."""
    if name not in _REALISTIC:
        return f"({name} {_escaped(random.choice(_WORDS.get(name, name).split()))})"
    rule = random.choice(_REALISTIC[name]) if depth < 9 else _SHORTEST.get(name, _REALISTIC[name][0])
    label = name.removesuffix("-TRACE").removesuffix("-NONE")
    return f"({label} {' '.join(_rewritten(part, random, depth + 1) for part in rule.split())})"


def _escaped(word: str) -> str:
    """The word as files spell it."""
    return {"(": "-LRB-", ")": "-RRB-"}.get(word, word)


def _longer(tree: Tree, words: int) -> Tree:
    """The tree and a flat one of this many words, under one root."""
    if not words:
        return tree
    return join([tree, Tree(["w"] * words, ["NN"] * words, ["NP"], [(0, words)])], "ROOT")


def _rebuilt(tree: Tree, random: Random) -> Tree:
    """The tree with all brackets but the outermost in other places, as far as they do not cross."""
    rebuilt = _tree(tree, _nodes(tree)[-1:])
    for _ in tree.labels[1:]:
        rebuilt = _with_bracket(rebuilt, random)
    return rebuilt


def _without_bracket(tree: Tree, random: Random) -> Tree:
    """The tree without one of its brackets, never the outermost."""
    nodes = _nodes(tree)
    if len(nodes) > 1:
        del nodes[random.randrange(len(nodes) - 1)]
    return _tree(tree, nodes)


def _with_bracket(tree: Tree, random: Random) -> Tree:
    """The tree with one more bracket, unless the place drawn for it crosses another."""
    start = random.randrange(len(tree.words))
    end = random.randint(start + 1, len(tree.words))
    if any(a < start < b < end or start < a < end < b for a, b in tree.spans):
        return tree
    nodes = _nodes(tree)
    nodes.insert(random.randrange(len(nodes)), (random.choice(LABELS), (start, end)))
    return _tree(tree, nodes)


def _relabelled(tree: Tree, random: Random) -> Tree:
    """The tree with another label on one bracket."""
    nodes = _nodes(tree)
    index = random.randrange(len(nodes))
    nodes[index] = (random.choice([*LABELS, *ODD_LABELS]), nodes[index][1])
    return _tree(tree, nodes)


def _retagged(tree: Tree, random: Random) -> Tree:
    """The tree with other tags on about a tenth of its words, but traces stay traces."""
    tags = [random.choice(TAGS) if tag != TRACE and random.random() < 0.1 else tag for tag in tree.tags]
    return Tree(tree.words, tags, tree.labels, tree.spans)


def _nodes(tree: Tree) -> Nodes:
    """Label and span of each node."""
    return list(zip(tree.labels, tree.spans, strict=True))


def _tree(tree: Tree, nodes: Nodes) -> Tree:
    """The tree with other nodes, put in order."""
    nodes.sort(key=lambda node: (node[1][1], -node[1][0]))
    return Tree(tree.words, tree.tags, [label for label, _ in nodes], [span for _, span in nodes])
