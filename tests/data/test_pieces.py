"""Pieces and stored states of an encoder: written, read, sliced and padded."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.data.examples import random_example
from treeformer.data.batching import collate, input_tensors
from treeformer.data.buckets import Shape
from treeformer.data.examples import Columns, Example, ExampleList, Examples, Ragged, integers
from treeformer.data.split import Split, SplitWriter
from treeformer.encoders.states import word_states

LAYERS, WIDTH = 2, 3


def with_pieces(example: Example, chance: random.Random) -> Example:
    """The example with random pieces: in each window a special piece, some of the words, another one."""
    leaves = len(example.input_ids)
    starts = [0, *sorted(chance.sample(range(1, leaves), min(leaves - 1, chance.randint(0, 2))))]
    words, sizes = [], []
    for start, end in zip(starts, [*starts[1:], leaves], strict=True):
        window = [-1, *sorted(chance.choices(range(start, end), k=2) + list(range(start, end))), -1]
        words += window
        sizes.append(len(window))
    ids = [chance.randrange(5, 50) for _ in words]
    return example._replace(
        piece_ids=integers(ids), piece_words=integers(words), window_sizes=integers(sizes)
    )


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    chance = random.Random(1)
    plain = [random_example(chance, leaves=chance.randint(1, 20), translation=False) for _ in range(30)]
    return [with_pieces(example, chance) for example in plain]


@pytest.fixture(scope="module")
def states(examples: list[Example]) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    shapes = [(len(example.input_ids), LAYERS, WIDTH) for example in examples]
    return [generator.normal(size=shape).astype(np.float16) for shape in shapes]


@pytest.fixture(scope="module")
def folder(
    examples: list[Example], states: list[np.ndarray], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("split")
    writer = SplitWriter()
    for example in examples:
        writer.add(example, words=" ".join("x" for _ in example.input_ids))
    writer.write(folder / "train.arrow")
    np.save(folder / "states.npy", np.concatenate(states))
    return folder


@pytest.fixture
def split(folder: Path) -> Split:
    return Split(folder / "train.arrow")


@pytest.fixture
def split_with_states(folder: Path) -> Split:
    return Split(folder / "train.arrow", folder / "states.npy")


def assert_same(one: Example, other: Example) -> None:
    for name, value, expected in zip(Example._fields, one, other, strict=True):
        np.testing.assert_array_equal(value, expected, err_msg=name)  # type: ignore[arg-type]


def test_pieces_come_back_as_they_were_written(split: Split, examples: list[Example]) -> None:
    for index, example in enumerate(examples):
        assert_same(split[index], example)
    assert split.texts("words")[0] == " ".join("x" for _ in examples[0].input_ids)


def test_stored_states_replace_the_pieces(
    split_with_states: Split, examples: list[Example], states: list[np.ndarray]
) -> None:
    for split in (split_with_states, pickle.loads(pickle.dumps(split_with_states))):
        for index, example in enumerate(examples):
            expected = example._replace(
                piece_ids=None, piece_words=None, window_sizes=None, leaf_states=states[index]
            )
            assert_same(split[index], expected)


def test_the_columns_are_those_of_the_examples(split: Split, split_with_states: Split) -> None:
    many: list[Examples] = [split, split_with_states, split.share(0.5), split_with_states.share(0.5)]
    many += [
        split.phrases(),
        split_with_states.phrases(),
        split_with_states.phrases().within(split.share(0.4)),
    ]
    for examples in many:
        numbers = np.random.default_rng(1).permutation(len(examples))[:12]
        expected = Columns.of([examples[int(number)] for number in numbers])
        actual = examples.columns(numbers)
        for name, column, other in zip(Columns._fields, actual, expected, strict=True):
            if column is None or other is None:
                assert column is other, name
            elif isinstance(column, Ragged):
                np.testing.assert_array_equal(column.values, other.values)
                np.testing.assert_array_equal(column.lengths, other.lengths)
            else:
                np.testing.assert_array_equal(column, other)


def test_a_phrase_has_the_states_of_its_words(split_with_states: Split) -> None:
    phrases = split_with_states.phrases()
    for index in range(len(phrases)):
        sentence = split_with_states[int(phrases.sentences[index])]
        wide = len(phrases[index].input_ids)
        places = [
            start
            for start in range(len(sentence.input_ids) - wide + 1)
            if np.array_equal(phrases[index].leaf_states, sentence.leaf_states[start : start + wide])
        ]
        assert len(places) == 1
        start = places[0]
        np.testing.assert_array_equal(phrases[index].input_ids, sentence.input_ids[start : start + wide])


class Sum(torch.nn.Module):
    """An encoder whose states depend on the whole window."""

    def forward(self, input_ids, attention_mask, **options):  # type: ignore[no-untyped-def]
        total = (input_ids * attention_mask).sum(-1, keepdim=True)
        states = torch.stack([input_ids, total.expand_as(input_ids)], -1).float()
        return type("Output", (), {"hidden_states": [states, 2 * states]})


def test_a_phrase_read_from_pieces_has_the_states_that_its_words_have_in_the_sentence(split: Split) -> None:
    phrases = split.phrases()
    whole = []
    for index in range(len(split)):
        inputs = input_tensors(Columns.of([split[index]]))
        pieces = [inputs[name] for name in ("piece_ids", "piece_mask", "piece_words")]
        whole.append(word_states(Sum(), *pieces, inputs["input_ids"].shape[1], (0, 1))[0])
    inputs = input_tensors(phrases.columns(np.arange(len(phrases))), reads="words")
    pieces = [inputs[name] for name in ("piece_ids", "piece_mask", "piece_words")]
    states = word_states(Sum(), *pieces, inputs["input_ids"].shape[1], (0, 1))
    for index in range(len(phrases)):
        wide = len(phrases[index].input_ids)
        sentence = whole[int(phrases.sentences[index])]
        windows = sentence.unfold(0, wide, 1).movedim(-1, 1)
        assert (windows == states[index, :wide]).flatten(1).all(1).any()


def test_batches_are_padded_like_a_literal_loop(split: Split, split_with_states: Split) -> None:
    numbers = np.array([3, 7, 1, 20])
    shape = Shape(6, 24, 48, 1)
    batch = collate(split.columns(numbers), shape)
    stored = collate(split_with_states.columns(numbers), shape)
    assert batch.keys() - stored.keys() == {"piece_ids", "piece_words", "piece_mask"}
    assert stored["leaf_states"].shape == (6, 24, LAYERS, WIDTH)
    assert stored["leaf_states"].dtype == torch.float16
    for row, number in enumerate([*numbers, numbers[0], numbers[0]]):  # missing rows repeat the first
        example, place = split[int(number)], 0
        for window in range(batch["piece_ids"].shape[1]):
            sizes = example.window_sizes.tolist()
            size = sizes[window] if window < len(sizes) else 0
            ids, words = example.piece_ids[place : place + size], example.piece_words[place : place + size]
            padding = batch["piece_ids"].shape[2] - size
            assert batch["piece_ids"][row, window].tolist() == [*ids, *[0] * padding]
            assert batch["piece_words"][row, window].tolist() == [*words, *[-1] * padding]
            assert batch["piece_mask"][row, window].tolist() == [1] * size + [0] * padding
            place += size
        leaf_states = split_with_states[int(number)].leaf_states
        n = len(leaf_states)
        np.testing.assert_array_equal(stored["leaf_states"][row, :n], leaf_states)
        assert not stored["leaf_states"][row, n:].any()


def test_inputs_of_examples_have_pieces_for_both_kinds_of_systems(examples: list[Example]) -> None:
    columns = ExampleList(examples).columns(np.arange(5))
    for reads in ("trees", "words"):
        inputs = input_tensors(columns, reads=reads)
        assert inputs["piece_ids"].shape == inputs["piece_words"].shape == inputs["piece_mask"].shape
        assert not inputs.keys() & {"labels", "leaf_targets", "node_targets"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.zeros((3, LAYERS, WIDTH), np.float16), r"expected float16 states of \d+ leaves, found float16"),
        (np.zeros((3, LAYERS, WIDTH), np.float32), "found float32"),
        (b"no numbers", "not a file of states"),
        (b"", "not a file of states"),
        (b"\x93NUMPY\x01\x00\x12\x00{'shape': (9, 2, 4 \n", "not a file of states: .*EOF in multi-line"),
        (b"\x93NUMPY\x01\x00\x90\x01" + 200 * b"x ", "not a file of states: Cannot parse header: .{179}$"),
    ],
)
def test_other_states_are_refused(
    folder: Path, tmp_path: Path, content: np.ndarray | bytes, message: str
) -> None:
    path = tmp_path / "states.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    with pytest.raises(ValueError, match=message):
        Split(folder / "train.arrow", path)


def test_windows_that_do_not_belong_to_the_pieces_are_refused(
    examples: list[Example], tmp_path: Path
) -> None:
    writer = SplitWriter()
    writer.add(examples[0]._replace(window_sizes=integers([1])))
    writer.write(tmp_path / "train.arrow")
    with pytest.raises(ValueError, match="its windows are not those of its pieces"):
        Split(tmp_path / "train.arrow")
