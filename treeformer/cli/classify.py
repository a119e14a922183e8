"""``treeformer classify``: text or trees to labels, phrase by phrase."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treeformer.cli import answer_options as option
from treeformer.cli.answer_options import Input, in_chunks, inputs_of
from treeformer.trees.files import numbered_lines

if TYPE_CHECKING:
    from treeformer.inference.classifier import Classification, Classifier

_CHUNK = 512


def command(
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Default: lines of standard input.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="The folder of a run; default: the model that comes along.")
    ] = None,
    trees: option.Trees = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object a line.")] = False,
    svg: Annotated[Path | None, typer.Option(help="Draw the one tree in this file, - for output.")] = None,
    device: option.Device = None,
    bf16: option.Bf16 = False,
) -> None:
    """Classify texts: each with its label, and the label of every phrase as a coloured tree.

    treeformer classify --model runs/sst5 "a gorgeous, witty, seductive movie."

    With --json an empty line of standard input gives an object whose label is null.
    """
    from treeformer.inference.classifier import Classifier

    if texts and not all(text.strip() for text in texts):
        raise ValueError("TEXT: expected words, got an empty text")
    source = enumerate(texts, start=1) if texts else numbered_lines(sys.stdin)
    inputs = inputs_of(source, trees=trees, name="TEXT" if texts else "<stdin>")
    classifier = Classifier.from_pretrained(model, device=device, bf16=bf16)
    if svg is not None:
        _draw(classifier, list(inputs), svg)
        return
    for chunk in in_chunks(inputs, _CHUNK):
        for item, found in zip(chunk, classifier.answers(chunk), strict=True):
            print(_object(str(item), found) if as_json else _shown(classifier, found))
        sys.stdout.flush()


def _object(text: str, found: Classification | None) -> str:
    """The answer as JSON; for a text without words there is nothing in it."""
    nothing: dict[str, object] = {
        "text": text,
        "label": None,
        "probabilities": [],
        "tree": None,
        "phrases": [],
    }
    return json.dumps(nothing if found is None else found.as_json(), ensure_ascii=False)


def _shown(classifier: Classifier, found: Classification | None) -> str:
    """The text, its label, and its tree in colours if this is a terminal."""
    if found is None:
        return ""
    from treeformer.inference.pictures import classified_text

    tree = classified_text(found, classifier.classes, _paint())
    return f"{found.text}\n{found.label} ({max(found.probabilities):.0%})\n{tree}\n"


def _paint() -> Callable[[str, str], str]:
    """What puts a colour behind a text, as far as standard output shows colours."""
    from rich.color import ColorSystem
    from rich.console import Console
    from rich.style import Style

    systems = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT}
    name = Console().color_system
    if name is None:
        return lambda text, colour: text
    system = systems.get(name, ColorSystem.TRUECOLOR)
    return lambda text, colour: Style(color="black", bgcolor=colour).render(text, color_system=system)


def _draw(classifier: Classifier, inputs: list[Input], svg: Path) -> None:
    from treeformer.inference.pictures import classified_svg

    if len(inputs) != 1:
        raise ValueError(f"--svg draws one tree, got {len(inputs)} texts")
    picture = classified_svg(classifier(inputs)[0], classifier.classes)
    if str(svg) == "-":
        print(picture)
    else:
        svg.write_text(picture, encoding="utf-8")
