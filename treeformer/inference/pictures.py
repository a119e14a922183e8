"""Classified trees in colours: as text for a terminal, as SVG for a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

from treeformer.data.tasks.sst import SENTIMENTS
from treeformer.inference.answers import AlignedTranslation, Classification, Phrase
from treeformer.trees import Tree, to_svg, to_text
from treeformer.trees.shape import Span
from treeformer.trees.svg import End
from treeformer.trees.tree import trusted_tree

_ORDERED = {
    SENTIMENTS: (("--", "#e8776a"), ("-", "#f6c0b5"), ("0", "#e6e6e6"), ("+", "#bfe3b4"), ("++", "#79c26f")),
    ("negative", "positive"): (("-", "#f0a094"), ("+", "#9dd493")),
}
_COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#fee391", "#fa9fb5", "#c7c7c7", "#80cdc1")

Marks = Sequence[tuple[str, str]]
Paint = Callable[[str, str], str]


def marks_of(classes: tuple[str, ...]) -> Marks:
    """A short mark and a colour for each class; sentiments from red to green."""
    if classes in _ORDERED:
        return _ORDERED[classes]
    return [(name, _COLOURS[number % len(_COLOURS)]) for number, name in enumerate(classes)]


def legend(classes: tuple[str, ...], *, effects: bool = False, binary: bool = False) -> str:
    """What the marks in `classified_text`, or in a drawing of effects, mean; and @, of ``binary`` trees."""
    pairs = zip(classes, marks_of(classes), strict=True)
    marks = ", ".join(f"{mark} {name}" for name, (mark, _) in pairs if mark != name)
    what = "the class that it speaks for" if effects else "its class"
    meaning = f"After the label of a phrase, such as NP, stands {what}{': ' if marks else ''}{marks}."
    if not binary:
        return meaning
    return f"{meaning}\nThe model reads phrases of two parts: a longer NP is cut, and its pieces are @NP."


def classified_text(
    answer: Classification, classes: tuple[str, ...], paint: Paint, *, width: int | None = None
) -> str:
    """The tree as text, with the mark of its class after each label.

    Args:
        answer: result of a `Classifier`.
        classes: its class names.
        paint: puts a background colour behind a text.
        width: columns of the terminal; a wider tree becomes an outline.
    """
    marks = dict(zip(classes, marks_of(classes), strict=True))
    shown = {span: marks[phrase.label] for span, phrase in _by_span(answer).items()}
    return marked_text(answer.tree, shown, paint, width=width)


def marked_text(
    tree: Tree, marks: Mapping[Span, tuple[str, str]], paint: Paint, *, width: int | None = None
) -> str:
    """The tree as text, with a mark after labels and a colour behind labels and words, by span."""
    marked = [
        f"{label} {marks[span][0]}" if span in marks else label
        for label, span in zip(tree.labels, tree.spans, strict=True)
    ]
    drawn = trusted_tree(tree.words, tree.tags, tuple(marked), tree.spans)

    def painted(span: Span, text: str) -> str:
        return paint(text, marks[span][1]) if span in marks else text

    return to_text(
        drawn,
        paint_node=lambda node, label: painted(tree.spans[node], label),
        paint_word=lambda word, text: painted((word, word + 1), text),
        width=width,
    )


def classified_svg(answer: Classification, classes: tuple[str, ...], *, adaptive: bool = False) -> str:
    """The tree as SVG, words and labels in the colours of their classes, probabilities in their titles.

    ``adaptive`` as in `treeformer.trees.to_svg`.
    """
    marks = dict(zip(classes, marks_of(classes), strict=True))
    phrases = _by_span(answer)
    colours = {span: marks[phrase.label][1] for span, phrase in phrases.items()}
    titles = {
        span: f"{phrase.text}: {phrase.label}, {max(phrase.probabilities):.0%}"
        for span, phrase in phrases.items()
    }
    if not answer.phrases_taught:
        whole = (0, len(answer.tree.words))
        titles |= {span: f"{title}; not taught" for span, title in titles.items() if span != whole}
    return coloured_svg(answer.tree, colours, titles, adaptive=adaptive)


def coloured_svg(
    tree: Tree, colours: Mapping[Span, str], titles: Mapping[Span, str], *, adaptive: bool = False
) -> str:
    """The tree as SVG, with a colour and a tooltip for the word or node of each span."""
    nodes = tree.spans
    words = [(word, word + 1) for word in range(len(tree.words))]
    return to_svg(
        tree,
        node_colors=[colours.get(span) for span in nodes],
        leaf_colors=[colours.get(span) for span in words],
        node_titles=[titles.get(span) for span in nodes],
        leaf_titles=[titles.get(span) for span in words],
        adaptive=adaptive,
    )


def classes_of(answer: Classification) -> tuple[str, ...]:
    """Names of the classes in their order, as far as an answer shows them: ``?`` and a number otherwise."""
    names = [f"?{number}" for number in range(len(answer.probabilities))]
    parts: tuple[Classification | Phrase, ...] = (answer, *answer.phrases)
    for part in parts:
        names[part.probabilities.index(max(part.probabilities))] = part.label
    for effect in answer.effects:
        if effect.towards is not None:
            names[effect.log_odds.index(effect.strength)] = effect.towards
    for classes in _ORDERED:
        agree = [name == own for name, own in zip(names, classes, strict=False) if not name.startswith("?")]
        if len(classes) == len(names) and all(agree):
            return classes
    return tuple(names)


def attention_svg(
    tree: Tree, part: int, shares: Sequence[float], *, title: str | None = None, adaptive: bool = False
) -> str:
    """The tree as SVG, coloured by what one part attends to.

    Args:
        tree: the tree over whole words.
        part: the part that attends: a word, or a node counted after the words. It has a ring.
        shares: for each word, then each node, its share of the attention.
        title: the tooltip of the part, by default its share.
        adaptive: as in `treeformer.trees.to_svg`.
    """
    words = len(tree.words)
    colours = [f"rgba(209, 72, 12, {0.8 * share / max(shares):.2f})" for share in shares]
    titles = [f"{share:.1%} of the attention" for share in shares]
    titles[part] = titles[part] if title is None else title
    end: End = ("leaf", part) if part < words else ("node", part - words)
    return to_svg(
        tree,
        leaf_colors=colours[:words],
        leaf_titles=titles[:words],
        node_colors=colours[words:],
        node_titles=titles[words:],
        links=[(end, end, 1.0)],
        adaptive=adaptive,
    )


def alignment_html(answer: AlignedTranslation) -> str:
    """A table with a row for each word of a translation: its share on each word and phrase of the source."""
    tree = answer.tree
    phrases = [
        f"{label}: {' '.join(tree.words[slice(*span)])}"
        for label, span in zip(tree.labels, tree.spans, strict=True)
    ]
    parts = [*tree.words, *phrases]
    largest = max((max(word.weights) for word in answer.words), default=1.0)
    rows = ["<tr><th></th>" + "".join(f"<th>{escape(part)}</th>" for part in parts) + "</tr>"]
    for word in answer.words:
        cells = [
            f'<td style="background: rgba(209, 72, 12, {0.8 * weight / largest:.2f})">{weight:.2f}</td>'
            for weight in word.weights
        ]
        rows.append(f"<tr><th>{escape(word.word)}</th>{''.join(cells)}</tr>")
    return f"<p>{escape(answer.text)}</p><table>{''.join(rows)}</table>"


def _by_span(answer: Classification) -> dict[Span, Phrase]:
    """The phrases by their span; the whole text alone for a model that reads words alone."""
    whole = (0, len(answer.tree.words))
    root = Phrase(whole, answer.label, answer.text, answer.probabilities)
    return {phrase.span: phrase for phrase in answer.phrases} | {whole: root}
