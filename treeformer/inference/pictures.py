"""Classified trees in colours: as text for a terminal, as SVG for a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treeformer.data.tasks.sst import SENTIMENTS
from treeformer.inference.answers import Classification, Phrase
from treeformer.trees import to_svg, to_text
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


def classified_text(answer: Classification, classes: tuple[str, ...], paint: Paint) -> str:
    """The tree as text, with the mark of its class after each label.

    Args:
        answer: result of a `Classifier`.
        classes: its class names.
        paint: puts a background colour behind a text.
    """
    marks = dict(zip(classes, marks_of(classes), strict=True))
    phrases = _by_span(answer)
    tree = answer.tree
    marked = [
        f"{label} {marks[phrases[span].label][0]}" if span in phrases else label
        for label, span in zip(tree.labels, tree.spans, strict=True)
    ]
    drawn = trusted_tree(tree.words, tree.tags, tuple(marked), tree.spans)

    def painted(span: tuple[int, int], text: str) -> str:
        return paint(text, marks[phrases[span].label][1]) if span in phrases else text

    return to_text(
        drawn,
        paint_node=lambda node, label: painted(tree.spans[node], label),
        paint_word=lambda word, text: painted((word, word + 1), text),
    )


def classified_svg(answer: Classification, classes: tuple[str, ...]) -> str:
    """The tree as SVG, words and labels in the colours of their classes, probabilities in their titles."""
    marks = dict(zip(classes, marks_of(classes), strict=True))
    phrases = _by_span(answer)
    colours = {span: marks[phrase.label][1] for span, phrase in phrases.items()}
    titles = {
        span: f"{phrase.text}: {phrase.label}, {max(phrase.probabilities):.0%}"
        for span, phrase in phrases.items()
    }
    nodes = answer.tree.spans
    words = [(word, word + 1) for word in range(len(answer.tree.words))]
    return to_svg(
        answer.tree,
        node_colors=[colours.get(span) for span in nodes],
        leaf_colors=[colours.get(span) for span in words],
        node_titles=[titles.get(span) for span in nodes],
        leaf_titles=[titles.get(span) for span in words],
    )


def _by_span(answer: Classification) -> dict[tuple[int, int], Phrase]:
    """The phrases by their span; the whole text alone for a model that reads words alone."""
    whole = (0, len(answer.tree.words))
    root = Phrase(whole, answer.label, answer.text, answer.probabilities)
    return {phrase.span: phrase for phrase in answer.phrases} | {whole: root}
