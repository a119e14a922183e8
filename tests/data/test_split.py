"""Splits: what is written is read again, as views of a mapped file."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.data.examples import random_example, random_split
from treeformer.data.examples import Columns, Example, Examples, integers
from treeformer.data.split import Split, SplitWriter


def same(one: Example, other: Example) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize("translation", [False, True])
def test_examples_come_back_as_they_were_written(tmp_path: Path, translation: bool) -> None:
    chance = random.Random(1)
    examples = [random_example(chance, leaves=n, translation=translation) for n in range(1, 30)]
    writer = SplitWriter()
    for example in examples:
        writer.add(example)
    writer.write(tmp_path / "train.arrow")
    split = Split(tmp_path / "train.arrow")
    assert len(split) == len(examples)
    assert all(same(split[index], example) for index, example in enumerate(examples))
    assert split.sizes.dtype == np.int32
    assert [size[0] for size in split.sizes] == list(range(1, 30))
    assert all(size[1] == len(example.node_ids) for size, example in zip(split.sizes, examples, strict=True))


def test_examples_are_views_of_the_mapped_file_and_cannot_be_changed(tmp_path: Path) -> None:
    split = random_split(tmp_path / "train.arrow", 5)
    example = split[3]
    assert not example.input_ids.flags.owndata
    assert not example.input_ids.flags.writeable
    assert np.shares_memory(example.input_ids, split.flat("input_ids")[0])


def test_a_split_survives_pickling(tmp_path: Path) -> None:
    split = random_split(tmp_path / "train.arrow", 5)
    again = pickle.loads(pickle.dumps(split))
    assert all(same(split[index], again[index]) for index in range(5))
    phrases = pickle.loads(pickle.dumps(split.phrases()))
    assert len(phrases) == len(split.phrases())


def test_texts_of_a_translation_are_kept(tmp_path: Path) -> None:
    split = random_split(tmp_path / "test.arrow", 3, translation=True)
    assert split.texts("target_text") == ["Ja!"] * 3
    assert split.texts("target_tokens") == ["Ja !"] * 3
    with pytest.raises(ValueError, match="expected one of the texts"):
        random_split(tmp_path / "x.arrow", 3).texts("target_text")


def test_phrases_are_all_words_and_nodes_with_a_target(tmp_path: Path) -> None:
    split = random_split(tmp_path / "train.arrow", 40)
    expected = []
    for index in range(len(split)):
        example = split[index]
        assert example.leaf_targets is not None
        assert example.node_targets is not None
        for leaf, target in enumerate(example.leaf_targets.tolist()):
            if target >= 0:
                expected.append(((example.input_ids[leaf],), target))
        for (start, end), target in zip(example.node_spans, example.node_targets.tolist(), strict=True):
            if target >= 0 and (end - start > 1 or example.leaf_targets[start] < 0):
                expected.append((tuple(example.input_ids[start:end]), target))
    phrases = split.phrases()
    found = [(tuple(phrases[index].input_ids), phrases[index].label) for index in range(len(phrases))]
    assert sorted(found) == sorted(expected)
    assert phrases.sizes[:, 0].tolist() == [len(words) for words, _ in found]
    with pytest.raises(ValueError, match="only a corpus with targets on phrases"):
        random_split(tmp_path / "x.arrow", 3, translation=True).phrases()


def test_what_is_no_split_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.arrow").write_text("no")
    with pytest.raises(ValueError, match=r"train\.arrow: not a prepared split"):
        Split(tmp_path / "train.arrow")
    writer = SplitWriter()
    writer.add(Example(integers([1]), integers([0]), integers([[0, 1]]), label=1))
    with pytest.raises(ValueError, match="as before"):
        writer.add(Example(integers([1]), integers([0]), integers([[0, 1]])))


@pytest.mark.parametrize(
    ("name", "values"), [("node_spans", [0, 2, 1]), ("node_targets", [1, 1]), ("leaf_targets", [1, 1, 1])]
)
def test_spans_and_targets_are_as_many_as_nodes_and_leaves(
    name: str, values: list[int], tmp_path: Path
) -> None:
    whole = Example(
        integers([1, 2]),
        integers([1]),
        integers([[0, 2]]),
        leaf_targets=integers([0, 0]),
        node_targets=integers([0]),
    )
    writer = SplitWriter()
    writer.add(whole)
    writer.add(whole._replace(**{name: integers(values)}))
    writer.write(tmp_path / "a.arrow")
    with pytest.raises(ValueError, match=rf"a\.arrow: not a prepared split: column {name}: .* in example 1$"):
        Split(tmp_path / "a.arrow")


def test_shares_are_parts_of_each_other_and_always_the_same(tmp_path: Path) -> None:
    split = random_split(tmp_path / "train.arrow", 40)
    shares = [split.share(share) for share in (0.1, 0.25, 0.5, 1.0)]
    assert [len(share) for share in shares] == [4, 10, 20, 40]
    for smaller, larger in pairwise(shares):
        assert set(smaller.numbers) < set(larger.numbers)
    assert split.share(0.25).numbers.tolist() == shares[1].numbers.tolist()
    assert shares[1].sizes.tolist() == split.sizes[shares[1].numbers].tolist()
    for place, number in enumerate(shares[1].numbers):
        assert shares[1][place].input_ids.tolist() == split[int(number)].input_ids.tolist()


def test_phrases_of_a_share_are_those_of_its_sentences(tmp_path: Path) -> None:
    split = random_split(tmp_path / "train.arrow", 40)
    share = split.share(0.25)
    phrases = split.phrases().within(share)
    writer = SplitWriter()
    for place in range(len(share)):
        writer.add(share[place])
    writer.write(tmp_path / "share.arrow")
    expected = Split(tmp_path / "share.arrow").phrases()
    assert len(phrases) == len(expected)
    assert all(same(phrases[place], expected[place]) for place in range(len(expected)))
    assert len(split.phrases().within(split.share(1.0))) == len(split.phrases())


@pytest.mark.parametrize("translation", [False, True])
def test_columns_hold_what_the_examples_hold_one_by_one(tmp_path: Path, translation: bool) -> None:
    split = random_split(tmp_path / "train.arrow", 60, translation=translation)
    sources: list[Examples] = [split, split.share(0.4)]
    if not translation:
        sources += [split.phrases(), split.phrases().within(split.share(0.4))]
    for examples in sources:
        numbers = np.random.default_rng(1).integers(0, len(examples), 25)
        fast = examples.columns(numbers)
        slow = Columns.of([examples[int(number)] for number in numbers])
        for name, fast_column, slow_column in zip(Columns._fields, fast, slow, strict=True):
            for fast_part, slow_part in zip(_arrays(fast_column), _arrays(slow_column), strict=True):
                assert np.array_equal(fast_part, slow_part), name
                assert fast_part.dtype == slow_part.dtype, name


def _arrays(column: object) -> tuple[np.ndarray, ...]:
    """What a column of `Rows` holds: values and lengths, labels, or nothing."""
    if column is None:
        return ()
    return column if isinstance(column, tuple) else (np.asarray(column),)
