"""Trace the functions of the package on the way from a text to its answer: ``python -m tests.walk``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import treeformer
from treeformer import Classifier

PACKAGE = Path(treeformer.__file__).parent
MATHEMATICS = ("ops", "nn")  #: rooms whose functions are formulas of the method


def functions_passed(work: Callable[[], object]) -> list[tuple[str, str]]:
    """File and name of each function of the package that ``work`` calls, in the order of first calls."""
    passed: dict[tuple[str, str], None] = {}

    def record(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and not code.co_name.startswith("<"):
            path = Path(code.co_filename)
            if path.is_relative_to(PACKAGE):
                passed[path.relative_to(PACKAGE).as_posix(), code.co_qualname] = None

    sys.setprofile(record)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(passed)


def classification() -> list[tuple[str, str]]:
    """The walk of one sentence through a classifier that is loaded and has answered before."""
    classifier = Classifier.from_pretrained(device="cpu")
    classifier(["A first sentence."])
    return functions_passed(lambda: classifier(["The plot is dull, but the actors save it."]))


def outside_mathematics(passed: list[tuple[str, str]]) -> int:
    """The number of functions in rooms other than `MATHEMATICS`."""
    return sum(not file.startswith(MATHEMATICS) for file, _ in passed)


if __name__ == "__main__":
    walk = classification()
    for file, name in walk:
        print(f"{file:32} {name}")
    rooms = Counter(file.partition("/")[0] for file, _ in walk)
    print(", ".join(f"{room} {count}" for room, count in rooms.most_common()))
    print(f"{len(walk)} functions, {outside_mathematics(walk)} of them outside {' and '.join(MATHEMATICS)}")
