"""The documentation is whole and up to date: what scripts make of it, and what the site needs."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import treeformer
from treeformer.configuration import Settings
from treeformer.data.recipe import TASKS, DataRecipe, Subwords, Words
from treeformer.training.parser_training import ParserRecipe
from treeformer.training.recipe import Recipe

DOCS = Path(__file__).parents[1] / "docs"
ROOMS = ("encoders", "evaluation", "inference", "models", "nn", "ops", "parsing", "trees")


def script(name: str) -> ModuleType:
    """A script of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["commands.md", "recipes.md"])
def test_a_page_that_a_script_makes_is_up_to_date(page: str) -> None:
    made = script("reference").PAGES[page]()
    assert (DOCS / "reference" / page).read_text(encoding="utf-8") == made, "run make docs-pages"


def test_the_pictures_are_up_to_date() -> None:
    made = script("pictures").PICTURES
    assert {path.stem for path in (DOCS / "pictures").glob("*.svg")} == set(made)
    for name, make in made.items():
        drawn = (DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        assert without_titles(drawn) == without_titles(make()), f"{name}: run make docs-pages"


def without_titles(picture: str) -> str:
    """The picture without probabilities, whose last digit depends on the machine."""
    return re.sub("<title>.*?</title>", "", picture)


def test_the_reference_shows_every_public_name() -> None:
    shown = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference" / "api").glob("*.md"))
    names = set(re.findall(r"^::: ([\w.]+)$", shown, re.MULTILINE))
    last = {name.rpartition(".")[2] for name in names}
    types = {
        "Convention",
        "Span",
        "Implementation",
        "TreeSets",
        "BracketCounts",
        "__version__",
    }  # not functions or models
    public = set(treeformer.__all__)
    for room in ROOMS:
        public |= set(importlib.import_module(f"treeformer.{room}").__all__)
    assert public - last - types == set()


def test_every_page_has_a_place_in_the_navigation() -> None:
    settings = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    pages = set(entries(yaml.safe_load(settings)["nav"]))
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert there - pages == set()
    elsewhere = {
        page for page in pages - there if (DOCS.parent / page).is_file()
    }  # results/*.md, CHANGELOG.md
    assert pages - there - elsewhere == set()


def entries(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for below in nav.values():
            yield from entries(below)
    elif isinstance(nav, list):
        for below in nav:
            yield from entries(below)


@pytest.mark.parametrize("kind", [Recipe, ParserRecipe, DataRecipe, Words, Subwords, *TASKS.values()])
def test_every_recipe_key_is_described(kind: type[Settings]) -> None:
    from treeformer.configuration import nested_settings

    for field_name, field in kind.model_fields.items():
        chooses = field_name in ("name", "kind") and "Literal" in str(field.annotation)
        assert field.description or chooses, f"{kind.__name__}.{field_name}"
        for part in nested_settings(field.annotation):
            if part.__name__ != "TrainingChanges":  # the keys of training, described there
                test_every_recipe_key_is_described(part)  # type: ignore[arg-type]


def test_links_out_of_docs_lead_to_places_in_the_site() -> None:
    moved = script("hooks").with_site_links
    assert moved("[a](../results/core.md)", "docs/method.md", "method.md") == "[a](results/core.md)"
    assert moved("[a](../limits.md#x)", "docs/tutorials/t.md", "tutorials/t.md") == "[a](../limits.md#x)"
    assert moved("[a](../docs/method.md)", "results/core.md", "results/core.md") == "[a](../method.md)"
    assert moved("[a](docs/method.md)", "README.md", "library.md") == "[a](method.md)"
    assert moved("[a](https://b.c/d)", "README.md", "library.md") == "[a](https://b.c/d)"
    assert moved("```\n[a](b.md)\n```", "README.md", "x/y.md") == "```\n[a](b.md)\n```"


def test_what_a_page_loads_from_another_host_is_found() -> None:
    found = script("hooks").from_other_hosts
    assert found('<script src="https://cdn.example/x.js"></script>')
    assert found('<link rel="stylesheet" href="//fonts.example/css">')
    assert found("body { background: url(https://example.org/a.png) }")
    assert not found(
        '<a href="https://example.org">a link</a><img src="../a.svg"><script src="a.js"></script>'
    )
    assert not found('<svg xmlns="http://www.w3.org/2000/svg"></svg>')


def test_examples_in_docstrings_are_shown_as_code() -> None:
    shown = script("docstrings").with_fences("Adds.\n\n>>> 1 + 1\n2\n\nMore.")
    assert shown == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."


def test_lines_about_fields_are_shown_as_a_list() -> None:
    shown = script("docstrings").with_lists(
        "A pair.\n\nleft: one.\nright: the other,\n    here.\n\nNote: no."
    )
    assert shown == "A pair.\n\n- `left`: one.\n- `right`: the other,\n    here.\n\nNote: no."
