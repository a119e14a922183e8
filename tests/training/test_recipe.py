"""The recipes in the repository, and settings of single systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformer.training.recipe import Recipe, TrainingRecipe

RECIPES = Path(__file__).parents[2] / "recipes"
EXPERIMENTS = sorted(path for path in RECIPES.glob("*.yaml") if not path.name.startswith("parser-"))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_recipe_names_its_command_and_both_main_systems(path: Path) -> None:
    systems = Recipe.load(path).systems
    assert {"tree-transformer", "transformer"} <= set(systems)
    for system in systems:
        recipe = Recipe.load(path, [f"model={system}"]).resolved()
        assert list(recipe.systems) == [system]
        assert recipe.system_recipe.sizes["d_model"] > 0
    assert f"# treeformer train {path.stem} --data prepared/{path.stem}" in path.read_text()


CLASSIFIERS = {
    "composed-tree-transformer",
    "tree-transformer",
    "tree-lstm",
    "bilstm",
    "transformer",
    "linear",
}
WITH_ENCODER = ("sst5", "sst2", "agreement", "imdb", "labelled")


@pytest.mark.parametrize("train", ["frozen", "all"])
@pytest.mark.parametrize("name", WITH_ENCODER)
def test_an_encoder_replaces_systems_and_training(name: str, train: str) -> None:
    changes = ["encoder=bge-small", f"encoder.train={train}"]
    recipe = Recipe.load(name, changes)
    assert set(recipe.systems) == CLASSIFIERS
    for system in CLASSIFIERS:
        resolved = Recipe.load(name, [*changes, f"model={system}"]).resolved()
        training = resolved.training
        assert training.epochs is not None
        assert (training.updates, training.word_dropout, training.graphs) == (None, 0, False)
        is_usual_fine_tuning = (system, train) == ("linear", "all")
        assert (training.targets == "text") == is_usual_fine_tuning
    assert Recipe.load(name).systems.keys() == CLASSIFIERS - {"linear"}


def test_a_key_of_an_encoder_can_follow_its_name() -> None:
    recipe = Recipe.load("sst5", ["encoder=bge-small", "encoder.layers=[4, 12]"])
    assert recipe.encoder is not None
    assert (recipe.encoder.source, recipe.encoder.layers) == ("bge-small", (4, 12))


def test_a_system_changes_what_it_names_and_nothing_else() -> None:
    changes = ["systems.transformer.training={learning_rate: 0.5, patience: 3}", "model=transformer"]
    path = RECIPES / "sst5.yaml"
    plain, changed = Recipe.load(path), Recipe.load(path, changes)
    expected = {**plain.training.model_dump(), "learning_rate": 0.5, "patience": 3, "evaluate_every": 500}
    assert changed.resolved().training == TrainingRecipe.model_validate(expected)
    assert changed.training == plain.training


def test_an_override_of_training_holds_for_systems_with_their_settings() -> None:
    path = RECIPES / "sst5.yaml"
    changes = ["model=tree-lstm", "training.updates=7"]
    recipe = Recipe.load(path, changes).resolved()
    assert (recipe.training.updates, recipe.training.schedule) == (7, "cosine")
    changes.append("systems.tree-lstm.training.updates=9")
    assert Recipe.load(path, changes).resolved().training.updates == 9
