"""Where a translator looks: for each target word its attention on the nodes and leaves of the source."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from treeformer.inference.batches import model_inputs
from treeformer.inference.reading import Reading, reading_of
from treeformer.inference.translator import Hypothesis, Translation, Translator
from treeformer.trees import Tree


@dataclass(frozen=True)
class Looked:
    """Where the model looked for one target word, mean over layers and heads.

    nodes: the share of attention on nodes of what it reads, the rest lies on leaves.
    weights: by part of the source, its words and then its nodes.
    """

    word: str
    nodes: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Aligned:
    """A translation, the source tree as the model read it, and where it looked for each word."""

    translation: Translation
    tree: Tree
    words: tuple[Looked, ...]


def alignments(translator: Translator, trees: list[Tree], *, seconds: float | None = None) -> list[Aligned]:
    """The best translations of trees that are as the model reads them, and where it looked.

    The search ends with a TimeoutError when ``seconds`` are over.
    """
    readings = [reading_of(tree, translator.processor) for tree in trees]
    decoded = translator.decode([reading.example for reading in readings], seconds=seconds)
    return [_aligned(translator, *pair) for pair in zip(readings, (best[0] for best in decoded), strict=True)]


@torch.inference_mode()
def _aligned(translator: Translator, reading: Reading, best: Hypothesis) -> Aligned:
    translation = translator.translation(best)
    reads = translator.system.reads
    inputs = model_inputs([reading.example], [0], reads, translator.model.device, translates=True)
    start: int = translator.model.config.decoder_start_token_id
    target = torch.tensor([[start, *best.ids]], device=translator.model.device)
    output = translator.model(**inputs, decoder_input_ids=target, output_attentions=True, use_cache=False)
    if output.get("cross_attentions") is None or not best.ids:
        return Aligned(translation, reading.tree, ())
    weights = torch.stack([own[0].float().mean(0) for own in output.cross_attentions]).mean(0).cpu()
    weights = weights[: len(best.ids)]
    if reads == "words":  # the last place is </s>, which is no part of the source
        weights = weights[:, : reading.leaves]
    nodes = weights[:, reading.leaves :].sum(1)
    return Aligned(
        translation, reading.tree, tuple(_by_word(translator, best, reading.folded(weights), nodes))
    )


def _by_word(translator: Translator, best: Hypothesis, weights: Tensor, nodes: Tensor) -> list[Looked]:
    """For each word the mean over its pieces; ``weights [pieces, parts]``."""
    words = translator.processor.words
    found, first = [], 0
    for last in range(1, len(best.ids) + 1):
        own = words(best.ids[first:last])
        following = words(best.ids[first : last + 1]) if last < len(best.ids) else None
        if following is not None and len(following) < 2:
            continue  # the next piece belongs to the same word
        mean = weights[first:last].mean(0)
        rounded = tuple(round(x, 5) for x in mean.tolist())
        found.append(Looked("".join(own), round(float(nodes[first:last].mean()), 5), rounded))
        first = last
    return found
