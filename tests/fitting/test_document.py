"""Reports: one content as Markdown and as HTML; texts of users are never markup."""

from __future__ import annotations

from html.parser import HTMLParser

from treeformer.fitting.document import Code, Heading, Paragraph, Table, to_html, to_markdown

NASTY = "<script>alert(1)</script> | a *b* [c](d)\nsecond `line` & #5"
BLOCKS = [
    Heading(NASTY, 1),
    Paragraph(NASTY, lead=True),
    Table(["text", "number"], [[NASTY, "3"]], shades=[[0.0, 0.5]]),
    Code('treeformer classify --model "a b" <x>'),
]


class Texts(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_shows_texts_as_they_are_and_needs_no_other_file() -> None:
    page = to_html(BLOCKS)
    read = Texts(page)
    assert read.texts.count(NASTY) == 4  # title, heading, paragraph, cell
    assert 'treeformer classify --model "a b" <x>' in read.texts
    names = {tag for tag, _ in read.tags}
    assert not names & {"script", "link", "img", "iframe"}
    assert not [name for _, attributes in read.tags for name in attributes if name in ("src", "href")]
    assert "url(" not in page
    assert "@import" not in page


def test_markdown_keeps_a_row_of_a_table_on_one_line() -> None:
    lines = to_markdown(BLOCKS).splitlines()
    (row,) = [line for line in lines if line.startswith(r"| \<script")]
    assert row.replace(r"\|", "").count("|") == 3
    assert "    treeformer classify" in to_markdown(BLOCKS)
