"""ListOps: generated lists, their values, and the trees of their brackets."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from treeformer.cli.commands import app
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.data.sample import Sample
from treeformer.data.tasks.listops import ListOpsTask, random_list, tree_of, value_of
from treeformer.training.loop import train
from treeformer.training.recipe import Recipe
from treeformer.trees import Tree

RECIPE = Path(__file__).parents[3] / "recipes" / "listops.yaml"
TINY = (
    "data.task.splits.train.lists=300",
    "data.task.splits.dev.lists=20",
    "data.task.splits.test.lists=20",
    "data.task.splits.deep.lists=10",
)


def literal_value(tokens: Sequence[str]) -> int:
    """The value of a list by rewriting: the innermost list becomes its value until one digit is left."""
    tokens = list(tokens)
    while len(tokens) > 1:
        end = tokens.index("]")
        start = max(place for place in range(end) if tokens[place].startswith("["))
        values = sorted(int(token) for token in tokens[start + 1 : end])
        middle = len(values) // 2
        match tokens[start]:
            case "[MAX":
                value = values[-1]
            case "[MIN":
                value = values[0]
            case "[SUM_MOD":
                value = int(str(sum(values))[-1])
            case "[MED":
                value = values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) // 2
            case other:
                raise AssertionError(other)
        tokens[start : end + 1] = [str(value)]
    return int(tokens[0])


def matched_brackets(tokens: Sequence[str]) -> list[tuple[int, int]]:
    """The spans from each opening to its closing bracket, in the order of the closing ones."""
    opened: list[int] = []
    spans = []
    for place, token in enumerate(tokens):
        if token.startswith("["):
            opened.append(place)
        elif token == "]":
            spans.append((opened.pop(), place + 1))
    assert not opened
    return spans


def depth_of(tokens: Sequence[str]) -> int:
    """The largest number of brackets that are open at one token."""
    steps = [token.startswith("[") - (token == "]") for token in tokens]
    return max(sum(steps[: place + 1]) for place in range(len(steps)))


def task(**splits: Any) -> ListOpsTask:
    return ListOpsTask.model_validate({"name": "listops", "splits": splits})


def drawn(chosen: ListOpsTask, split: str) -> list[Sample]:
    return list(chosen.generate(chosen.splits[split]))


def words_of(samples: Sequence[Sample]) -> list[tuple[str, ...]]:
    return [sample.sentences[0].words for sample in samples]


@given(
    depth=st.integers(1, 6),
    arguments=st.integers(2, 5),
    nested=st.sampled_from([0.0, 0.3, 0.6]),
    seed=st.integers(0, 10**6),
)
def test_value_depth_and_tree_are_those_of_the_tokens(
    depth: int, arguments: int, nested: float, seed: int
) -> None:
    one = random_list(depth, arguments, nested, random.Random(seed))
    tree = tree_of(one)
    assert value_of(one) == literal_value(tree.words)
    assert depth_of(tree.words) == depth
    assert list(tree.spans) == matched_brackets(tree.words)
    assert Tree(tree.words, tree.tags, tree.labels, tree.spans) == tree  # which checks every part
    assert set(tree.labels) == {"LIST"}
    assert max(tree.leaf_depths) == depth


@pytest.mark.parametrize(
    ("tokens", "value"),
    [
        ("[MAX 2 9 [MIN 4 7 ] 0 ]", 9),
        ("[MED 1 2 ]", 1),
        ("[MED 9 0 5 ]", 5),
        ("[SUM_MOD 9 9 [MED 3 8 1 6 ] ]", 2),
    ],
)
def test_the_slow_twin_knows_the_operators(tokens: str, value: int) -> None:
    assert literal_value(tokens.split()) == value


def test_a_split_has_its_number_of_lists_depths_and_lengths_and_is_the_same_each_time() -> None:
    bounds = {"lists": 60, "seed": 5, "min_depth": 2, "max_depth": 4, "min_tokens": 12, "max_tokens": 40}
    chosen = task(train=bounds)
    samples = drawn(chosen, "train")
    assert Counter(sample.group for sample in samples) == {2: 20, 3: 20, 4: 20}
    assert all(12 <= len(words) <= 40 for words in words_of(samples))
    for sample in samples:
        (tree,) = sample.sentences
        assert sample.label == str(literal_value(tree.words))
        assert sample.group == depth_of(tree.words)
    assert drawn(chosen, "train") == samples
    assert drawn(task(train={**bounds, "seed": 6}), "train") != samples


def test_binary_trees_join_the_parts_of_a_list_from_left_to_right() -> None:
    splits = {"train": {"lists": 50, "seed": 5}}
    binary = ListOpsTask.model_validate({"name": "listops", "shape": "binary", "splits": splits})
    for flat, sample in zip(drawn(task(**splits), "train"), drawn(binary, "train"), strict=True):
        (lists,), (tree,) = flat.sentences, sample.sentences
        assert (tree.words, sample.label, sample.group) == (lists.words, flat.label, flat.group)
        whole = [span for span, label in zip(tree.spans, tree.labels, strict=True) if label == "LIST"]
        assert whole == list(lists.spans)
        children = Counter(tree.parents) + Counter(tree.leaf_parents)
        assert {children[node] for node in range(len(tree))} == {2}
        starts = Counter(start for start, _ in tree.spans)
        assert set(starts) == {start for start, _ in lists.spans}  # every part of a list starts with it


def test_no_list_of_another_split_is_in_train() -> None:
    short = {"max_depth": 1, "max_arguments": 2}  # only 400 lists exist
    chosen = task(train={"lists": 2000, "seed": 1, **short}, test={"lists": 300, "seed": 2, **short})
    train, test = (set(words_of(drawn(chosen, split))) for split in ("train", "test"))
    assert len(train) > 250
    assert len(test) > 50
    assert not train & test


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ({"min_depth": 4, "max_depth": 3}, "max_depth: expected at least 4, got 3"),
        ({"max_depth": 5, "max_tokens": 15}, "max_tokens: expected at least 16, got 15"),
        ({"min_tokens": 50, "max_tokens": 40}, "max_tokens: expected at least 50, got 40"),
        ({"lists": 0}, "lists"),
    ],
)
def test_impossible_bounds_are_refused(split: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        task(train={"lists": 10, "seed": 1, **split})


def test_two_splits_with_one_seed_are_refused() -> None:
    with pytest.raises(ValueError, match="a seed of its own for each"):
        task(train={"lists": 10, "seed": 1}, dev={"lists": 10, "seed": 1})


def test_lengths_that_a_depth_does_not_have_are_an_error() -> None:
    chosen = task(
        train={"lists": 1, "seed": 1, "max_depth": 1, "max_arguments": 2, "min_tokens": 8, "max_tokens": 9}
    )
    with pytest.raises(ValueError, match="no list of depth 1 with 8 to 9 tokens"):
        drawn(chosen, "train")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    recipe = Recipe.load(RECIPE, TINY)
    return prepare(recipe, None, tmp_path_factory.mktemp("listops") / "prepared")


def test_the_recipe_prepares_without_a_data_folder(corpus: PreparedCorpus) -> None:
    manifest = corpus.manifest
    assert {name: counts.examples for name, counts in manifest.splits.items()} == {
        "train": 300,
        "dev": 20,
        "test": 20,
        "deep": 10,
    }
    assert manifest.classes == tuple("0123456789")
    assert manifest.sources == {}
    assert all(counts.unknown == 0 for counts in manifest.splits.values())
    assert {example.group for example in corpus["test"]} == {1, 2, 3, 4, 5}
    assert {example.group for example in corpus["deep"]} == {6, 7, 8, 9, 10}


def test_models_that_read_words_read_the_brackets(corpus: PreparedCorpus) -> None:
    for example in corpus["dev"]:
        words = corpus.processor.words(example.input_ids.tolist())
        assert literal_value(words) == example.label
        assert matched_brackets(words) == [tuple(span) for span in example.node_spans.tolist()]


@pytest.mark.parametrize("system", sorted(Recipe.load(RECIPE).systems))
def test_every_system_of_the_recipe_trains(system: str, corpus: PreparedCorpus, tmp_path: Path) -> None:
    small = ("d_model=8", "ffn_dim=8") if system.endswith("transformer") else ("d_model=8",)
    changes = [f"systems.{system}.sizes.{size}" for size in small]
    steps = ("updates=3", "warm_up=0", "evaluate_every=3", "tokens=500", "graphs=false", "workers=0")
    changes += [f"model={system}", *TINY, *(f"training.{step}" for step in steps)]
    recipe = Recipe.load(RECIPE, changes)
    train(recipe, corpus.folder, tmp_path / "run", seed=1, device="cpu")
    assert (tmp_path / "run" / "model.safetensors").is_file()


def test_other_recipes_still_need_a_data_folder(tmp_path: Path) -> None:
    command = ["prepare", str(RECIPE.parent / "sst5.yaml"), "--output", str(tmp_path / "prepared")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    assert "--data: expected the folder of the files that" in str(result.exception)
    recipe = Recipe.load(RECIPE.parent / "sst5.yaml")
    with pytest.raises(ValueError, match=r"data: expected the folder of sst/train\.txt"):
        prepare(recipe, None, tmp_path / "prepared")
