"""Rows of datasets become the batches that models are trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models.inputs import SIZES
from treeformer import Tree, TreeCollator, TreeProcessor, TreeTransformerConfig
from treeformer import TreeTransformerForSequenceClassification as TreeClassifier

TREES = [
    Tree.from_brackets("(S (NP (DT the) (NN film)) (VP (VBZ is) (ADJP (JJ fine))))"),
    Tree.from_brackets("(S (NP (DT the) (NN plot)) (ADJP (RB very) (JJ dull)))"),
    Tree.from_brackets("(FRAG (JJ dull))"),
]
LABELS = ["good", "bad", "bad"]
ROWS = [{"tree": tree, "label": label} for tree, label in zip(TREES, LABELS, strict=True)]


@pytest.fixture
def processor() -> TreeProcessor:
    return TreeProcessor.from_trees(TREES, ["bad", "good"])


def model_for(processor: TreeProcessor) -> TreeClassifier:
    sizes = {**SIZES, "vocab_size": processor.vocab_size, "node_vocab_size": processor.node_vocab_size}
    torch.manual_seed(1)
    return TreeClassifier(TreeTransformerConfig(**sizes, num_labels=2))


def test_a_batch_is_what_the_processor_makes_with_labels(processor: TreeProcessor) -> None:
    batch = TreeCollator(processor)(ROWS)
    assert batch.pop("labels").tolist() == [1, 0, 0]
    expected = processor(TREES)
    assert batch.keys() == expected.keys()
    for name, tensor in batch.items():
        assert torch.equal(tensor, expected[name])
    assert 3 not in batch["input_ids"]  # no word is unknown
    words = TreeCollator(processor, reads="words")([{"tree": str(tree)} for tree in TREES])
    assert words.keys() == {"input_ids", "attention_mask"}
    assert torch.equal(words["input_ids"], batch["input_ids"])


def test_texts_are_parsed_and_numbers_are_labels(processor: TreeProcessor) -> None:
    rows = [{"text": "The film is fine.", "label": 1}, {"text": "Dull.", "label": 0}]
    batch = TreeCollator(processor)(rows)
    expected = processor([row["text"] for row in rows])
    assert batch.pop("labels").tolist() == [1, 0]
    for name, tensor in batch.items():
        assert torch.equal(tensor, expected[name])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"tree": TREES[0], "label": "fine"},
            "label: expected one of bad, good or its number, got 'fine' in row 2",
        ),
        ({"tree": TREES[0], "label": 2}, "got 2 in row 2"),
        ({"tree": TREES[0]}, "got None in row 2"),
        ({"label": "good"}, "rows: expected a mapping with text or tree, got .* as row 2"),
        ("good", "rows: expected a mapping with text or tree, got 'good' as row 2"),
    ],
)
def test_a_wrong_row_is_named(processor: TreeProcessor, row: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TreeCollator(processor)([ROWS[0], row])


def test_a_vocabulary_of_pieces_splits_words() -> None:
    whole = TreeProcessor.from_trees(TREES, ["bad", "good"])
    pieces = TreeProcessor.from_trees(TREES, ["bad", "good"], subwords=16)
    assert pieces.vocab_size < whole.vocab_size + 10
    assert len(pieces.reading([TREES[0]]).example.input_ids) > len(TREES[0].words)
    rare = TreeProcessor.from_trees(TREES, ["bad", "good"], min_count=2)
    assert [rare.vocabulary.ids(word) == (3,) for word in ("the", "film", "dull")] == [False, True, False]


def test_a_saved_processor_reads_alike(processor: TreeProcessor, tmp_path: Path) -> None:
    processor.save_pretrained(tmp_path)
    again = TreeProcessor.from_pretrained(tmp_path)(TREES)
    for name, tensor in processor(TREES).items():
        assert torch.equal(again[name], tensor)


@pytest.mark.parametrize("kind", ["list", "datasets"])
def test_the_trainer_of_transformers_trains_and_predicts_logits(
    processor: TreeProcessor, tmp_path: Path, kind: str
) -> None:
    from transformers import Trainer, TrainingArguments

    rows: Any = [{"tree": str(row["tree"]), "label": row["label"]} for row in ROWS] * 4
    if kind == "datasets":
        rows = pytest.importorskip("datasets").Dataset.from_list(rows)
    arguments = TrainingArguments(
        str(tmp_path),
        max_steps=20,
        learning_rate=1e-2,
        remove_unused_columns=False,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
    )
    trainer = Trainer(
        model_for(processor),
        arguments,
        data_collator=TreeCollator(processor),
        train_dataset=rows,
        eval_dataset=rows,
        compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())},
    )
    trainer.train()
    assert trainer.evaluate()["eval_accuracy"] == 1.0
    predicted = trainer.predict(rows)
    assert predicted.predictions.shape == (12, 2)
    assert predicted.label_ids.tolist() == [1, 0, 0] * 4
