"""Drawings as SVG: valid XML for every tree, no text over another, colours and links where asked for."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.trees.strategies import plain_labels, trees
from treeformer.trees import Tree, to_svg

NAMESPACE = "{http://www.w3.org/2000/svg}"
TREE = Tree.from_brackets("(S (NP (DT the) (NN cat)) (VBZ sleeps))")


def parts(svg: str, name: str) -> list[ElementTree.Element]:
    """The elements of that name."""
    return list(ElementTree.fromstring(svg).iter(NAMESPACE + name))


def texts(svg: str, kind: str) -> list[ElementTree.Element]:
    """The texts of a kind: label, tag or word."""
    return [part for part in parts(svg, "text") if part.get("class") == kind]


@given(trees(max_leaves=8), st.text())
def test_every_tree_and_title_gives_xml_that_holds_its_texts(tree: Tree, title: str) -> None:
    svg = to_svg(tree, leaf_titles=[title] * len(tree.words), node_colors=[title] * len(tree))
    ElementTree.fromstring(svg.encode())
    allowed = "\t\n\r"

    def cleaned(text: str) -> str:
        return "".join(
            c
            if c in allowed or "\x20" <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
            else "\ufffd"
            for c in text
        )

    assert [part.text for part in texts(svg, "word")] == list(map(cleaned, tree.words))
    assert [part.text for part in texts(svg, "tag")] == list(map(cleaned, tree.tags))
    assert [part.text for part in texts(svg, "label")] == list(map(cleaned, tree.labels))


def test_lone_surrogates_do_not_break_the_document() -> None:
    tree = Tree(["a", "\x00\x1b"], ["A", "B"], ["S"], [(0, 2)])
    svg = to_svg(tree, leaf_titles=["\ud800", None])
    assert [part.text for part in texts(svg, "word")] == ["a", "\ufffd\ufffd"]
    assert [part.text for part in parts(svg, "title")] == ["\ufffd"]
    svg.encode("utf-8")


@given(trees(max_leaves=12, node_labels=plain_labels() | st.sampled_from(["WHADVPWHADVP", "i"])))
@example(
    Tree.from_brackets("(S (LONGLABELLL (B bbbbbbbbbbbb) (A a)) (LONGLABELLL (A a) (B bbbbbbbbbbbb)))"),
)
def test_texts_of_one_row_do_not_meet(tree: Tree) -> None:
    svg = to_svg(tree, node_colors=["red"] * len(tree), leaf_colors=["red"] * len(tree.words))
    _, *boxes = parts(svg, "rect")
    assert len(boxes) == len(tree) + len(tree.words)
    width = float(ElementTree.fromstring(svg).get("viewBox", "").split()[2])
    rows: dict[str, list[tuple[float, float]]] = {}
    for box in boxes:
        left = float(box.get("x", ""))
        rows.setdefault(box.get("y", ""), []).append((left, left + float(box.get("width", ""))))
    for row in rows.values():
        row.sort()
        assert row[0][0] >= 0
        assert row[-1][1] <= width
        for (_, right), (left, _) in pairwise(row):
            assert right < left


def test_nothing_is_coloured_titled_or_linked_unless_asked_for() -> None:
    svg = to_svg(TREE)
    assert len(parts(svg, "rect")) == 1
    assert parts(svg, "title") == []
    assert [path.get("class") for path in parts(svg, "path")] == ["edge"] * 4


def test_colours_and_titles_go_to_their_parts() -> None:
    svg = to_svg(
        TREE,
        node_colors=["#abc", None],
        leaf_colors=[None, "a\"b'<&>", None],
        node_titles=[None, "<whole> & all"],
        leaf_titles=["first", None, None],
    )
    assert [box.get("fill") for box in parts(svg, "rect")[1:]] == ["#abc", "a\"b'<&>"]
    groups = {group[-1].text: group for group in parts(svg, "g")}
    assert [name for name, group in groups.items() if group.find(NAMESPACE + "title") is not None] == [
        "S",
        "the",
    ]
    assert [title.text for title in parts(svg, "title")] == ["<whole> & all", "first"]


def test_links_are_curves_with_the_opacity_of_their_weight() -> None:
    links = [
        (("leaf", 0), ("leaf", 2), 0.25),
        (("node", 0), ("leaf", 2), 1.0),
        (("leaf", 2), ("node", 1), 0),
        (("node", 0), ("node", 1), 0.5),
    ]
    svg = to_svg(TREE, links=links)  # type: ignore[arg-type]
    drawn = [path for path in parts(svg, "path") if path.get("class") == "link"]
    assert [path.get("stroke-opacity") for path in drawn] == ["0.250", "1.000", "0.000", "0.500"]
    plain_height, height = (float(ElementTree.fromstring(s).get("height", "")) for s in (to_svg(TREE), svg))
    assert height > plain_height
    ring = to_svg(TREE, links=[(("node", 1), ("node", 1), 0.5)])
    assert [box.get("class") for box in parts(ring, "rect")] == [None, "link"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"node_colors": ["red"]}, "node_colors: expected 2 values, got 1"),
        ({"leaf_colors": []}, "leaf_colors: expected 3 values, got 0"),
        ({"node_titles": ["a"] * 3}, "node_titles: expected 2 values, got 3"),
        ({"leaf_titles": ["a"]}, "leaf_titles: expected 3 values, got 1"),
        ({"links": [(("node", 2), ("leaf", 0), 1)]}, r"links\[0\]: expected .* got \('node', 2\)"),
        ({"links": [(("leaf", 0), ("leaf", -1), 1)]}, r"links\[0\]: expected .* got \('leaf', -1\)"),
        ({"links": [(("word", 0), ("leaf", 0), 1)]}, r"links\[0\]: expected .* got \('word', 0\)"),
        ({"links": [(("leaf", 0), ("leaf", 1), float("nan"))]}, r"links\[0\]: expected a weight"),
        ({"links": [(("leaf", 0), ("leaf", 1), 1.5)]}, r"links\[0\]: expected a weight from 0 to 1, got 1.5"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_svg(TREE, **options)  # type: ignore[arg-type]
