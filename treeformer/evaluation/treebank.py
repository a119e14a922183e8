"""Bracket scores of many sentences: all of them, by length, by label.

Here each tree is one sentence. EVALB treats each line as one sentence: several trees on a line are one
sentence, and an empty line is a skipped one. A lone preterminal ``(NN dog)`` is read as ``(NN (NN dog))``,
which has a bracket; in EVALB it has none.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from itertools import zip_longest

from treeformer.trees import Tree, TreeFormatError, read_tree_lines
from treeformer.trees.files import TextSource, numbered_lines, source_name

from .brackets import BracketCounts, BracketScores, score_sentence

_Pairs = Iterable[tuple[str, Tree, Tree | None]]
_WORDLESS = re.compile(r"\s*+(?:\(\s*+[^\s()]*+\s*+|\)\s*+)*+")  # brackets and their labels


@dataclass(frozen=True, slots=True)
class TreebankScores:
    """Scores of sentences by their exact length, and counts of brackets by their label.

    Both are in order: from short to long, and from labels frequent in gold to rare ones.
    """

    by_length: Mapping[int, BracketScores]
    by_label: Mapping[str, BracketCounts]

    @property
    def all(self) -> BracketScores:
        """Scores of all sentences."""
        return sum(self.by_length.values(), BracketScores())

    def at_most(self, words: int) -> BracketScores:
        """Scores of the sentences of at most this many words."""
        return sum([scores for length, scores in self.by_length.items() if length <= words], BracketScores())

    def by_tens(self) -> dict[tuple[int, int], BracketScores]:
        """Scores of the sentences of 1 to 10 words, 11 to 20, and so on, by first and last length."""
        buckets: defaultdict[tuple[int, int], BracketScores] = defaultdict(BracketScores)
        for length, scores in self.by_length.items():
            buckets[tens(length)] += scores
        return dict(buckets)


def tens(length: int) -> tuple[int, int]:
    """The first and last length of the bin of a length: 1 to 10, 11 to 20, and so on.

    >>> tens(3), tens(10), tens(11)
    ((1, 10), (1, 10), (11, 20))
    """
    last = max(1, -(-length // 10)) * 10
    return last - 9, last


def score_trees(gold: Iterable[Tree], predicted: Iterable[Tree]) -> TreebankScores:
    """The scores of predicted trees against gold trees, both as many and in the same order.

    Trees should be read with ``unary="keep", strip=False``. They are taken one by one and not kept.
    ``ValueError`` names the first pair that is not over the same words.
    """
    return _scores(_numbered(gold, predicted))


def score_files(gold: TextSource, predicted: TextSource) -> TreebankScores:
    """The scores of the trees in one file against those in another, line by line; every tree is a sentence.

    Files may be compressed, see :func:`treeformer.trees.read_tree_lines`. ``ValueError`` names file and line
    where a line is not trees, has more or fewer trees than its gold line, or has trees over other words. A
    predicted line without words is skipped.
    """
    return _scores(_paired_lines(gold, predicted))


def _scores(pairs: _Pairs) -> TreebankScores:
    """The scores of pairs of trees, each with the place that errors name."""
    by_length: defaultdict[int, BracketScores] = defaultdict(BracketScores)
    totals: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for place, gold, predicted in pairs:
        try:
            sentence = score_sentence(gold, predicted)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        by_length[sentence.length] += sentence.scores
        for total, brackets in zip(totals, sentence.brackets, strict=False):
            total.update([label for label, _, _ in brackets.elements()])
    matched, in_gold, in_predicted = totals
    labels = sorted(in_gold | in_predicted, key=lambda label: (-in_gold[label], label))
    return TreebankScores(
        by_length=dict(sorted(by_length.items())),
        by_label={x: BracketCounts(matched[x], in_gold[x], in_predicted[x]) for x in labels},
    )


def _numbered(gold: Iterable[Tree], predicted: Iterable[Tree]) -> _Pairs:
    """Pairs of trees, each called by its number."""
    for number, (gold_tree, tree) in enumerate(zip_longest(gold, predicted), start=1):
        if gold_tree is None or tree is None:
            longer = "gold" if tree is None else "predicted"
            raise ValueError(
                f"expected as many predicted trees as gold trees, found tree {number} only in {longer}"
            )
        yield f"tree {number}", gold_tree, tree


def _paired_lines(gold: TextSource, predicted: TextSource) -> Iterator[tuple[str, Tree, Tree | None]]:
    """Pairs of trees, each called by its file and line; None for the trees of a line without words."""
    gold_lines = read_tree_lines(gold, unary="keep", strip=False)
    lines = _predicted_lines(predicted)
    for number, (gold_trees, trees) in enumerate(zip_longest(gold_lines, lines), start=1):
        place = f"{source_name(predicted)}:{number}"
        if trees == [] and gold_trees:
            for gold_tree in gold_trees:
                yield place, gold_tree, None
            continue
        if len(gold_trees or ()) != len(trees or ()):
            raise ValueError(
                f"{place}: expected {_amount(gold_trees)} as in {source_name(gold)}, found {_amount(trees)}"
            )
        for gold_tree, tree in zip(gold_trees or (), trees or (), strict=True):
            yield place, gold_tree, tree


def _predicted_lines(source: TextSource) -> Iterator[list[Tree]]:
    """The trees of each line; none for a line without words."""
    with closing(numbered_lines(source)) as lines:
        for number, line in lines:
            if _WORDLESS.fullmatch(line):
                yield []
                continue
            try:
                (trees,) = read_tree_lines(StringIO(line), unary="keep", strip=False)
            except TreeFormatError as error:
                raise TreeFormatError(
                    error.problem, file=source_name(source), line=number, column=error.column
                ) from None
            yield trees


def _amount(trees: list[Tree] | None) -> str:
    """How many trees are on a line, in words."""
    if trees is None:
        return "the end of the file"
    return {0: "no tree", 1: "one tree"}.get(len(trees), f"{len(trees)} trees")
