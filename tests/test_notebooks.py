"""The notebooks are those of the tutorials, and run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.test_docs import DOCS, script

NAMES = sorted(path.with_suffix(".ipynb").name for path in (DOCS / "tutorials").glob("*.md"))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_up_to_date_with_its_tutorial(name: str) -> None:
    notebooks = script("notebooks")
    made = notebooks.notebook(notebooks.NOTEBOOKS[name])
    assert (DOCS / "notebooks" / name).read_text(encoding="utf-8") == made, "run make docs-pages"


def test_there_are_no_other_notebooks() -> None:
    assert sorted(path.name for path in DOCS.rglob("*.ipynb")) == NAMES


@pytest.mark.notebooks
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_from_start_to_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(DOCS / "notebooks" / name, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    drawn = [output for output in outputs if "image/svg+xml" in output.get("data", {})]
    assert bool(drawn) == (name == "labelled-trees.ipynb")
