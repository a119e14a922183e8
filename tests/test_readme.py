"""The Python examples of README.md and docs/ run as they stand, those of one file in order."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_examples_of_a_page_run(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    text = file.read_text(encoding="utf-8")
    namespace: dict[str, object] = {}
    for block in BLOCK.finditer(text):
        lines_before = text.count("\n", 0, block.start(1))
        # so that an error names the line of the page
        exec(compile("\n" * lines_before + block[1], str(file), "exec"), namespace)


def test_the_readme_has_examples() -> None:
    assert BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
