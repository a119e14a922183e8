"""``treeformer classify``: text or trees to labels, phrase by phrase."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treeformer.cli import answer_options as option
from treeformer.cli.answer_options import in_chunks, inputs_of, report_failures

if TYPE_CHECKING:
    from treeformer.cli.answer_options import Input
    from treeformer.data.reading import Reading
    from treeformer.inference.answers import Classification
    from treeformer.inference.classifier import Classifier

    Answers = Callable[[list[Reading]], list[Classification]]

_CHUNK = 512
_UNTAUGHT = (
    "The model was taught labels of whole texts: those of words and phrases mean nothing, see --explain."
)


def command(
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Texts to classify; default: lines of standard input."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="The folder of a run; default: the sentiment model of the package.")
    ] = None,
    trees: option.Trees = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    svg: Annotated[
        Path | None, typer.Option(help="Write the picture of the tree to this file, - for standard output.")
    ] = None,
    explain: Annotated[
        bool | None,
        typer.Option(
            help="Show the effect of every phrase instead of its label; default: in pictures of models that "
            "were never taught labels of phrases."
        ),
    ] = None,
    device: option.Device = None,
    bf16: option.Bf16 = False,
) -> None:
    """Classify texts: each with its label, and the label of every phrase as a coloured tree.

    treeformer classify --model runs/sst5 "a gorgeous, witty, seductive movie."

    With --explain colours show what each phrase contributes: the class that it speaks for, how much it raises
    the log-odds of that class, and the answer without it. A text of 20 words takes about 5 times as long.

    With --json an empty line of standard input gives an object whose label is null.
    """
    from treeformer.data.reading import answer_each
    from treeformer.inference.classifier import Classifier
    from treeformer.inference.effects import explained
    from treeformer.trees.files import numbered_lines

    if texts and not all(text.strip() for text in texts):
        raise ValueError("TEXT: expected words, got an empty text")
    source = enumerate(texts, start=1) if texts else numbered_lines(sys.stdin)
    inputs = inputs_of(source, trees=trees, name="TEXT" if texts else "<stdin>")
    classifier = Classifier.from_pretrained(model, device=device, bf16=bf16)
    if explain is None:
        explain = not (as_json or classifier.phrases_taught)
    answers = partial(explained, classifier) if explain else classifier.classify
    if svg is not None:
        _draw(classifier, answers, list(inputs), svg)
        return
    for chunk in in_chunks(inputs, 1 if explain else _CHUNK):
        readings = classifier.processor.read(chunk)
        for item, answer in zip(chunk, answer_each(readings, answers), strict=True):
            if answer is not None:
                report_failures(answer.failures)
            print(_json_line(str(item), answer) if as_json else _drawing(classifier, answer))
        sys.stdout.flush()


def _json_line(text: str, answer: Classification | None) -> str:
    """The answer as JSON; the label of a text without words is null."""
    from treeformer.inference.answers import as_json

    content: dict[str, Any] = {
        "text": text,
        "label": None,
        "probabilities": [],
        "tree": None,
        "phrases": [],
        "failures": [],
        "phrases_taught": True,
        "effects": [],
    }
    return json.dumps(content if answer is None else as_json(answer), ensure_ascii=False, allow_nan=False)


def _drawing(classifier: Classifier, answer: Classification | None) -> str:
    """The text, its label, and its tree, coloured on a terminal."""
    if answer is None:
        return ""
    from treeformer.inference.effect_pictures import explained_text
    from treeformer.inference.pictures import classified_text

    draw = explained_text if answer.effects else classified_text
    tree = draw(answer, classifier.classes, _paint())
    untaught = answer.phrases and not (answer.phrases_taught or answer.effects)
    note = f"{_UNTAUGHT}\n" if untaught else ""
    return f"{answer.text}\n{answer.label} ({max(answer.probabilities):.0%})\n{tree}\n{note}"


def _paint() -> Callable[[str, str], str]:
    """A function that colours the background of a text, as far as standard output shows colours."""
    from rich.color import ColorSystem
    from rich.console import Console
    from rich.style import Style

    systems = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT}
    name = Console().color_system
    if name is None:
        return lambda text, colour: text
    system = systems.get(name, ColorSystem.TRUECOLOR)
    return lambda text, colour: Style(color="black", bgcolor=colour).render(text, color_system=system)


def _draw(classifier: Classifier, answers: Answers, inputs: list[Input], svg: Path) -> None:
    from treeformer.cli.pictures import write_picture
    from treeformer.inference.effect_pictures import explained_svg
    from treeformer.inference.pictures import classified_svg

    if len(inputs) != 1:
        raise ValueError(f"--svg draws one tree, got {len(inputs)} texts")
    [answer] = answers(classifier.processor.read_all(inputs))
    report_failures(answer.failures)
    draw = explained_svg if answer.effects else classified_svg
    picture = draw(answer, classifier.classes)
    write_picture(picture, svg)
