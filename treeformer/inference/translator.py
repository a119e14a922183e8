"""``Translator``: text or trees to text in another language."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from treeformer.chunking import split_by_padding
from treeformer.data.batching import input_tensors
from treeformer.data.examples import ExampleList, Examples
from treeformer.data.reading import Reading, answer_each
from treeformer.data.vocabulary import END, IGNORED, PAD
from treeformer.inference.answers import Translation, check_answers
from treeformer.inference.loading import Loaded, load_run
from treeformer.parsing.failures import Failure
from treeformer.trees import Tree

_TOKENS = 16384  # leaves of a batch, padding included
_LENGTH_STEP = 16  # sources whose lengths round up to the same multiple have the same limit


class Hypothesis(NamedTuple):
    """A translation as ids."""

    ids: tuple[int, ...]  #: without ``</s>``
    score: float  #: log-probability over the length to the power of the length penalty


class Translator:
    """A trained translator.

    >>> translator = Translator.from_pretrained("runs/ende")  # doctest: +SKIP
    >>> translator(["A dog sleeps."])[0].text  # doctest: +SKIP
    'Ein Hund schläft.'

    Args:
        loaded: model and processor.
        batch: the number of sources that are decoded together.
    """

    def __init__(self, loaded: Loaded, *, batch: int = 64) -> None:
        self.system, self.model, self.processor = loaded
        self.batch = batch

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, *, device: str | None = None, bf16: bool = False, batch: int = 64
    ) -> Translator:
        """The translator of a run; see `load_run`."""
        return cls(load_run(folder, "translation", device=device, bf16=bf16), batch=batch)

    def __call__(self, inputs: Iterable[str | Tree], **options: Any) -> list[Translation]:
        """The best translation of each text or tree; ``options`` are those of `decode`.

        The translation of a text without words is empty. Several sentences are translated together.
        """
        return [translations[0] for translations in self.n_best(inputs, 1, **options)]

    def n_best(self, inputs: Iterable[str | Tree], count: int, **options: Any) -> list[list[Translation]]:
        """The ``count`` best translations of each text or tree, best first; see `__call__`."""
        return self.n_best_of(self.processor.read(inputs), count, **options)

    def n_best_of(
        self, readings: Sequence[Reading | None], count: int, **options: Any
    ) -> list[list[Translation]]:
        """The ``count`` best translations of each reading; empty ones for texts without words."""
        answers = answer_each(readings, lambda present: self.translate(present, count, **options))
        return [answer or [Translation("", (), 0.0)] * count for answer in answers]

    def translate(
        self, readings: Iterable[Reading], count: int = 1, **options: Any
    ) -> list[list[Translation]]:
        """The ``count`` best translations of each reading, best first."""
        readings = list(readings)
        examples = ExampleList(reading.example for reading in readings)
        pairs = zip(readings, self.decode(examples, count, **options), strict=True)
        return [
            [self.translation(hypothesis, reading.failures) for hypothesis in hypotheses]
            for reading, hypotheses in pairs
        ]

    def translation(self, hypothesis: Hypothesis, failures: tuple[Failure, ...] = ()) -> Translation:
        """The translation of a hypothesis: its pieces joined to words, and its words to text."""
        tokens = tuple(self.processor.words(hypothesis.ids))
        return Translation(self.processor.text(hypothesis.ids), tokens, hypothesis.score, failures)

    @torch.inference_mode()
    def decode(
        self,
        examples: Examples,
        count: int = 1,
        *,
        beams: int | None = None,
        length_penalty: float | None = None,
        seconds: float | None = None,
    ) -> list[list[Hypothesis]]:
        """The ``count`` best hypotheses of each example, best first, whatever else is decoded with it.

        Args:
            examples: sources.
            count: number of hypotheses, at most the number of beams.
            beams, length_penalty: settings of the search; by default those of the recipe.
            seconds: the search raises TimeoutError after this time.
        """
        end = math.inf if seconds is None else time.monotonic() + seconds
        defaults: Any = self.model.generation_config
        beams = defaults.num_beams if beams is None else beams
        penalty = defaults.length_penalty if length_penalty is None else length_penalty
        if not 1 <= count <= beams:
            raise ValueError(f"count: expected 1 to {beams}, which is the number of beams, got {count}")
        hypotheses: dict[int, list[Hypothesis]] = {}
        for numbers, longest in self._batches(examples):
            inputs = self._inputs(examples, numbers)
            sequences = self.model.generate(  # type: ignore[operator]
                **inputs,
                num_beams=beams,
                length_penalty=penalty,
                num_return_sequences=count,
                max_new_tokens=longest,
                max_time=None if seconds is None else max(0.0, end - time.monotonic()),
            )
            if time.monotonic() > end:
                raise TimeoutError(f"seconds: no translation within {seconds:g}")
            hypotheses |= dict(zip(numbers, self._hypotheses(inputs, sequences, penalty), strict=True))
        return [hypotheses[number] for number in range(len(examples))]

    def _batches(self, examples: Examples) -> Iterator[tuple[list[int], int]]:
        """Numbers of examples that have one limit of target tokens, and that limit; longest first."""
        leaves = examples.sizes[:, 0]
        order = np.argsort(-leaves, kind="stable").tolist()
        for longest, group in groupby(order, key=lambda number: longest_target(int(leaves[number]))):
            for numbers in split_by_padding(group, leaves.__getitem__, budget=_TOKENS, most=self.batch):
                yield numbers, longest

    def _inputs(self, examples: Examples, numbers: Sequence[int]) -> dict[str, Tensor]:
        """The model's inputs of these examples, on its device."""
        columns = examples.columns(np.array(numbers))
        inputs = input_tensors(columns, reads=self.system.reads, translates=True)
        return {name: value.to(self.model.device) for name, value in inputs.items()}

    def _hypotheses(
        self, inputs: dict[str, Tensor], sequences: Tensor, penalty: float
    ) -> Iterator[list[Hypothesis]]:
        """The hypotheses of each source; ``sequences [B · count, q]`` begin with the start token.

        Scores are computed by another forward pass: ``generate`` would have to keep the logits of all steps.
        """
        sources = len(inputs["input_ids"])
        answers = sequences.unflatten(0, (sources, -1))
        targets = answers[..., 1:].masked_fill(answers[..., 1:] == PAD, IGNORED)
        totals = []
        for rank in range(answers.shape[1]):
            logits = self.model(**inputs, decoder_input_ids=answers[:, rank, :-1], use_cache=False).logits
            expected = targets[:, rank]
            losses = F.cross_entropy(logits.float().mT, expected, ignore_index=IGNORED, reduction="none")
            totals.append(-losses.sum(1) / (expected != IGNORED).sum(1) ** penalty)
        scores = torch.stack(totals, dim=1)
        check_answers(scores)
        for source_targets, source_scores in zip(targets.tolist(), scores.tolist(), strict=True):
            ids = [tuple(x for x in row if x not in (IGNORED, END)) for row in source_targets]
            yield [Hypothesis(*pair) for pair in zip(ids, source_scores, strict=True)]


def longest_target(leaves: int) -> int:
    """The largest number of tokens in a translation of a source of this length.

    >>> longest_target(1), longest_target(16), longest_target(17)
    (52, 52, 84)
    """
    return 2 * -(-leaves // _LENGTH_STEP) * _LENGTH_STEP + 20
