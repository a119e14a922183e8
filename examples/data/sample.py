"""Draw the sample beside this file from the agreement set that was derived from AMALGUM.

    python examples/data/sample.py FOLDER

FOLDER holds ``amalgum.{train,dev,test}.jsonl.xz``, lines with ``genre, tokens, verb, label, n_attractors``.
README.md says what is drawn and why.
"""

from __future__ import annotations

import json
import lzma
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

GENRES = ("academic", "bio", "interview", "news", "voyage")  # texts under CC BY or CC BY-SA
WORDS = range(2, 25)  # before the verb
MOST = 2  # so many attractors and more are one group
SIZES = {
    "test": (150, 150, 100),
    "dev": (100, 100, 50),
    "train": (4000, 800, 120),
}  # by attractors, of a label

Row = dict[str, Any]


def candidates(folder: Path) -> list[list[Row]]:
    """Lists of examples: those of one sentence are one list. In random order, always the same one."""
    by_sentence: dict[tuple[str, ...], list[Row]] = {}
    for split in ("train", "dev", "test"):
        with lzma.open(folder / f"amalgum.{split}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row["genre"] in GENRES and row["verb"] in WORDS:
                    by_sentence.setdefault(tuple(row["tokens"]), []).append(row)
    sentences = list(by_sentence.values())
    random.Random(1).shuffle(sentences)
    return sentences


def sampled(sentences: list[list[Row]]) -> dict[str, list[Row]]:
    """The examples of each split: one of a sentence, and each text before a verb once."""
    missing = {
        split: Counter({(a, label): sizes[a] for a in range(MOST + 1) for label in ("VBZ", "VBP")})
        for split, sizes in SIZES.items()
    }
    chosen: dict[str, list[Row]] = {split: [] for split in SIZES}
    seen = set()
    for rows in sentences:
        row = max(rows, key=lambda row: row["n_attractors"])
        group = (min(row["n_attractors"], MOST), row["label"])
        before = tuple(row["tokens"][: row["verb"]])
        split = next((split for split in SIZES if missing[split][group]), None)
        if split is not None and before not in seen:
            seen.add(before)
            missing[split][group] -= 1
            chosen[split].append(row)
    for split, counts in missing.items():
        if counts.total():
            raise SystemExit(f"{split}: too few sentences, missing {dict(+counts)}")
    return chosen


def line(row: Row) -> str:
    """An example without what comes after the verb."""
    kept = {**row, "tokens": row["tokens"][: row["verb"] + 1]}
    return json.dumps({name: kept[name] for name in ("genre", "tokens", "verb", "label", "n_attractors")})


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: python examples/data/sample.py FOLDER")
    for split, rows in sampled(candidates(Path(sys.argv[1]))).items():
        random.Random(2).shuffle(rows)
        path = Path(__file__).with_name(f"agreement.{split}.jsonl.xz")
        with lzma.open(path, "wt", encoding="utf-8", newline="\n", preset=9 | lzma.PRESET_EXTREME) as stream:
            stream.writelines(f"{line(row)}\n" for row in rows)
        print(f"{path}: {len(rows):,} examples, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
