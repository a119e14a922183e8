"""Recipes are read from YAML; errors name the wrong key."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformer.configuration import Settings
from treeformer.training.parser_training import ParserRecipe
from treeformer.training.recipe import Recipe

RECIPES = Path(__file__).parents[1] / "recipes"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("parser-*.yaml")), ids=lambda path: path.name)
def test_every_parser_recipe_is_valid_and_names_licences(path: Path) -> None:
    recipe = ParserRecipe.load(path)
    assert all(source.licence for source in recipe.trees)
    assert path.read_text().startswith(f"# treeformer parser train {path.stem} ")


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
def test_a_wrong_recipe_is_refused_by_key(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        ParserRecipe.load(path)


GOOD = "{name: x, language: en, trees: [{file: a, licence: b}], learning: {updates: 3}}"


def test_overrides_replace_values_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(GOOD)
    recipe = ParserRecipe.load(path, ["learning.updates=7", "name=y", "learning.batch_words=5"])
    assert (recipe.name, recipe.learning.updates, recipe.learning.batch_words) == ("y", 7, 5)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("learning", "--set learning: expected key=value"),
        (".x=1", "expected key=value"),
        ("learning.updates.x=1", r"learning\.updates has no keys"),
        ("learning.update=1", r"learning\.update: no such key, did you mean updates\?"),
        ("learning.updates=[", "not YAML"),
    ],
)
def test_a_wrong_override_is_refused(tmp_path: Path, override: str, message: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(GOOD)
    with pytest.raises(ValueError, match=message):
        ParserRecipe.load(path, [override])


def test_near_keys_are_suggested_in_lists(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("{name: x, language: en, trees: [{file: a, license: b}]}")
    with pytest.raises(ValueError, match=r"license: no such key, did you mean licence\?"):
        ParserRecipe.load(path)


def test_an_override_changes_one_of_two_keys_that_share_a_yaml_alias(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("a: {sizes: &sizes {width: 1}}\nb: {sizes: *sizes}")

    class Sizes(Settings):
        sizes: dict[str, int]

    class Both(Settings):
        a: Sizes
        b: Sizes

    both = Both.load(path, ["b.sizes.width=2"])
    assert (both.a.sizes["width"], both.b.sizes["width"]) == (1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning: {learning_rate: .inf}", r"learning\.learning_rate: expected a finite number"),
        ("learning: {learning_rate: 1e999}", r"learning\.learning_rate: input should be a finite number"),
        ("seed: .nan", "seed: expected a finite number"),
        ("seed: &a [*a, .inf]", r"seed\.1: expected a finite number"),
        ("name: 2024-13-01", "month must be in 1..12; quote the value if it is text.* line 1, column 7"),
        ("seed: " + "[" * 5000, "not YAML: nested too deeply"),
        ("seed: " + "9" * 5000, "not YAML: Exceeds the limit"),
        ("\xff", "not YAML"),
        ("? [a]\n: b", "not YAML"),
    ],
)
def test_numbers_are_finite_and_broken_yaml_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=rf"recipe\.yaml: .*{message}") as raised:
        ParserRecipe.load(path)
    assert "\n" not in str(raised.value)


def test_overrides_are_finite_and_sizes_without_a_type_too(tmp_path: Path) -> None:
    path = RECIPES / "sst5.yaml"
    for override, key in [
        ("training.learning_rate=.inf", r"training\.learning_rate"),
        ("systems.tree-transformer.sizes.dropout=.nan", r"systems\.tree-transformer\.sizes\.dropout"),
    ]:
        with pytest.raises(ValueError, match=rf"sst5\.yaml: {key}: expected a finite number"):
            Recipe.load(path, [override])
    with pytest.raises(ValueError, match=r"--set training\.clip=2024-13-01: not YAML: month must be"):
        Recipe.load(path, ["training.clip=2024-13-01"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "expected a JSON object, found list"),
        ("{", "expected a JSON object: "),
        ("\xff", "expected a JSON object: "),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"width": "wide"}', "width: input should be a valid integer"),
        ('{"width": NaN}', "width: expected a finite number"),
        ('{"widht": 1}', r"widht: no such key, did you mean width\?"),
    ],
)
def test_json_of_the_wrong_shape_is_refused_by_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    class Sizes(Settings):
        width: int = 1

    path = tmp_path / "sizes.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=rf"sizes\.json: .*{message}"):
        Sizes.load_json(path)


def test_line_breaks_of_keys_and_overrides_do_not_break_the_message(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text('"wi\\ndth": 1\n')
    with pytest.raises(ValueError, match=r"recipe\.yaml: wi\\ndth: no such key") as raised:
        _Sizes.load(path)
    assert "\n" not in str(raised.value)
    for override in ("a\nb", "wid\nth=1", "x\r\ny=[", "width.a\nb.c=1"):
        with pytest.raises(ValueError, match=r"^\S+: |^--set ") as raised:
            _Sizes.load(path, [override])
        assert len(str(raised.value).splitlines()) == 1


def test_a_file_full_of_unknown_keys_gives_a_short_message(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("".join(f"key{number}: 1\n" for number in range(1000)))
    with pytest.raises(ValueError, match="1000 problems in all") as raised:
        _Sizes.load(path)
    assert len(str(raised.value)) < 1000


class _Sizes(Settings):
    width: int = 1
