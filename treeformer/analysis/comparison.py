"""Two lines of a table by their answers to the same test set: paired bootstraps over one or several seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treeformer.evaluation.answers import Answer, load_answers
from treeformer.evaluation.report import answers_path
from treeformer.evaluation.significance import compare_accuracy, compare_texts
from treeformer.evaluation.translation import token_bleu
from treeformer.storage import write_file


def compare_runs(ours: Sequence[Path], others: Sequence[Path], split: str, cache: Path) -> dict[str, Any]:
    """How far our runs are ahead of the others, run by run of the same seed, and how sure that is.

    Accuracy: an example counts by the share of runs that are right, and examples are drawn. BLEU of tokens:
    each pair of runs is tested, and the largest p is given.

    Args:
        ours, others: run folders, in the order of their seeds.
        split: the answers to compare.
        cache: folder in which comparisons are kept, so that none is made twice.
    """
    files = [answers_path(run, split) for run in (*ours, *others)]
    key = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()
    kept = cache / f"{key[:24]}.json"
    if kept.is_file():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    answers = [load_answers(path) for path in files]
    should = "reference" if "reference" in answers[0][0] else "label"
    expected = [answer[should] for answer in answers[0]]
    for run, found in zip((*ours, *others), answers, strict=True):
        if [answer.get(should) for answer in found] != expected:
            raise ValueError(f"{run}: its predictions for {split} are of another test set than {ours[0]}")
    halves = answers[: len(ours)], answers[len(ours) :]
    compared = _texts(*halves) if should == "reference" else _accuracy(*halves)
    cache.mkdir(parents=True, exist_ok=True)
    write_file(kept, json.dumps(compared).encode())
    return compared


def _accuracy(ours: Sequence[Sequence[Answer]], others: Sequence[Sequence[Answer]]) -> dict[str, Any]:
    shares = [
        np.mean([[answer["right"] for answer in run] for run in runs], axis=0).tolist()
        for runs in (ours, others)
    ]
    found = compare_accuracy(*shares)
    return {"metric": "accuracy", **found._asdict(), "difference": found.difference}


def _texts(ours: Sequence[Sequence[Answer]], others: Sequence[Sequence[Answer]]) -> dict[str, Any]:
    references = [answer["reference_tokens"] for answer in ours[0]]
    pairs = [
        compare_texts(
            token_bleu(),
            [answer["tokens"] for answer in own],
            [answer["tokens"] for answer in other],
            references,
        )
        for own, other in zip(ours, others, strict=True)
    ]
    return {
        "metric": "BLEU of tokens",
        "score": float(np.mean([pair.score for pair in pairs])),
        "other": float(np.mean([pair.other for pair in pairs])),
        "low": None,
        "high": None,
        "p": max(pair.p for pair in pairs),
        "signature": pairs[0].signature,
        "difference": float(np.mean([pair.difference for pair in pairs])),
    }
