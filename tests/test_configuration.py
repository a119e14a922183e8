"""Recipes: what is wrong in one is said with its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformer.configuration import read_recipe
from treeformer.training.parser import ParserRecipe

RECIPES = Path(__file__).parents[1] / "recipes"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("parser-*.yaml")), ids=lambda path: path.name)
def test_every_recipe_of_a_parser_can_be_read_and_names_its_licences(path: Path) -> None:
    recipe = read_recipe(path, ParserRecipe)
    assert all(source.licence for source in recipe.trees)
    assert path.read_text().startswith(f"# treeformer parser train recipes/{path.name} ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "not YAML"),
        ("", "the recipe: input should be"),
        ("{name: x, language: en}", "trees: field required"),
        ("{name: x, language: en, trees: [], seed: one}", "seed: input should be a valid integer"),
        (
            "{name: x, language: en, trees: [{file: a, licence: b}], learning: {update: 3}}",
            r"learning\.update: no such key, did you mean updates\?",
        ),
    ],
)
def test_a_recipe_that_is_wrong_is_refused_by_key(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_recipe(path, ParserRecipe)
