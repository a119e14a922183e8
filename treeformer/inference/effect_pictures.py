"""Effects of phrases as pictures: as text for a terminal, as SVG for a page."""

from __future__ import annotations

from operator import mul

from treeformer.inference.answers import Classification, Effect
from treeformer.inference.pictures import Paint, coloured_svg, marked_text, marks_of
from treeformer.trees.shape import Span

_SHOWN = 0.2  # share of the strongest effect, from which effects are shown in a terminal
_OWED = 0.8  # share of the effect of a phrase that a part of it has
_FAINT = 0.1  # log-odds that are never drawn in full colour
_LISTED = 6
_LONGEST = 40  # characters of a phrase in the list


def strongest(answer: Classification, most: int = _LISTED) -> list[Effect]:
    """The strongest effects of phrases that do not overlap, in the order of the text.

    A phrase that owes its effect to a part of it, and a phrase of more than half of the words, is left out.
    """
    longest = max(1, len(answer.tree.words) // 2)
    short = [one for one in answer.effects if one.span[1] - one.span[0] <= longest and one.towards]
    chosen: list[Effect] = []
    for effect in sorted(short, key=lambda one: -one.strength):
        owed = any(_inside(part, effect) and part.strength >= _OWED * effect.strength for part in short)
        if not owed and not any(_overlap(effect, other) for other in chosen):
            chosen.append(effect)
    chosen = [effect for effect in chosen if effect.strength >= _SHOWN * chosen[0].strength]
    return sorted(chosen[:most], key=lambda effect: effect.span)


def _overlap(one: Effect, other: Effect) -> bool:
    """Whether two phrases share a word."""
    return one.span[0] < other.span[1] and other.span[0] < one.span[1]


def _inside(part: Effect, phrase: Effect) -> bool:
    """Whether one phrase is a part of another and speaks for much the same classes."""
    (start, end), (first, last) = part.span, phrase.span
    within = first <= start and end <= last and part.span != phrase.span
    return within and sum(map(mul, part.log_odds, phrase.log_odds)) > 0


def explained_text(
    answer: Classification, classes: tuple[str, ...], paint: Paint, *, width: int | None = None
) -> str:
    """The tree as text in the colours of the classes that phrases speak for, and the strongest effects.

    Effects below a fifth of the strongest are not marked. See `classified_text` for the arguments.
    """
    marks = dict(zip(classes, marks_of(classes), strict=True))
    shown = {
        span: (marks[towards][0], _paler(marks[towards][1], share))
        for span, (towards, share) in _shares(answer).items()
        if share >= _SHOWN
    }
    return "\n".join([marked_text(answer.tree, shown, paint, width=width), *_list(answer, classes)])


def _list(answer: Classification, classes: tuple[str, ...]) -> list[str]:
    """A line for each of the strongest effects."""
    effects = strongest(answer)
    texts = [one.text if len(one.text) <= _LONGEST else one.text[: _LONGEST - 1] + "…" for one in effects]
    width, names = max(map(len, texts), default=0), max(map(len, classes))
    lines = [
        f"  {text:{width}}  {effect.towards:{names}} {effect.strength:+.1f}  {_without(effect, classes)}"
        for text, effect in zip(texts, effects, strict=True)
    ]
    return ["strongest effects, in log-odds:", *lines] if lines else []


def explained_svg(answer: Classification, classes: tuple[str, ...], *, adaptive: bool = False) -> str:
    """The tree as SVG, words and labels in the colours of the classes that they speak for.

    The stronger an effect, the stronger its colour; numbers are in the titles. ``adaptive`` as in
    `treeformer.trees.to_svg`.
    """
    marks = dict(zip(classes, marks_of(classes), strict=True))
    colours = {span: _paler(marks[towards][1], share) for span, (towards, share) in _shares(answer).items()}
    titles = {
        effect.span: f"{effect.text}: "
        + ("no effect" if effect.towards is None else f"for {effect.towards}, {effect.strength:+.1f}")
        + f"; {_without(effect, classes)}"
        for effect in answer.effects
    }
    return coloured_svg(answer.tree, colours, titles, adaptive=adaptive)


def _shares(answer: Classification) -> dict[Span, tuple[str, float]]:
    """The class that each word and phrase speaks for, and its strength as a share of the largest.

    The whole text, which is last, is left out unless it is one word: the answer is printed above, and its
    effect, against a text without words, can be for another class.
    """
    parts = answer.effects[:-1] or answer.effects
    most = max([_FAINT, *(effect.strength for effect in parts)])
    return {
        effect.span: (effect.towards, min(1.0, effect.strength / most))
        for effect in parts
        if effect.towards is not None
    }


def _without(effect: Effect, classes: tuple[str, ...]) -> str:
    """The answer without a phrase, in words."""
    best = max(effect.without)
    return f"without it: {classes[effect.without.index(best)]} ({best:.0%})"


def _paler(colour: str, share: float) -> str:
    """A colour mixed with white: ``share`` of a colour like ``#e8776a``."""
    parts = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - part)):02x}" for part in parts)
