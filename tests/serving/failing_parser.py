"""A parser that fails on sentences with the word "bad"; ``treeformer --import`` registers it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.serving.process import ServiceProcess, serving
from treeformer.parsing import Parser, register_parser
from treeformer.trees import Tree, right_branching


class FailingParser(Parser):
    """Right-branching trees, and an error for sentences with the word "bad"."""

    language, name = "en", "failing 1"

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        sentences = list(sentences)
        if any("bad" in words for words in sentences):
            raise ValueError("it says bad")
        return [right_branching(words) for words in sentences]


register_parser("failing", FailingParser)


@contextmanager
def serving_with_failing_parser(runs: Path, folder: Path) -> Iterator[ServiceProcess]:
    """A service whose models use this parser; ``folder`` receives copies of their runs."""
    for kind in ("sentiment", "translation"):
        run = folder / kind
        shutil.copytree(runs / f"{kind}-tree-transformer", run)
        settings = json.loads((run / "processor.json").read_text())
        settings |= {"parser": "failing", "tokenized": False}
        (run / "processor.json").write_text(json.dumps(settings))
        (run / "checksums.json").unlink()  # the model is changed on purpose
    models = ("--model", str(folder / "sentiment"), "--translation", str(folder / "translation"))
    with serving(*models, "--processes", "1", imports=["tests.serving.failing_parser"]) as service:
        yield service
