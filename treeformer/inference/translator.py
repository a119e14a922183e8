"""``Translator``: text or trees to text in another language."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from treeformer.data.split import Example, Examples
from treeformer.data.tokens import detokenize
from treeformer.data.vocabulary import END, IGNORED, PAD
from treeformer.inference.batches import batches_by_size, model_inputs
from treeformer.inference.loading import Loaded, load_run
from treeformer.trees import Tree, sentences

_TOKENS = 16384  # leaves and nodes of a batch
_LENGTHS = 16  # sources whose lengths are in one step of this size have the same limit


class Hypothesis(NamedTuple):
    """A translation as the search found it."""

    ids: tuple[int, ...]  #: without ``</s>``
    score: float  #: log-probability over the length to the power of the length penalty


class Translation(NamedTuple):
    """A translation."""

    text: str
    tokens: tuple[str, ...]
    score: float


class Translator:
    """A trained translator.

    >>> translator = Translator.from_pretrained("runs/ende")  # doctest: +SKIP
    >>> translator(["A dog sleeps."])[0].text  # doctest: +SKIP
    'Ein Hund schläft.'

    Args:
        loaded: model and processor.
        batch: how many sources are decoded together.
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

    def __call__(self, inputs: Sequence[str | Tree], **options: Any) -> list[Translation]:
        """The best translation of each text or tree; ``options`` are those of `n_best`."""
        return [found[0] for found in self.n_best(inputs, 1, **options)]

    def n_best(self, inputs: Sequence[str | Tree], count: int, **options: Any) -> list[list[Translation]]:
        """For each text or tree its ``count`` best translations, best first.

        The translation of a text without words is empty. Several sentences are translated together.
        ``beams`` and ``length_penalty`` may differ from what the recipe says.
        """
        trees = self.processor.parse(inputs)
        there = [number for number, tree in enumerate(trees) if tree is not None]
        examples = [self.processor.encode(sentences(tree)) for tree in trees if tree is not None]
        found = [[Translation("", (), 0.0)] * count for _ in inputs]
        for number, hypotheses in zip(there, self.decode(examples, count, **options), strict=True):
            found[number] = [self.translation(hypothesis) for hypothesis in hypotheses]
        return found

    def translation(self, hypothesis: Hypothesis) -> Translation:
        """Its pieces joined to words, and these to text."""
        settings = self.processor.settings
        tokens = self.processor.words(hypothesis.ids)
        text = detokenize(tokens, settings.target_language or settings.language)
        return Translation(text, tuple(tokens), hypothesis.score)

    @torch.inference_mode()
    def decode(
        self,
        examples: Examples | Sequence[Example],
        count: int = 1,
        *,
        beams: int | None = None,
        length_penalty: float | None = None,
        seconds: float | None = None,
    ) -> list[list[Hypothesis]]:
        """For each example its ``count`` best hypotheses, best first, whatever is decoded beside it.

        The search ends with a TimeoutError when ``seconds`` are over.
        """
        end = math.inf if seconds is None else time.monotonic() + seconds
        usual: Any = self.model.generation_config
        beams = usual.num_beams if beams is None else beams
        penalty = usual.length_penalty if length_penalty is None else length_penalty
        if not 1 <= count <= beams:
            raise ValueError(f"count: expected 1 to {beams}, which is the number of beams, got {count}")
        leaves = [len(examples[number].input_ids) for number in range(len(examples))]
        found: dict[int, list[Hypothesis]] = {}
        for numbers in batches_by_size(leaves, tokens=_TOKENS, rows=self.batch, apart=longest_target):
            inputs = model_inputs(examples, numbers, self.system.reads, self.model.device, translates=True)
            sequences = self.model.generate(  # type: ignore[operator]
                **inputs,
                num_beams=beams,
                length_penalty=penalty,
                num_return_sequences=count,
                max_new_tokens=longest_target(leaves[numbers[0]]),
                max_time=None if seconds is None else max(0.0, end - time.monotonic()),
            )
            if time.monotonic() > end:
                raise TimeoutError(f"seconds: no translation within {seconds:g}")
            for number, own in zip(numbers, self._hypotheses(inputs, sequences, penalty), strict=True):
                found[number] = own
        return [found[number] for number in range(len(examples))]

    def _hypotheses(
        self, inputs: dict[str, Tensor], sequences: Tensor, penalty: float
    ) -> Iterator[list[Hypothesis]]:
        """For each source its hypotheses, the ``sequences [B · count, q]`` that begin with the start token.

        Scores are computed anew: to get them from ``generate`` it must keep the logits of all steps.
        """
        sources = len(inputs["input_ids"])
        answers = sequences.unflatten(0, (sources, -1))
        targets = answers[..., 1:].masked_fill(answers[..., 1:] == PAD, IGNORED)
        totals = []
        for rank in range(answers.shape[1]):
            logits = self.model(**inputs, decoder_input_ids=answers[:, rank, :-1], use_cache=False).logits
            own = targets[:, rank]
            losses = F.cross_entropy(logits.float().mT, own, ignore_index=IGNORED, reduction="none")
            totals.append(-losses.sum(1) / (own != IGNORED).sum(1) ** penalty)
        scores = torch.stack(totals, dim=1).tolist()
        for own_targets, own_scores in zip(targets.tolist(), scores, strict=True):
            tokens = [tuple(x for x in row if x not in (IGNORED, END)) for row in own_targets]
            yield [Hypothesis(*pair) for pair in zip(tokens, own_scores, strict=True)]


def longest_target(leaves: int) -> int:
    """The most tokens of a translation; the same for sources of about the same length.

    >>> longest_target(1), longest_target(16), longest_target(17)
    (52, 52, 84)
    """
    return 2 * -(-leaves // _LENGTHS) * _LENGTHS + 20
