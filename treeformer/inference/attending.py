"""The attention of a word or phrase as an object that draws itself."""

from __future__ import annotations

from dataclasses import dataclass

from treeformer.inference.answers import PartAttention
from treeformer.inference.attention import part_attention
from treeformer.inference.classifier import Classifier
from treeformer.inference.pictures import attention_svg
from treeformer.trees import Tree


@dataclass(frozen=True)
class Attended:
    """What a part of a tree attends to. In a notebook it shows itself as a coloured tree.

    tree: the tree that the model read.
    part: the part that attends: a word, or a node counted after the words.
    attention: by layer and head.
    """

    tree: Tree
    part: int
    attention: PartAttention

    def shares(self, layer: int = -1) -> list[float]:
        """For each word, then each node, its share of the attention in a layer: the mean over heads."""
        heads = self.attention.weights[layer]
        return [sum(weights) / len(weights) for weights in zip(*heads, strict=True)]

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows."""
        return attention_svg(self.tree, self.part, self.shares(), adaptive=True)


def attend(classifier: Classifier, source: str | Tree, part: int = -1) -> Attended:
    """What a word or node of a text or tree attends to.

    Args:
        classifier: the model to inspect.
        source: a text or tree.
        part: a word, or a node counted after the words; negative numbers count from the end, so that −1 is
            the whole text.
    """
    (reading,) = classifier.processor.read_all([source])
    parts = len(reading.tree.words) + len(reading.tree)
    if not -parts <= part < parts:
        raise ValueError(f"part: expected {-parts} to {parts - 1}, got {part}")
    part %= parts
    return Attended(reading.tree, part, part_attention(classifier, reading, part))
