"""Batches: every example once an epoch, few shapes, little padding, updates that know of no shards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.data.examples import random_split
from treeformer.data.batching import BatchPlan, Reads, collate, loader
from treeformer.data.buckets import Shape, rounded_limits
from treeformer.data.examples import Columns, Integers
from treeformer.data.split import Split
from treeformer.data.vocabulary import END, PAD


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    return random_split(tmp_path_factory.mktemp("split") / "train.arrow", 300)


@pytest.fixture(scope="module")
def translations(tmp_path_factory: pytest.TempPathFactory) -> Split:
    return random_split(tmp_path_factory.mktemp("split") / "train.arrow", 300, translation=True)


def corpus_sizes(count: int, *, translation: bool) -> Integers:
    """Sizes as in a corpus: log-normal lengths, 0.55 to 0.85 nodes a leaf, targets of like length."""
    chance = np.random.default_rng(1)
    leaves = np.clip(chance.lognormal(2.9, 0.6, count), 2, 150).astype(int)
    nodes = np.maximum(1, leaves * chance.uniform(0.55, 0.85, count)).astype(int)
    targets = np.maximum(1, leaves * chance.lognormal(0, 0.2, count)).astype(int)
    return np.stack([leaves, nodes, targets * translation], axis=1).astype(np.int32)


def sizes() -> st.SearchStrategy[Integers]:
    row = st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(0, 60))
    return st.lists(row, min_size=1, max_size=80).map(lambda rows: np.array(rows, np.int32))


@given(
    sizes(),
    st.sampled_from(["trees", "words"]),
    st.integers(1, 500),
    st.integers(0, 3),
    st.sampled_from([1, 2, 3, 8]),
)
def test_an_epoch_holds_every_example_once_in_shapes_that_fit(
    sizes: Integers, reads: Reads, tokens: int, epoch: int, shards: int
) -> None:
    plan = BatchPlan(sizes, reads, tokens, seed=1)
    batches = plan.epoch(epoch, shards=shards)
    assert len(batches) == len(plan)
    assert sorted(np.concatenate([np.concatenate(batch) for batch in batches])) == list(range(len(sizes)))
    for batch in batches:
        assert len(batch) == shards
        shape = plan.shape(batch)
        assert all(len(shard) <= shape.rows for shard in batch)
        widest = sizes[np.concatenate(batch)].max(0)
        assert shape.leaves >= widest[0]
        assert shape.nodes >= widest[1] or reads == "words"
        assert shape.targets > widest[2] or not sizes[:, 2].any()
        whole = plan.shape([np.concatenate(batch)])
        assert whole.rows == 1 or whole.rows * (whole.leaves + whole.nodes) <= tokens


@given(sizes(), st.integers(1, 500), st.sampled_from([2, 4, 5]))
def test_an_update_does_not_depend_on_the_number_of_shards(sizes: Integers, tokens: int, shards: int) -> None:
    plan = BatchPlan(sizes, "trees", tokens, seed=1)
    for one, many in zip(plan.epoch(2), plan.epoch(2, shards=shards), strict=True):
        assert sorted(one[0]) == sorted(np.concatenate(many))


@given(sizes(), st.integers(1, 500), st.sampled_from([1, 2, 3]), st.integers(0, 9))
def test_limits_of_a_shape_hold_for_all_its_examples(
    sizes: Integers, tokens: int, shards: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    most = sizes[:, 0] + sizes[:, 1] - 1
    folds = chance.integers(1, most + 1)
    levels = chance.integers(1, folds + 1)
    plan = BatchPlan(sizes, "trees", tokens, seed=1, limits=np.stack([levels, folds], axis=1))
    for update in plan.epoch(0, shards=shards):
        examples, shape = np.concatenate(update), plan.shape(update)
        assert shape.limits is not None
        assert levels[examples].max() <= shape.limits[0]
        assert folds[examples].max() <= shape.limits[1] < shape.leaves + shape.nodes


def test_limits_are_rounded_up_so_that_batches_share_them() -> None:
    shape = Shape(rows=50, leaves=24, nodes=24, targets=0)
    assert {rounded_limits(shape, levels, 23) for levels in (9, 10, 12)} == {(12, 24)}
    assert rounded_limits(shape, 17, 23) == (20, 24)
    assert rounded_limits(shape, 33, 25) == (47, 47)


def test_order_follows_seed_and_epoch() -> None:
    sizes = corpus_sizes(1000, translation=True)

    def order(seed: int, epoch: int) -> list[int]:
        batches = BatchPlan(sizes, "trees", 1000, seed).epoch(epoch)
        return [int(index) for batch in batches for index in batch[0]]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


@pytest.mark.parametrize(("count", "tokens"), [(8_000, 2_000), (50_000, 4_096)])
@pytest.mark.parametrize("translation", [False, True])
@pytest.mark.parametrize("reads", ["trees", "words"])
def test_shapes_are_few_and_padding_is_little(
    count: int, tokens: int, translation: bool, reads: Reads
) -> None:
    plan = BatchPlan(corpus_sizes(count, translation=translation), reads, tokens, seed=1)
    assert len({plan.shape(batch) for epoch in range(3) for batch in plan.epoch(epoch)}) <= 32
    assert plan.padding < 0.25


def test_a_long_target_does_not_make_a_batch_large() -> None:
    sizes = np.array([[4, 3, 190]] * 500 + [[4, 3, 4]] * 500, np.int32)
    plan = BatchPlan(sizes, "trees", 1000, seed=1)
    assert all(shape.rows * shape.targets <= 1000 for shape in plan.shapes)


@pytest.mark.parametrize("reads", ["trees", "words"])
def test_tensors_hold_what_the_examples_hold(split: Split, reads: Reads) -> None:
    examples = [split[index] for index in range(7)]
    shape = Shape(8, 40, 40, 0)
    batch = collate(split.columns(np.arange(7)), shape, reads=reads)
    assert all(tensor.dtype == torch.int64 for tensor in batch.values())
    names = ("input_ids", "node_ids", "node_spans", "leaf_targets", "node_targets")
    for row, example in enumerate(examples):
        n, m = len(example.input_ids), len(example.node_ids)
        assert batch["labels"][row] == example.label
        assert (batch["input_ids"][row, n:] == PAD).all()
        assert batch["attention_mask"][row].tolist() == [1] * n + [0] * (40 - n)
        for name in names if reads == "trees" else names[:1]:
            length = m if name.startswith("node") else n
            assert np.array_equal(batch[name][row, :length], getattr(example, name))
        if reads == "trees":
            assert batch["node_mask"][row].tolist() == [1] * m + [0] * (40 - m)
            assert (batch["node_targets"][row, m:] == -100).all()
            assert (batch["leaf_targets"][row, n:] == -100).all()
    assert batch.keys() == ({"input_ids", "attention_mask", "labels"} | batch.keys() & {*names, "node_mask"})


def test_rows_that_only_fill_the_shape_repeat_an_example_without_targets(split: Split) -> None:
    batch = collate(Columns.of([split[0], split[1]]), Shape(4, 40, 40, 0))
    for name in ("input_ids", "attention_mask", "node_ids", "node_mask", "node_spans"):
        assert torch.equal(batch[name][2], batch[name][0])
    assert (batch["labels"][2:] == -100).all()
    assert (batch["leaf_targets"][2:] == -100).all()
    assert (batch["node_targets"][2:] == -100).all()
    none = collate(Columns.of([split[0]]), Shape(2, 40, 40, 0), real=0)
    assert (none["labels"] == -100).all()
    with pytest.raises(ValueError, match="expected 1 to 1"):
        collate(Columns.of([split[0], split[1]]), Shape(1, 40, 40, 0))


@pytest.mark.parametrize("reads", ["trees", "words"])
def test_a_translation_ends_its_target_and_only_a_plain_source(translations: Split, reads: Reads) -> None:
    example = translations[0]
    assert example.target_ids is not None
    batch = collate(Columns.of([example]), Shape(2, 48, 40, 88), reads=reads)
    source = batch["input_ids"][0][batch["attention_mask"][0].bool()].tolist()
    assert source == [*example.input_ids.tolist(), *[END] * (reads == "words")]
    labels = batch["labels"]
    assert labels[0][labels[0] != -100].tolist() == [*example.target_ids.tolist(), END]
    assert (labels[1] == -100).all()


@pytest.mark.parametrize("shards", [1, 3])
def test_the_order_is_the_same_for_any_number_of_workers(translations: Split, shards: int) -> None:
    plan = BatchPlan(translations.sizes, "trees", 500, seed=1)

    def batches(workers: int, first: int = 0) -> list[dict[str, torch.Tensor]]:
        ranks = range(shards)
        return list(loader(translations, plan, 1, first=first, rank=ranks, shards=shards, workers=workers))

    alone = batches(0)
    assert len(alone) == len(plan) * shards
    for workers in (1, 3):
        for one, other in zip(alone, batches(workers), strict=True):
            assert all(torch.equal(one[name], other[name]) for name in one)
    for one, other in zip(alone[2 * shards :], batches(2, first=2), strict=True):
        assert torch.equal(one["input_ids"], other["input_ids"])


def test_a_reader_that_stops_early_leaves_nothing_behind(translations: Split) -> None:
    plan = BatchPlan(translations.sizes, "trees", 200, seed=1)
    batches = loader(translations, plan, 0, workers=2)
    next(batches)
    batches.close()  # type: ignore[attr-defined]


def test_phrases_make_batches_of_words(split: Split, tmp_path: Path) -> None:
    phrases = split.phrases()
    plan = BatchPlan(phrases.sizes, "words", 300, seed=1)
    seen = sum(int((batch["labels"] >= 0).sum()) for batch in loader(phrases, plan, 0))
    assert seen == len(phrases)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reads": "leaves"}, "reads: expected trees or words"),
        ({"tokens": 0}, "tokens: expected at least 1"),
        ({"sizes": np.zeros((0, 3), np.int32)}, "sizes: expected at least one example"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(arguments: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"sizes": corpus_sizes(10, translation=False), "reads": "trees", "tokens": 9}
    with pytest.raises(ValueError, match=message):
        BatchPlan(**{**good, **arguments}, seed=1)  # type: ignore[arg-type]


def test_a_shard_that_is_not_there_is_refused(split: Split) -> None:
    plan = BatchPlan(split.sizes, "trees", 500, seed=1)
    with pytest.raises(ValueError, match="rank: expected 0 to 1"):
        next(loader(split, plan, 0, rank=2, shards=2))
