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
from treeformer.cli.answer_options import in_chunks, inputs_of, report_advice, report_failures
from treeformer.cli.terminal import hint_about_input, terminal_width
from treeformer.progress import LogLines, Progress, Stages, terminal_progress

if TYPE_CHECKING:
    from treeformer.cli.answer_options import Input
    from treeformer.data.reading import Reading
    from treeformer.inference.answers import Classification
    from treeformer.inference.classifier import Classifier
    from treeformer.inference.onnx_classifier import OnnxClassifier

    AnyClassifier = Classifier | OnnxClassifier
    Answers = Callable[[list[Reading]], list[Classification]]

_CHUNK = 2048  # texts that are sorted by length together
_UNTAUGHT = (
    "The model was taught labels of whole texts: those of words and phrases mean nothing, see --explain."
)


def command(
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Texts to classify; default: lines of standard input."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="The folder of a run; default: the sentiment model of the package.")
    ] = None,
    trees: option.Trees = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    labels_only: Annotated[bool, typer.Option("--labels-only", help="Leave out trees and phrases.")] = False,
    table: Annotated[
        Path | None,
        typer.Option("--csv", help="Table of texts, by its ending CSV, JSON lines or Parquet; prints CSV."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option("--text", help="Column of texts with --csv; default: found by names and values."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File for the table with --csv; default: standard output.")
    ] = None,
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
    language: Annotated[
        str | None,
        typer.Option(help="Language of the texts: en, de or fr; default: that of the model's training."),
    ] = None,
    device: option.Device = None,
    bf16: option.Bf16 = False,
) -> None:
    """Classify texts: each with its label, and the label of every phrase as a coloured tree.

    treeformer classify --model runs/sst5 "a gorgeous, witty, seductive movie."

    treeformer classify --csv reviews.csv --output labelled.csv

    With --csv the table gets the columns predicted and probability. With --labels-only a line has the label,
    its probability and the text, separated by tabs.

    With --explain colours show what each phrase contributes: the class that it speaks for, how much it raises
    the log-odds of that class, and the answer without it. A text of 20 words takes about 5 times as long.

    With --language the parser of that language reads the texts, for a model over a multilingual encoder.

    With --json an empty line of standard input gives an object whose label is null.
    """
    from treeformer.cli.classify_table import classify_table, table_of
    from treeformer.data.reading import answer_each
    from treeformer.inference.onnx_classifier import quick_classifier
    from treeformer.inference.pictures import legend
    from treeformer.trees.files import numbered_lines

    load = partial(quick_classifier, language=language, device=device, bf16=bf16)
    if table is not None:
        _check_alone(texts, as_json, svg, explain)
        rows = table_of(table, column)  # before imports that take seconds
        classify_table(load(model), rows, output, _progress(output))
        return
    if column is not None or output is not None:
        raise ValueError("--text, --output: expected with --csv FILE")
    if not texts:
        hint_about_input("trees in brackets" if trees else "texts, one in a line")
    if texts and not all(text.strip() for text in texts):
        raise ValueError("TEXT: expected words, got an empty text")
    source = enumerate(texts, start=1) if texts else numbered_lines(sys.stdin)
    inputs = inputs_of(source, trees=trees, name="TEXT" if texts else "<stdin>")
    if model is None:
        report_advice()
    classifier, answers = _answering(model, explain, not (as_json or labels_only), language, device, bf16)
    explains = answers != classifier.classify
    if svg is not None:
        _draw(classifier, answers, list(inputs), svg)
        return
    show = partial(_shown, classifier, as_json=as_json, labels_only=labels_only)
    progress, stages, done = _progress(None), Stages(), 0
    for chunk in in_chunks(inputs, 1 if explains else _CHUNK):
        with stages.timed("parsed"):
            readings = classifier.processor.read(chunk)
        with stages.timed("classified"):
            answered = answer_each(readings, answers)
        with stages.timed("written"):
            for item, answer in zip(chunk, answered, strict=True):
                if answer is not None:
                    report_failures(answer.failures)
                print(show(str(item), answer))
            sys.stdout.flush()
        done += len(chunk)
        progress.update(done, len(texts) if texts else None)
    if not (as_json or labels_only):
        binary = classifier.processor.settings.binary
        print(legend(classifier.classes, effects=explains, binary=binary))
    stages.report(done)


def _answering(
    model: Path | None,
    explain: bool | None,
    pictures: bool,
    language: str | None,
    device: str | None,
    bf16: bool,
) -> tuple[AnyClassifier, Answers]:
    """The classifier, and what answers its readings: effects are computed by torch.

    Without ``explain`` there are effects in ``pictures`` of a model that was never taught labels of phrases.
    """
    from treeformer.inference.onnx_classifier import quick_classifier

    quick = None if explain else quick_classifier(model, language=language, device=device, bf16=bf16)
    if quick is not None and (explain is False or quick.phrases_taught or not pictures):
        return quick, quick.classify
    from treeformer.inference.classifier import Classifier
    from treeformer.inference.effects import explained

    if not isinstance(quick, Classifier):
        quick = Classifier.from_pretrained(model, language=language, device=device, bf16=bf16)
    return quick, partial(explained, quick)


def _check_alone(texts: list[str] | None, as_json: bool, svg: Path | None, explain: bool | None) -> None:
    """Raise ``ValueError`` for what does not go with --csv."""
    others = {"TEXT": texts, "--json": as_json, "--svg": svg, "--explain": explain}
    given = [name for name, value in others.items() if value]
    if given:
        raise ValueError(f"{given[0]}: not together with --csv, which reads a file and prints CSV")


def _progress(output: Path | None) -> Progress:
    """Progress on standard error; no live bar if answers are printed on the same terminal."""
    return LogLines("texts") if output is None and sys.stdout.isatty() else terminal_progress("texts")


def _shown(
    classifier: AnyClassifier, text: str, answer: Classification | None, *, as_json: bool, labels_only: bool
) -> str:
    """The answer in the form that the options ask for."""
    if as_json:
        return _json_line(classifier, text, answer, labels_only=labels_only)
    return _line(text, answer) if labels_only else _drawing(classifier, answer)


def _line(text: str, answer: Classification | None) -> str:
    """The label, its probability and the text on one line, separated by tabs."""
    label, probability = ("", "") if answer is None else (answer.label, f"{max(answer.probabilities):.4f}")
    return "\t".join([label, probability, " ".join(text.split())])


def _json_line(
    classifier: AnyClassifier, text: str, answer: Classification | None, *, labels_only: bool
) -> str:
    """The answer as JSON; the label of a text without words is null.

    ``classes`` are the names of the probabilities. With ``labels_only`` there are no trees and phrases.
    """
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
        "model": classifier.name,
    }
    if answer is not None:
        content = as_json(answer)
    names = ["text", "label", "probabilities", "model"] if labels_only else list(content)
    named = {"text": content["text"], "label": content["label"], "classes": classifier.classes}
    line = named | {name: content[name] for name in names}
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def _drawing(classifier: AnyClassifier, answer: Classification | None) -> str:
    """The text, its label, and its tree, coloured on a terminal."""
    if answer is None:
        return ""
    from treeformer.inference.effect_pictures import explained_text
    from treeformer.inference.pictures import classified_text

    draw = explained_text if answer.effects else classified_text
    tree = draw(answer, classifier.classes, _paint(), width=terminal_width())
    untaught = answer.phrases and not (answer.phrases_taught or answer.effects)
    note = f"{_UNTAUGHT}\n" if untaught else ""
    label = f"{answer.label} ({max(answer.probabilities):.0%}, model {answer.model})"
    return f"{answer.text}\n{label}\n{tree}\n{note}"


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


def _draw(classifier: AnyClassifier, answers: Answers, inputs: list[Input], svg: Path) -> None:
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
