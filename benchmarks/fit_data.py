"""Write the tables of results/fit.md: 300 rows of each of three corpora, and 500 rows of their test sets.

    python -m benchmarks.fit_data DATA FOLDER

DATA contains sst/{train,test}.txt.xz, imdb/{train,test}.jsonl.xz and sva/amalgum.{train,test}.jsonl.xz.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

Rows = list[tuple[str, str]]
_ROWS, _TEST, _SEED = 300, 500, 2
_NEUTRAL = "2"


def sst(data: Path, split: str) -> Rows:
    """Sentences with a positive or negative root."""
    lines = [line for line in _lines(data / f"sst/{split}.txt.xz") if line[1] != _NEUTRAL]
    return [
        (" ".join(re.findall(r"\(\d ([^()\s]+)\)", line)), "positive" if line[1] > _NEUTRAL else "negative")
        for line in lines
    ]


def imdb(data: Path, split: str) -> Rows:
    """Film reviews."""
    objects = map(json.loads, _lines(data / f"imdb/{split}.jsonl.xz"))
    return [(one["text"].replace("<br />", "\n"), ("negative", "positive")[one["label"]]) for one in objects]


def amalgum(data: Path, split: str) -> Rows:
    """Sentences of the web with their genres."""
    objects = map(json.loads, _lines(data / f"sva/amalgum.{split}.jsonl.xz"))
    return [(" ".join(one["tokens"]), one["genre"]) for one in objects]


CORPORA: dict[str, Callable[[Path, str], Rows]] = {"sst": sst, "imdb": imdb, "amalgum": amalgum}


def main() -> None:
    """Write a table for training and one for the test of each corpus."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, read in CORPORA.items():
        generator = random.Random(_SEED)
        for split, ending, count in (("train", "", _ROWS), ("test", "-test", _TEST)):
            rows = list(dict.fromkeys(read(options.data, split)))
            generator.shuffle(rows)
            path = options.folder / f"{name}{ending}.csv"
            with open(path, "w", encoding="utf-8", newline="") as stream:
                csv.writer(stream).writerows([("text", "label"), *rows[:count]])


def _lines(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        yield from stream


if __name__ == "__main__":
    main()
