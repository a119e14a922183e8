"""Scores of translations, by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


class TextScore(NamedTuple):
    """A score from 0 to 100, with the signature that tells how it was computed."""

    score: float
    signature: str


class Translated(NamedTuple):
    """A translation beside its reference, both as running text and as tokens with spaces between them."""

    text: str
    tokens: str
    reference: str
    reference_tokens: str


def text_bleu() -> BLEU:
    """BLEU of running text, which it cuts into tokens itself (13a)."""
    return BLEU(tokenize="13a")


def token_bleu(*, lower_case: bool = False) -> BLEU:
    """BLEU of tokens as they are."""
    return BLEU(tokenize="none", force=True, lowercase=lower_case)


def score_translations(translated: Sequence[Translated]) -> dict[str, TextScore]:
    """BLEU of running text, BLEU of tokens with and without case, and chrF, by name."""
    texts = [pair.text for pair in translated], [pair.reference for pair in translated]
    tokens = [pair.tokens for pair in translated], [pair.reference_tokens for pair in translated]
    return {
        "BLEU": corpus_score(text_bleu(), *texts),
        "BLEU of tokens": corpus_score(token_bleu(), *tokens),
        "BLEU of tokens, lower case": corpus_score(token_bleu(lower_case=True), *tokens),
        "chrF": corpus_score(CHRF(), *texts),
    }


def corpus_score(metric: Metric, texts: Sequence[str], references: Sequence[str]) -> TextScore:
    """The score of texts, each with one reference."""
    score = metric.corpus_score(texts, [references]).score
    return TextScore(float(score), str(metric.get_signature()))
