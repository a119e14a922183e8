"""The recipes that ship: each is a whole experiment, and its header is how to run it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from treeformer.data.recipe import TASKS, DataRecipe, register_task
from treeformer.data.tasks.labelled import LabelledTask
from treeformer.data.tasks.task import Task
from treeformer.training.recipe import Recipe

RECIPES = Path(__file__).parents[2] / "recipes"
EXPERIMENTS = sorted(path for path in RECIPES.glob("*.yaml") if not path.name.startswith("parser-"))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_recipe_is_an_experiment_and_begins_with_its_commands(path: Path) -> None:
    recipe = Recipe.load(path)
    assert {"tree-transformer", "transformer"} <= set(recipe.systems)
    assert "train" in recipe.data.task.splits
    name = path.stem
    commands = path.read_text(encoding="utf-8").splitlines()[:3]
    data = "" if recipe.data.task.generated else "--data DATA "
    assert commands == [
        f"# treeformer prepare {name} {data}--output prepared/{name}",
        f"# treeformer train {name} --data prepared/{name} --output runs/{name} --seed 1",
        f"# treeformer evaluate runs/{name} --split test",
    ]


def test_there_is_a_recipe_for_every_task_of_the_paper() -> None:
    names = {path.stem for path in EXPERIMENTS}
    assert names >= {"sst5", "sst2", "imdb", "agreement", "iwslt14-en-de", "iwslt14-de-en"}
    assert names >= {"iwslt13-en-fr", "iwslt13-fr-en", "wmt14-en-de"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("data.task.clases=2", r"data\.task\.clases: no such key, did you mean classes\?"),
        ("data.task.name=sts", "data.task: expected a name out of sst, imdb, .*, got 'sts'"),
        ("data.task.name=[sst]", r"data.task: expected a name out of sst, imdb, .*, got \['sst'\]"),
        ("data.task.name={a: b}", "data.task: expected a name out of sst"),
        ("data.vocabulary={kind: bpe, size: 1001}", "multiple of 8"),
        (
            "data.vocabulary={kind: bpe, size: 1000000000}",
            "vocabulary.bpe.size: .* less than or equal to 1048576",
        ),
        ("data.task.splits={dev: {file: a}}", "expected a split train, got dev"),
        ("data.task.splits={train: {file: a}, 'a/b': {file: b}}", "expected names of letters"),
    ],
)
def test_what_is_wrong_in_the_data_is_named(change: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe.load(RECIPES / "sst5.yaml", [change])


def test_a_task_of_ones_own_is_read_written_and_named_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeformer.data.recipe.TASKS", dict(TASKS))

    @register_task
    class OwnTask(LabelledTask):
        name: Literal["own"]  # type: ignore[assignment]
        colour: str = Field(default="red", description="of its flag")

    content = {
        "task": {"name": "own", "colour": "blue", "splits": {"train": {"file": "a.jsonl"}}},
        "vocabulary": {"kind": "words"},
    }
    recipe = DataRecipe.model_validate(content)
    assert isinstance(recipe.task, OwnTask)
    assert recipe.model_dump(mode="json")["task"]["colour"] == "blue"
    assert DataRecipe.model_validate(recipe.model_dump(mode="json")) == recipe
    changes = ["data.task={name: own, color: blue, splits: {train: {file: a}}}"]
    with pytest.raises(ValueError, match=r"data\.task\.color: no such key, did you mean colour\?"):
        Recipe.load(RECIPES / "sst5.yaml", changes)


def test_a_task_without_a_name_or_with_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(ValueError, match="name: 'labelled' is a task of treeformer"):
        register_task(LabelledTask)
    with pytest.raises(ValueError, match="Task: expected a field name: Literal"):
        register_task(Task)
