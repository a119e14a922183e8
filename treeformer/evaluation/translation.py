"""Scores of translations, by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


class TextScore(NamedTuple):
    """A score from 0 to 100, and sacrebleu's signature of how it was computed."""

    score: float
    signature: str

    def as_json(self) -> dict[str, Any]:
        """A dictionary that ``json.dumps`` can write."""
        return self._asdict()

    def __str__(self) -> str:
        return f"{self.score:.2f}  {self.signature}"


def text_bleu() -> BLEU:
    """BLEU of running text, which sacrebleu splits into tokens (13a)."""
    return BLEU(tokenize="13a")


def token_bleu(*, lower_case: bool = False) -> BLEU:
    """BLEU of texts that are split into tokens already."""
    return BLEU(tokenize="none", force=True, lowercase=lower_case)


def score_translations(
    texts: Sequence[str],
    references: Sequence[str],
    tokens: Sequence[str],
    reference_tokens: Sequence[str],
) -> dict[str, TextScore]:
    """BLEU of running text, BLEU of tokens with and without case, and chrF, by name."""
    return {
        "BLEU": corpus_score(text_bleu(), texts, references),
        "BLEU of tokens": corpus_score(token_bleu(), tokens, reference_tokens),
        "BLEU of tokens, lower case": corpus_score(token_bleu(lower_case=True), tokens, reference_tokens),
        "chrF": corpus_score(CHRF(), texts, references),
    }


def corpus_score(metric: Metric, texts: Sequence[str], references: Sequence[str]) -> TextScore:
    """The score of texts with one reference each."""
    score = metric.corpus_score(texts, [references]).score
    return TextScore(float(score), str(metric.get_signature()))
