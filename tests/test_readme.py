"""The examples of README.md and docs/ run as they are, those of one page in order."""

import re
from pathlib import Path

import pytest

from tests.pages import run_page

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
#: pages whose shell commands run, too
WITH_COMMANDS = ("docs/index.md", "docs/tutorials", "docs/extending", "docs/other-trees.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    run_page(page, tmp_path, commands=page.relative_to(ROOT).as_posix().startswith(WITH_COMMANDS))


def test_the_programs_of_the_readme_print_what_it_says(tmp_path: Path) -> None:
    printed = run_page(ROOT / "README.md", tmp_path, commands=False)
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    expected = {
        number: match[1]
        for number, line in enumerate(lines, start=1)
        if (match := re.match(r"\s*print\(.*\)  # (.+)", line))
    }
    assert len(expected) >= 4
    assert {number: printed[number] for number in expected} == expected


def test_the_pages_have_examples() -> None:
    for name in (
        "README.md",
        "docs/index.md",
        "docs/explained.md",
        "docs/method.md",
        "docs/extending/model.md",
    ):
        assert "\n```python" in (ROOT / name).read_text(encoding="utf-8"), name
