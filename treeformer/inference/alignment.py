"""Alignments of a translation: the cross-attention of each target word on words and nodes of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from treeformer.data.batching import input_tensors
from treeformer.data.examples import Columns, ExampleList
from treeformer.data.reading import Reading
from treeformer.inference.answers import AlignedTranslation, WordAlignment
from treeformer.inference.translator import Hypothesis, Translator


def aligned_translations(
    translator: Translator, readings: Sequence[Reading], *, seconds: float | None = None
) -> list[AlignedTranslation]:
    """The best translation of each reading with the attention of each of its words.

    The search raises TimeoutError after ``seconds``.
    """
    examples = ExampleList(reading.example for reading in readings)
    best = [hypotheses[0] for hypotheses in translator.decode(examples, seconds=seconds)]
    return [_aligned(translator, *pair) for pair in zip(readings, best, strict=True)]


@torch.inference_mode()
def _aligned(translator: Translator, reading: Reading, best: Hypothesis) -> AlignedTranslation:
    translation = translator.translation(best)
    reads, device = translator.system.reads, translator.model.device
    inputs = input_tensors(Columns.of([reading.example]), reads=reads, translates=True)
    start: int = translator.model.config.decoder_start_token_id
    output = translator.model(
        **{name: value.to(device) for name, value in inputs.items()},
        decoder_input_ids=torch.tensor([[start, *best.ids]], device=device),
        output_attentions=True,
        use_cache=False,
    )
    words: list[WordAlignment] = []
    if output.get("cross_attentions") is not None and best.ids:
        layers = [attention[0].float().mean(0) for attention in output.cross_attentions]
        weights = torch.stack(layers).mean(0).cpu()[: len(best.ids)]  # [pieces, places]
        if reads == "words":  # the last place is </s>, which is no part of the source
            weights = weights[:, : reading.leaves]
        on_nodes = weights[:, reading.leaves :].sum(1)
        words = _by_word(translator, best, reading.sum_by_part(weights), on_nodes)
    return AlignedTranslation(
        translation.text,
        translation.tokens,
        translation.score,
        reading.failures,
        tree=reading.tree,
        words=tuple(words),
    )


def _by_word(
    translator: Translator, best: Hypothesis, weights: Tensor, on_nodes: Tensor
) -> list[WordAlignment]:
    """The mean attention of the pieces of each word; ``weights [pieces, parts]``, ``on_nodes [pieces]``."""
    alignments = []
    for first, last, word in _words(translator, best.ids):
        mean = tuple(round(weight, 5) for weight in weights[first:last].mean(0).tolist())
        alignments.append(WordAlignment(word, round(float(on_nodes[first:last].mean()), 5), mean))
    return alignments


def _words(translator: Translator, ids: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """First piece, end and text of each word that pieces make up."""
    words = translator.processor.words
    first = 0
    for end in range(1, len(ids) + 1):
        next_piece_continues = end < len(ids) and len(words(ids[first : end + 1])) < 2
        if not next_piece_continues:
            yield first, end, "".join(words(ids[first:end]))
            first = end
