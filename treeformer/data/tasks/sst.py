"""The Stanford Sentiment Treebank: binary trees with a sentiment on every word and phrase.

Sentiments are targets and never inputs. The phrase labels that models read come from a parse of the same
words: the label of the constituent with that span, else ``@X`` with X the smallest constituent around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from treeformer.data.sample import BadLine, Sample, location, tree_lines
from treeformer.data.tasks.task import SplitFiles, Task, ToParse
from treeformer.trees import Tree, binarise, collapse
from treeformer.trees.tree import Unary, trusted_tree

SENTIMENTS = ("very negative", "negative", "neutral", "positive", "very positive")
NEUTRAL = 2
_SCORES = frozenset("01234")
_HEAD_FIRST = frozenset({"VP", "ADJP", "ADVP", "SQ", "UCP"})  # SST splits these at their right end


class SstTask(Task):
    """Sentiment of sentences and phrases."""

    name: Literal["sst"]
    classes: Literal[5, 2] = Field(default=5, description="2: skip sentences with a neutral root")
    two_way_head: bool = Field(
        default=False, description="with 2 classes: predict these two; neutral phrases have no target"
    )
    shape: Literal["treebank", "parse"] = Field(
        default="treebank",
        description="parse: read the binarised parse; a phrase has a target if the treebank has that phrase",
    )

    binary: ClassVar[bool] = True

    @property
    def class_names(self) -> tuple[str, ...]:
        return ("negative", "positive") if self._two_way else SENTIMENTS

    @property
    def halves(self) -> bool:
        return self.classes == 2 and not self.two_way_head

    @property
    def _two_way(self) -> bool:
        return self.classes == 2 and self.two_way_head

    def to_parse(self, files: Mapping[str, Path]) -> ToParse:
        lines = (
            trees if isinstance(trees, BadLine) else " ".join(trees[0].words)
            for trees in tree_lines(files["file"], "collapse")
        )
        return ToParse(lines, tokenized=True, one_per_line=True)

    def columns(self, split: SplitFiles, files: Mapping[str, Path], unary: Unary) -> dict[str, Iterator[Any]]:
        """Sentiment trees and parses; binary trees have no chains, so ``unary`` changes nothing."""
        return {role: tree_lines(files[role], "collapse") for role in ("file", "trees")}

    def sample(self, files: Mapping[str, Path], number: int, *values: Any) -> Sample | BadLine | None:
        """The sample of a sentence; None for a neutral sentence that is skipped."""
        (scored, *more_scored), (parsed, *more_parsed) = values
        where = location(files["file"], number)
        if scored.words != parsed.words or more_scored or more_parsed:
            problem = f"expected one tree over the words of line {number} in {files['trees'].name}"
            return BadLine(where, "other words", problem)
        scores = {(leaf, leaf + 1): tag for leaf, tag in enumerate(scored.tags)}
        scores |= dict(zip(scored.spans, scored.labels, strict=True))
        wrong = [score for score in scores.values() if score not in _SCORES]
        if wrong:
            return BadLine(where, "no sentiment", f"expected labels 0 to 4, found {wrong[0]!r}")
        targets = {span: int(score) for span, score in scores.items()}
        root = targets[(0, len(scored.words))]
        if self.classes == 2 and root == NEUTRAL:
            return None
        if self._two_way:
            targets = {span: int(score > NEUTRAL) for span, score in targets.items() if score != NEUTRAL}
            root = int(root > NEUTRAL)
        tree = binary_as_sst(parsed) if self.shape == "parse" else phrase_labelled(scored, parsed)
        return Sample([tree], label=self.class_names[root], targets=targets)


def binary_as_sst(tree: Tree) -> Tree:
    """The tree, binarised as SST's trees are: most phrases are split at their left end."""
    return binarise(collapse(tree), left=_HEAD_FIRST)


def phrase_labelled(shape: Tree, parse: Tree) -> Tree:
    """The tree ``shape`` with tags and phrase labels of a parse of the same words.

    >>> shape = Tree.from_brackets("(3 (2 (2 the) (2 old)) (3 oak))")
    >>> str(phrase_labelled(shape, Tree.from_brackets("(S (NP (DT the) (JJ old) (NN oak)))")))
    '(NP (@NP (DT the) (JJ old)) (NN oak))'
    """
    lowest = dict(zip(reversed(parse.spans), reversed(parse.labels), strict=True))  # of each chain
    labels = []
    for start, end in shape.spans:
        if (start, end) in lowest:
            labels.append(lowest[start, end])
            continue
        pairs = zip(parse.labels, parse.spans, strict=True)
        around = [label for label, (first, last) in pairs if first <= start and end <= last]
        labels.append("@" + around[0].removeprefix("@"))  # in post-order the smallest comes first
    return trusted_tree(shape.words, parse.tags, tuple(labels), shape.spans)
