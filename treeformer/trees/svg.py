"""Trees drawn as SVG, with colours, tooltips and weighted links (attention, for example)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Literal

from .errors import quoted
from .placement import Placement, character_width, place
from .tree import Tree

End = tuple[Literal["node", "leaf"], int]
Link = tuple[End, End, float]

_FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'Noto Sans', sans-serif"
_STYLE = """
text { font-family: FONT; text-anchor: middle; }
.word { font-size: 16px; fill: #1b1f24; }
.tag { font-size: 11px; fill: #6e7781; }
.label { font-size: 13px; font-weight: 600; fill: #0b4a8f; }
.edge { fill: none; stroke: #afb8c1; stroke-width: 1.3; }
.link { fill: none; stroke: #d1480c; stroke-width: 2; stroke-linecap: round; }
""".replace("FONT", _FONT)
_DARK = """
.paper { fill: #0d1117; }
.word { fill: #e6edf3; }
.tag { fill: #9198a1; }
.label { fill: #79b8ff; }
.edge { stroke: #59636e; }
.link { stroke: #ff8a50; }
.pill { fill: #ffffff; }
.pill ~ .word { fill: #1b1f24; }
.pill ~ .label { fill: #0b4a8f; }
"""
_RULE = re.compile(r"^(?=[^\n{}]+ \{)", re.MULTILINE)  # the start of a rule
_WORD_SIZE, _TAG_SIZE, _LABEL_SIZE = 16.0, 11.0, 13.0
_MARGIN = 14.0
_GAP = 18.0
_LEVEL_HEIGHT = 38.0
_PILL_HEIGHT = 20.0
_REACH = _PILL_HEIGHT / 2
_CORNER = 7.0
_DEEPEST_ARC = 90.0
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Picture:
    """The positions of all parts, in pixels."""

    tree: Tree
    placement: Placement
    label_widths: list[float]
    word_widths: list[float]
    adaptive: bool

    @property
    def tag_height(self) -> float:
        """Height of the middle of the tags."""
        return _MARGIN + _REACH + self.placement.levels[-1] * _LEVEL_HEIGHT

    @property
    def word_height(self) -> float:
        """Height of the middle of the words."""
        return self.tag_height + 20

    def node(self, index: int) -> tuple[float, float]:
        """The middle of a node's label."""
        height = self.tag_height - self.placement.levels[index] * _LEVEL_HEIGHT
        return _MARGIN + self.placement.node_centers[index], height

    def leaf(self, index: int) -> tuple[float, float]:
        """The middle of a leaf's word."""
        return _MARGIN + self.placement.leaf_centers[index], self.word_height


def to_svg(
    tree: Tree,
    *,
    node_colors: Sequence[str | None] | None = None,
    leaf_colors: Sequence[str | None] | None = None,
    node_titles: Sequence[str | None] | None = None,
    leaf_titles: Sequence[str | None] | None = None,
    links: Sequence[Link] = (),
    adaptive: bool = False,
) -> str:
    """The tree as one standalone SVG document.

    Colours (any CSS colour) are behind labels and words, titles are tooltips; both are given for nodes in
    post-order and for leaves, ``None`` for none. A link ``(("node", 3), ("leaf", 0), 0.8)`` is a curve
    between two parts; its opacity is its weight, from 0 to 1.

    An ``adaptive`` picture is dark where the reader prefers dark pages, and can be part of a page with other
    pictures, as in a notebook.
    """
    node_colors = _checked_list("node_colors", node_colors, len(tree))
    node_titles = _checked_list("node_titles", node_titles, len(tree))
    leaf_colors = _checked_list("leaf_colors", leaf_colors, len(tree.words))
    leaf_titles = _checked_list("leaf_titles", leaf_titles, len(tree.words))
    label_widths = [_text_width(label, _LABEL_SIZE) for label in tree.labels]
    word_widths = [_text_width(word, _WORD_SIZE) for word in tree.words]
    tag_widths = [_text_width(tag, _TAG_SIZE) for tag in tree.tags]
    placement = place(tree, list(map(max, word_widths, tag_widths)), label_widths, _GAP)
    picture = _Picture(tree, placement, label_widths, word_widths, adaptive)
    curves = [_link(picture, index, link) for index, link in enumerate(links)]
    below = max([depth for _, depth in curves], default=0.0)
    width = placement.width + 2 * _MARGIN
    height = picture.word_height + _REACH + _MARGIN + below
    page, paper = (' class="treeformer"', ' class="paper"') if adaptive else ("", "")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"{page}'
        f' viewBox="0 0 {width:.1f} {height:.1f}" role="img" aria-label="{_safe(" ".join(tree.words))}">',
        f"<style>{_adaptive_style() if adaptive else _STYLE}</style>",
        f'<rect{paper} width="100%" height="100%" fill="#ffffff"/>',
        *_edges(picture),
        *(curve for curve, _ in curves),
        *_nodes(picture, node_colors, node_titles),
        *_leaves(picture, leaf_colors, leaf_titles),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _adaptive_style() -> str:
    """Rules for our pictures alone, in light and dark colours."""
    light, dark = (_RULE.sub("svg.treeformer ", rules) for rules in (_STYLE, _DARK))
    return f"{light}@media (prefers-color-scheme: dark) {{{dark}}}\n"


def _edges(picture: _Picture) -> Iterator[str]:
    """A line from every node to each of its children: down, across, down."""
    tree = picture.tree
    children = [
        (parent, span, picture.node(node)[0], picture.node(node)[1] - _REACH)
        for node, (parent, span) in enumerate(zip(tree.parents, tree.spans, strict=True))
        if parent >= 0
    ]
    children += [
        (parent, (leaf, leaf + 1), picture.leaf(leaf)[0], picture.tag_height - 8)
        for leaf, parent in enumerate(tree.leaf_parents)
    ]
    for parent, (start, end), x, bottom in children:
        is_outer = tree.spans[parent][0] == start or tree.spans[parent][1] == end
        yield _edge(picture.node(parent), x, bottom, _CORNER if is_outer else 0.0)


def _edge(parent: tuple[float, float], x: float, bottom: float, corner: float) -> str:
    """The line from a parent down to ``(x, bottom)``, with its second corner rounded."""
    left, middle = parent
    joint = middle + _REACH + 7
    corner = min(corner, abs(x - left))
    turn = corner if x > left else -corner
    return (
        f'<path class="edge" d="M{left:.1f} {middle + _REACH - 1:.1f}V{joint:.1f}H{x - turn:.1f}'
        f'Q{x:.1f} {joint:.1f} {x:.1f} {joint + corner:.1f}V{bottom:.1f}"/>'
    )


def _nodes(picture: _Picture, colors: Sequence[str | None], titles: Sequence[str | None]) -> Iterator[str]:
    """The labels of the nodes."""
    for node, label in enumerate(picture.tree.labels):
        x, y = picture.node(node)
        text = f'<text class="label" x="{x:.1f}" y="{y + 4.6:.1f}">{_safe(label)}</text>'
        background = _background(picture, x, y, picture.label_widths[node], colors[node])
        yield _part(background + text, titles[node])


def _leaves(picture: _Picture, colors: Sequence[str | None], titles: Sequence[str | None]) -> Iterator[str]:
    """The tags and words of the leaves."""
    for leaf, (word, tag) in enumerate(zip(picture.tree.words, picture.tree.tags, strict=True)):
        x, y = picture.leaf(leaf)
        text = (
            f'<text class="tag" x="{x:.1f}" y="{picture.tag_height + 4:.1f}">{_safe(tag)}</text>'
            f'<text class="word" x="{x:.1f}" y="{y + 5.5:.1f}">{_safe(word)}</text>'
        )
        background = _background(picture, x, y, picture.word_widths[leaf], colors[leaf])
        yield _part(background + text, titles[leaf])


def _part(content: str, title: str | None) -> str:
    """A group with a tooltip."""
    return f"<g>{content}</g>" if title is None else f"<g><title>{_safe(title)}</title>{content}</g>"


def _background(picture: _Picture, x: float, y: float, width: float, color: str | None) -> str:
    """A coloured background of a text; nothing without a colour.

    In an adaptive picture it lies on white, as the colour may be transparent.
    """
    if color is None:
        return ""
    white = _pill(x, y, width, 'class="pill" fill="#ffffff"') if picture.adaptive else ""
    return white + _pill(x, y, width, f'fill="{_safe(color)}"')


def _pill(x: float, y: float, width: float, attributes: str) -> str:
    """A rectangle with round corners around a text of this width at ``(x, y)``."""
    return (
        f'<rect x="{x - width / 2 - 5:.1f}" y="{y - _REACH:.1f}" width="{width + 10:.1f}"'
        f' height="{_PILL_HEIGHT:.0f}" rx="6" {attributes}/>'
    )


def _link(picture: _Picture, index: int, link: Link) -> tuple[str, float]:
    """The curve of a link, and how far it reaches below the words.

    Two leaves are joined by an arc below the words, two nodes of one level by an arc above them, other parts
    by a curve from the bottom of the higher to the top of the lower. A link to itself is a ring.
    """
    source, target, weight = link
    if not (isfinite(weight) and 0 <= weight <= 1):
        raise ValueError(f"links[{index}]: expected a weight from 0 to 1, got {weight!r}")
    (x, y, width), (to_x, to_y, _) = (_end(picture, index, end) for end in (source, target))
    look = f'class="link" stroke-opacity="{weight:.3f}"'
    if source == target:
        return _pill(x, y, width, look), 0.0
    if source[0] == target[0] == "leaf":
        depth = min(_DEEPEST_ARC, 18 + abs(to_x - x) / 6)
        return _curve((x, y + _REACH), (to_x, to_y + _REACH), depth, depth, look), 0.75 * depth
    if y == to_y:
        return _curve((x, y - _REACH), (to_x, to_y - _REACH), -_LEVEL_HEIGHT, -_LEVEL_HEIGHT, look), 0.0
    if y > to_y:
        (x, y), (to_x, to_y), (source, target) = (to_x, to_y), (x, y), (target, source)
    top = y + _REACH
    bottom = to_y - _REACH if target[0] == "node" else picture.tag_height - 8
    return _curve((x, top), (to_x, bottom), (bottom - top) / 2, (top - bottom) / 2, look), 0.0


def _curve(
    start: tuple[float, float], end: tuple[float, float], leaving: float, arriving: float, attributes: str
) -> str:
    """A curve vertical at both ends, pulled down by ``leaving`` and ``arriving`` pixels there."""
    (x, y), (to_x, to_y) = start, end
    return (
        f'<path d="M{x:.1f} {y:.1f}C{x:.1f} {y + leaving:.1f} {to_x:.1f} {to_y + arriving:.1f}'
        f' {to_x:.1f} {to_y:.1f}" {attributes}/>'
    )


def _end(picture: _Picture, index: int, end: End) -> tuple[float, float, float]:
    """The middle and the width of one end of a link."""
    kind, number = end
    sizes = {"node": len(picture.tree), "leaf": len(picture.tree.words)}
    if kind not in sizes or not 0 <= number < sizes[kind]:
        raise ValueError(
            f"links[{index}]: expected ('node', i) with i below {sizes['node']} or ('leaf', j) with j below"
            f" {sizes['leaf']}, got {quoted(end)}"
        )
    if kind == "node":
        return *picture.node(number), picture.label_widths[number]
    return *picture.leaf(number), picture.word_widths[number]


def _checked_list(name: str, values: Sequence[str | None] | None, size: int) -> Sequence[str | None]:
    """``values``, by default all ``None``; ``ValueError`` unless there are ``size``."""
    if values is None:
        return [None] * size
    if len(values) != size:
        raise ValueError(f"{name}: expected {size} values, got {len(values)}")
    return values


def _text_width(text: str, size: float) -> float:
    """The approximate width of ``text`` in pixels, rather too large than too small."""
    return size * sum(map(_advance, text))


def _advance(character: str) -> float:
    """The approximate width of a character, relative to the font size."""
    columns = character_width(character)
    if columns != 1:
        return 0.5 * columns + 0.05
    if character in "iljtfrI.,:;'`|!()[]/-":
        return 0.37
    if character in "mwMW@%" or ord(character) > 0x24F:
        return 0.95
    return 0.74 if character.isupper() or character in "&$+=<>#~" else 0.59


def _safe(text: str) -> str:
    """``text`` escaped for XML, without characters that XML does not allow."""
    return escape(_NOT_XML.sub("\ufffd", text))
