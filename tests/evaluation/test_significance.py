"""Paired bootstraps: like a literal one, and like that of sacrebleu."""

from __future__ import annotations

import random

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from treeformer.evaluation.significance import compare_accuracy, compare_texts
from treeformer.evaluation.translation import score_translations, text_bleu

REFERENCES = [f"The {a} cat sat on the {b} mat ." for a in ("old", "grey", "wet") for b in ("red", "big")]


def worse(chance: random.Random, share: float) -> list[str]:
    """The references with some words changed."""
    return [
        " ".join("dog" if chance.random() < share else word for word in line.split()) for line in REFERENCES
    ]


def test_a_literal_bootstrap_of_accuracy_gives_the_same() -> None:
    chance = random.Random(5)
    right = [chance.random() < 0.7 for _ in range(60)]
    other = [chance.random() < 0.5 for _ in range(60)]
    comparison = compare_accuracy(right, other, samples=200)
    draw = np.random.default_rng(12345)
    differences = []
    for _ in range(200):
        chosen = draw.integers(60, size=60).tolist()
        differences.append(sum(right[i] - other[i] for i in chosen) / 60)
    mean = sum(differences) / 200
    real = sum(right) / 60 - sum(other) / 60
    extreme = sum(abs(difference - mean) >= abs(real) for difference in differences)
    assert comparison.p == pytest.approx((extreme + 1) / 201)
    assert comparison.difference == pytest.approx(100 * real)
    assert comparison.low < comparison.difference < comparison.high


def test_significant_and_insignificant_differences_are_distinguished() -> None:
    assert compare_accuracy([True] * 80 + [False] * 20, [False] * 80 + [True] * 20).p < 0.01
    assert compare_accuracy([True, False] * 50, [False, True] * 50).p > 0.5
    assert compare_accuracy([True, False], [True, False]).p == 1
    with pytest.raises(ValueError, match="at least one prediction"):
        compare_accuracy([], [])


def test_texts_are_compared_by_sacrebleu() -> None:
    chance = random.Random(1)
    good, bad = worse(chance, 0.05), worse(chance, 0.4)
    comparison = compare_texts(text_bleu(), good, bad, REFERENCES, samples=100)
    _, results = PairedTest(
        [("bad", bad), ("good", good)], {"BLEU": text_bleu()}, [REFERENCES], "bs", n_samples=100
    )()
    base, system = results["BLEU"]
    assert (comparison.score, comparison.other, comparison.p) == (system.score, base.score, system.p_value)
    assert comparison.difference > 0
    assert "bs:100" in str(comparison.signature)
    assert compare_texts(text_bleu(), good, good, REFERENCES, samples=100).p == 1


def test_scores_of_translations_are_those_of_sacrebleu() -> None:
    chance = random.Random(2)
    tokens = worse(chance, 0.2)
    texts = [line.replace(" .", ".") for line in tokens]
    references = [line.replace(" .", ".") for line in REFERENCES]
    scores = score_translations(texts, references, tokens, REFERENCES)
    assert scores["BLEU"].score == sacrebleu.corpus_bleu(texts, [references]).score
    plain = sacrebleu.corpus_bleu(tokens, [REFERENCES], tokenize="none", force=True)
    lower = sacrebleu.corpus_bleu(tokens, [REFERENCES], tokenize="none", force=True, lowercase=True)
    assert scores["BLEU of tokens"].score == plain.score
    assert scores["BLEU of tokens, lower case"].score == lower.score
    assert scores["chrF"].score == sacrebleu.corpus_chrf(texts, [references]).score
    assert "|case:mixed|eff:no|tok:13a|" in scores["BLEU"].signature
    assert "|tok:none|" in scores["BLEU of tokens"].signature
    assert "case:lc" in scores["BLEU of tokens, lower case"].signature
