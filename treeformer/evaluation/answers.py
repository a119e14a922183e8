"""What a model answers on a prepared split, beside what it should: one object an example."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from treeformer.data.corpus import PreparedCorpus
from treeformer.data.split import Example, Split
from treeformer.data.vocabulary import IGNORED
from treeformer.evaluation.accuracy import Accuracy, right_classes, right_halves
from treeformer.inference.classifier import Classifier, Scored
from treeformer.inference.translator import Translator
from treeformer.storage import write_file

Answer = dict[str, Any]


def classified(
    classifier: Classifier, corpus: PreparedCorpus, split: str
) -> tuple[list[Answer], dict[str, Accuracy]]:
    """The answers to a split, and accuracies of more than whole examples: of phrases, and of halves.

    An answer is ``{"source", "length", "group", "label", "predicted", "right", "probabilities"}``.
    """
    examples = corpus[split]
    scored = classifier.score(examples)
    logits = torch.stack([own.root for own in scored])
    labels = torch.from_numpy(np.array(examples.labels, np.int64))
    halves = corpus.manifest.halves
    right = (right_halves if halves else right_classes)(logits, labels).tolist()
    names = classifier.classes
    rows = zip(labels.tolist(), logits.argmax(-1).tolist(), logits.softmax(-1).tolist(), right, strict=True)
    answers = [
        {
            **_question(corpus, examples, number),
            "label": names[label],
            "predicted": names[predicted],
            "right": is_right,
            "probabilities": probabilities,
        }
        for number, (label, predicted, probabilities, is_right) in enumerate(rows)
    ]
    ordered = corpus.manifest.recipe["task"]["name"] == "sst" and len(names) > 2
    more = {}
    if ordered and not halves:
        more["sentences, positive or negative"] = _accuracy(logits, labels, halves=True, independent=True)
    if examples[0].node_targets is not None:
        of_phrases = _phrases(classifier, examples, scored)
        more["words and phrases"] = _accuracy(*of_phrases, halves=halves)
        if ordered and not halves:
            more["words and phrases, positive or negative"] = _accuracy(*of_phrases, halves=True)
    return answers, more


def translated(translator: Translator, corpus: PreparedCorpus, split: str, **options: Any) -> list[Answer]:
    """The translations of a split; ``options`` are those of `Translator.decode`.

    An answer is ``{"source", "length", "group", "text", "tokens", "score", "reference",
    "reference_tokens"}``.
    """
    examples = corpus[split]
    texts, tokens = examples.texts("target_text"), examples.texts("target_tokens")
    answers = []
    for number, (hypothesis,) in enumerate(translator.decode(examples, **options)):
        found = translator.translation(hypothesis)
        answers.append(
            {
                **_question(corpus, examples, number),
                "text": found.text,
                "tokens": " ".join(found.tokens),
                "score": found.score,
                "reference": texts[number],
                "reference_tokens": tokens[number],
            }
        )
    return answers


def save_answers(path: Path, answers: Sequence[Answer]) -> None:
    """Write the answers as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(answer, ensure_ascii=False) for answer in answers]
    write_file(path, "".join(f"{line}\n" for line in lines).encode())


def load_answers(path: Path) -> list[Answer]:
    """What `save_answers` wrote."""
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    except FileNotFoundError:
        raise ValueError(f"{path}: no such predictions, expected those of treeformer evaluate") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: expected predictions of treeformer evaluate: {error}") from error


def _question(corpus: PreparedCorpus, examples: Split, number: int) -> Answer:
    """What was asked."""
    example = examples[number]
    words = corpus.processor.words(example.input_ids.tolist())
    return {"source": " ".join(words), "length": len(words), "group": example.group}


def _phrases(classifier: Classifier, examples: Split, scored: Sequence[Scored]) -> tuple[Tensor, Tensor]:
    """Logits and targets of all words and phrases; systems that read words read each by itself."""
    if classifier.system.reads == "words":
        phrases = examples.phrases()
        logits = torch.stack([own.root for own in classifier.score(phrases)])
        return logits, torch.tensor([phrases[number].label for number in range(len(phrases))])
    parts = []
    for number, own in enumerate(scored):
        assert own.leaves is not None
        assert own.nodes is not None
        parts.append((torch.cat([own.leaves, own.nodes]), torch.from_numpy(_targets(examples[number]))))
    return torch.cat([logits for logits, _ in parts]), torch.cat([targets for _, targets in parts])


def _targets(example: Example) -> Any:
    """``[n + m]`` targets; a node over one word would say the same as its word."""
    leaves, nodes = np.array(example.leaf_targets, np.int64), np.array(example.node_targets, np.int64)
    starts, ends = example.node_spans.T
    nodes[(ends - starts == 1) & (leaves[starts] != IGNORED)] = IGNORED
    return np.concatenate([leaves, nodes])


def _accuracy(logits: Tensor, targets: Tensor, *, halves: bool, independent: bool = False) -> Accuracy:
    """How often the class is right, or the half, which the middle class has none of."""
    there = targets != IGNORED
    if halves and logits.shape[-1] % 2:
        there &= targets != logits.shape[-1] // 2
    right = (right_halves if halves else right_classes)(logits, targets) & there
    return Accuracy(int(right.sum()), int(there.sum()), independent)
