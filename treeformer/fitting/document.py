"""A report as headings, paragraphs, tables and commands, written as Markdown and as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from treeformer.analysis.tables import markdown_table

_STYLE = """\
:root { color-scheme: light dark; --line: #8884; --shade: 21, 101, 192; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
td.text { overflow-wrap: break-word; }
pre { padding: .7rem 1rem; border: 1px solid var(--line); border-radius: .4rem; overflow-x: auto; }
.lead { font-size: 1.15rem; }"""


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Running text; ``lead`` for the finding."""

    text: str
    lead: bool = False


@dataclass(frozen=True)
class Code:
    """A command."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table.

    head: the names of the columns.
    rows: the cells.
    texts: numbers of the columns of running text.
    shades: for each row and column a shade from 0 to 1, for HTML.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: frozenset[int] = frozenset({0})
    shades: Sequence[Sequence[float]] | None = None


Block = Heading | Paragraph | Code | Table


def to_markdown(blocks: Sequence[Block]) -> str:
    """The report as Markdown."""
    return "\n\n".join(map(_markdown, blocks)) + "\n"


def to_html(blocks: Sequence[Block]) -> str:
    """The report as a page that needs no other file."""
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(map(_html, blocks))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_plain(text)}"
        case Paragraph(text, lead):
            return f"**{_plain(text)}**" if lead else _plain(text)
        case Code(text):
            return "\n".join(f"    {line}" for line in text.splitlines())
    return markdown_table([[_plain(cell) for cell in row] for row in [block.head, *block.rows]])


def _plain(text: str) -> str:
    """The text in one line, with nothing that Markdown would read as markup."""
    line = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in line)


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text, lead):
            return f'<p class="lead">{escape(text)}</p>' if lead else f"<p>{escape(text)}</p>"
        case Code(text):
            return f"<pre>{escape(text)}</pre>"
    head = "".join(_cell("th", name, number in block.texts) for number, name in enumerate(block.head))
    rows = [f"<tr>{head}</tr>"]
    for number, cells in enumerate(block.rows):
        shades = block.shades[number] if block.shades else [0.0] * len(cells)
        columns = enumerate(zip(cells, shades, strict=True))
        line = "".join(_cell("td", cell, column in block.texts, shade) for column, (cell, shade) in columns)
        rows.append(f"<tr>{line}</tr>")
    return '<div class="wide"><table>\n' + "\n".join(rows) + "\n</table></div>"


def _cell(tag: str, text: str, is_text: bool, shade: float = 0.0) -> str:
    style = f' style="background: rgba(var(--shade), {0.6 * shade:.2f})"' if shade else ""
    kind = ' class="text"' if is_text else ""
    return f"<{tag}{kind}{style}>{escape(text)}</{tag}>"
