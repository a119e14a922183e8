"""Write the tutorials as notebooks: python docs/notebooks.py.

A tutorial is written once, as a page. Blocks of Python become cells; blocks with a title write that file;
commands run in a shell; everything else is text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
FOLDER = DOCS / "notebooks"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))

_BLOCK = re.compile(
    r"^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_LINK = re.compile(r"\]\((?!https?:)(?:\.\./)*([^)#\s]+)\.md(#[^)]*)?\)")


def notebook(page: Path) -> str:
    """The notebook of a tutorial as JSON, without outputs."""
    text = page.read_text(encoding="utf-8")
    cells: list[dict[str, Any]] = []
    end = 0
    for block in _BLOCK.finditer(text):
        code = _code(block["kind"], block["title"], block["text"])
        if code is None:
            continue
        cells += [_cell("markdown", text[end : block.start()]), _cell("code", code)]
        end = block.end()
    cells.append(_cell("markdown", text[end:]))
    cells = [cell for cell in cells if cell["source"]]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _code(kind: str, title: str | None, text: str) -> str | None:
    """The code of a cell for a block; None for a block to read."""
    if title is not None:
        return f"%%writefile {title}\n{text}"
    if kind == "bash":
        return f"%%bash\nset -e\n{text}"
    return text if kind == "python" else None


def _cell(kind: str, text: str) -> dict[str, Any]:
    text = _LINK.sub(r"](../\1.md\2)", text) if kind == "markdown" else text
    lines = text.strip().splitlines(keepends=True)
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": "", "metadata": {}, **code, "source": lines}


NOTEBOOKS = {page.with_suffix(".ipynb").name: page for page in TUTORIALS}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, page in NOTEBOOKS.items():
        (FOLDER / name).write_text(notebook(page), encoding="utf-8")
