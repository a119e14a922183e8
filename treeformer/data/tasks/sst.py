"""The Stanford Sentiment Treebank: binary trees with a sentiment on every word and phrase.

Sentiments are answers and never enter a model. The phrase labels that do come from a parse of the same words:
the label of the constituent with that span, else ``@X`` with X the smallest constituent around.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from treeformer.data.sample import Bad, Sample, place, together, tree_lines
from treeformer.data.tasks.task import Part, Task, ToParse
from treeformer.trees import Tree, binarise, collapse
from treeformer.trees.tree import Unary, trusted_tree

SENTIMENTS = ("very negative", "negative", "neutral", "positive", "very positive")
NEUTRAL = 2
_SCORES = frozenset("01234")
_HEAD_FIRST = frozenset({"VP", "ADJP", "ADVP", "SQ", "UCP"})  # what SST's trees cut at its right end


class SstTask(Task):
    """Sentiment of sentences and phrases."""

    name: Literal["sst"]
    classes: Literal[5, 2] = Field(default=5, description="2: sentences with a neutral root are left out")
    two_way_head: bool = Field(
        default=False, description="with 2 classes predict just these; neutral phrases have no target"
    )
    shape: Literal["treebank", "parse"] = Field(
        default="treebank",
        description="parse: the parse made binary, as for new text; its phrases have targets if SST has them",
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
            "" if isinstance(trees, Bad) else " ".join(trees[0].words)
            for trees in tree_lines(files["file"], "collapse")
        )
        return ToParse(lines, tokenized=True, one_per_line=True)

    def samples(self, part: Part, files: Mapping[str, Path], unary: Unary) -> Iterator[Sample | Bad]:
        """Binary trees have no chains, so ``unary`` changes nothing."""
        sides = {role: tree_lines(files[role], "collapse") for role in ("file", "trees")}
        for number, row in enumerate(together(files, sides), start=1):
            if isinstance(row, Bad):
                yield row
                continue
            scored, parsed = row
            where = place(files["file"], number)
            if isinstance(scored, Bad):
                yield scored
            elif isinstance(parsed, Bad):
                yield parsed
            elif scored[0].words != parsed[0].words or len(scored) + len(parsed) != 2:
                yield Bad(
                    where, "other words", f"expected one tree over the words of {files['trees']}:{number}"
                )
            else:
                sample = self._sample(scored[0], parsed[0], where)
                if sample is not None:
                    yield sample

    def _sample(self, scored: Tree, parsed: Tree, where: str) -> Sample | Bad | None:
        """The sample of a sentence, None if it is left out because it is neutral."""
        scores = {(leaf, leaf + 1): tag for leaf, tag in enumerate(scored.tags)}
        scores |= dict(zip(scored.spans, scored.labels, strict=True))
        wrong = next((score for score in scores.values() if score not in _SCORES), None)
        if wrong is not None:
            return Bad(where, "no sentiment", f"expected labels 0 to 4, found {wrong!r}")
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
    """The tree made binary as SST's trees are: most phrases are cut at their left end."""
    return binarise(collapse(tree), left=_HEAD_FIRST)


def phrase_labelled(shape: Tree, parse: Tree) -> Tree:
    """The tree ``shape`` with tags and phrase labels of a parse of the same words.

    >>> shape = Tree.from_brackets("(3 (2 (2 the) (2 old)) (3 oak))")
    >>> str(phrase_labelled(shape, Tree.from_brackets("(S (NP (DT the) (JJ old) (NN oak)))")))
    '(NP (@NP (DT the) (JJ old)) (NN oak))'
    """
    labels = dict(zip(reversed(parse.spans), reversed(parse.labels), strict=True))  # the lowest of a chain
    found = []
    for start, end in shape.spans:
        label = labels.get((start, end))
        if label is None:
            around = next(
                label
                for label, (first, last) in zip(parse.labels, parse.spans, strict=True)
                if first <= start and end <= last
            )
            label = "@" + around.removeprefix("@")
        found.append(label)
    return trusted_tree(shape.words, parse.tags, tuple(found), shape.spans)
