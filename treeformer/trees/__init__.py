"""Trees: reading, writing, transforming, drawing. Nothing here needs torch.

>>> from treeformer.trees import Tree, binarise
>>> str(binarise(Tree.from_brackets("(S (NP (NNS dogs)) (ADVP (RB often)) (VP (VBP bark)))")))
'(S (NNS dogs) (@S (RB often) (VBP bark)))'
"""

from .brackets import read_tree_lines, read_trees, write_trees
from .conllu import read_conllu
from .controls import balanced, left_branching, random_tree, right_branching, shuffled_labels
from .drawing import to_text
from .errors import TreeFormatError
from .interop import from_nltk, to_nltk
from .nested import from_nested
from .sets import TreeSets, from_sets, to_sets
from .shape import Span
from .svg import to_svg
from .transforms import (
    binarise,
    collapse,
    document,
    join,
    merge_words,
    sentences,
    split_words,
    strip,
    unbinarise,
)
from .tree import Node, Tree

__all__ = [
    "Node",
    "Span",
    "Tree",
    "TreeFormatError",
    "TreeSets",
    "balanced",
    "binarise",
    "collapse",
    "document",
    "from_nested",
    "from_nltk",
    "from_sets",
    "join",
    "left_branching",
    "merge_words",
    "random_tree",
    "read_conllu",
    "read_tree_lines",
    "read_trees",
    "right_branching",
    "sentences",
    "shuffled_labels",
    "split_words",
    "strip",
    "to_nltk",
    "to_sets",
    "to_svg",
    "to_text",
    "unbinarise",
    "write_trees",
]
