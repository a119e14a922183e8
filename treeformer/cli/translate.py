"""``treeformer translate``: text or trees to text."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from treeformer.cli import answer_options as option
from treeformer.cli.answer_options import in_chunks, inputs_of, report_failures
from treeformer.cli.terminal import hint_about_input

_CHUNK = 2048  # lines that are sorted by length together


def command(
    model: Annotated[Path, typer.Option(help="The folder of a run.")],
    file: Annotated[Path | None, typer.Argument(help="Lines to translate; default: standard input.")] = None,
    trees: option.Trees = False,
    tokenized: Annotated[
        bool, typer.Option("--tokenized", help="Print tokens with spaces between them, not running text.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object per line, with scores and the n-best list.")
    ] = False,
    n_best: Annotated[int, typer.Option(min=1, help="Translations of each line; needs --json.")] = 1,
    beams: option.Beams = None,
    length_penalty: option.LengthPenalty = None,
    batch: option.Batch = 64,
    device: option.Device = None,
    bf16: option.Bf16 = False,
) -> None:
    """Translate lines: each line of output belongs to a line of input, an empty one to an empty one.

    treeformer translate --model runs/ende < in.en > out.de
    """
    from treeformer.inference.translator import Translator
    from treeformer.progress import Stages
    from treeformer.trees.files import numbered_lines

    if n_best > 1 and not as_json:
        raise ValueError("--n-best: expected with --json, a line of text has room for one translation")
    translator = Translator.from_pretrained(model, device=device, bf16=bf16, batch=batch)
    if file is None:
        hint_about_input("lines of text")
    lines = numbered_lines(file or sys.stdin)
    inputs = inputs_of(lines, trees=trees, name=str(file or "<stdin>"))
    options = {"beams": beams, "length_penalty": length_penalty}
    stages, done = Stages(), 0
    for chunk in in_chunks(inputs, _CHUNK):
        with stages.timed("parsed"):
            readings = translator.processor.read(chunk)
        with stages.timed("translated"):
            n_best_lists = translator.n_best_of(readings, n_best, **options)
        for item, translations in zip(chunk, n_best_lists, strict=True):
            report_failures(translations[0].failures)
            texts = [" ".join(one.tokens) if tokenized else one.text for one in translations]
            if as_json:
                pairs = zip(texts, translations, strict=True)
                scored = [{"text": text, "score": one.score} for text, one in pairs]
                failures = [asdict(failure) for failure in translations[0].failures]
                line = {"source": str(item), "translations": scored, "failures": failures}
                print(json.dumps(line, ensure_ascii=False, allow_nan=False))
            else:
                print(texts[0])
        sys.stdout.flush()
        done += len(chunk)
    stages.report(done, "lines")
