"""Ask a model that was trained on English reviews about German and French ones: results/languages.md.

    python -m benchmarks.languages tables DATA FOLDER
    python -m benchmarks.languages scores FOLDER
    python -m benchmarks.languages neighbours DATA

`tables` writes 300 English rows to train on, reviews-en.csv, and 100 other rows in each language to test on.
A language model made the translations, and no translator has checked them. `scores` reads what
`treeformer classify --csv` wrote into FOLDER: reviews-de.trees.csv for the answers of the tree model,
reviews-de.mean.csv for those of its encoder without trees, and the same for fr. `neighbours` counts the
captions whose translation is the nearest of all captions, by the states of bert-multilingual.

DATA contains sst/{train,test}.txt.xz, and for `neighbours` mt/multi30k/test_2016_flickr.{en,de,fr}.xz.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import random
import re
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from pathlib import Path

import torch

from treeformer.data.tokens import detokenize
from treeformer.encoders import load_encoder
from treeformer.evaluation.accuracy import Accuracy
from treeformer.evaluation.significance import compare_accuracy
from treeformer.fitting.baselines import majority, tf_idf
from treeformer.fitting.report import MAJORITY, MODEL, TF_IDF, WITHOUT_TREES
from treeformer.fitting.rows import LabelledText

LANGUAGES = ("en", "de", "fr")
_ANSWERS = {MODEL: "trees", WITHOUT_TREES: "mean"}
_TRANSLATED = Path(__file__).with_name("reviews.tsv")
_LAYER = 8  # of 12
_ROWS, _SEED, _NEUTRAL = 300, 2, "2"
_WRITTEN = {"-LRB-": "(", "-RRB-": ")", "``": '"', "''": '"', "--": "–"}


def reviews(data: Path, split: str) -> dict[int, tuple[str, str]]:
    """Text and label of each sentence that is not neutral, by the number of its line."""
    rows = {}
    with lzma.open(data / f"sst/{split}.txt.xz", "rt", encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            words = re.findall(r"\(\d ([^()\s]+)\)", line)
            text = detokenize([_WRITTEN.get(word, word).replace("\\/", "/") for word in words], "en")
            if line[1] != _NEUTRAL:
                rows[number] = (text, "positive" if line[1] > _NEUTRAL else "negative")
    return rows


def write_tables(data: Path, folder: Path) -> None:
    """Write English rows to train on, and rows of each language to test on."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(reviews(data, "train").values())
    random.Random(_SEED).shuffle(rows)
    _write(folder / "reviews-en.csv", rows[:_ROWS])
    test = reviews(data, "test")
    with open(_TRANSLATED, encoding="utf-8", newline="") as stream:
        translated = {int(row["line"]): row for row in csv.DictReader(stream, delimiter="\t")}
    for language in LANGUAGES:
        labelled = [
            (row.get(language) or test[number][0], test[number][1]) for number, row in translated.items()
        ]
        _write(folder / f"reviews-{language}-test.csv", labelled)


def print_scores(folder: Path) -> None:
    """Print the accuracy of each system on German and French, and the tree model compared with it."""
    train = _labelled(folder / "reviews-en.csv")
    classes = sorted({row.label for row in train})
    for language in LANGUAGES[1:]:
        test = _labelled(folder / f"reviews-{language}-test.csv")
        right = {
            name: [
                row["predicted"] == row["label"] for row in _rows(folder / f"reviews-{language}.{end}.csv")
            ]
            for name, end in _ANSWERS.items()
        }
        right[TF_IDF] = [one.right for one in tf_idf(train, test, classes, seed=1)]
        right[MAJORITY] = [one.right for one in majority(train, test, classes)]
        print(language)
        for name, values in right.items():
            p = "" if name == MODEL else f"  p {compare_accuracy(right[MODEL], values).p:.3f}"
            print(f"  {name:<30} {Accuracy(sum(values), len(values))}{p}")


def print_neighbours(data: Path, count: int) -> None:
    """Print how many of the first captions are nearest to their translation, by mean states of a layer."""
    encoder = load_encoder("bert-multilingual")
    states = {}
    for language in LANGUAGES:
        with lzma.open(
            data / f"mt/multi30k/test_2016_flickr.{language}.xz", "rt", encoding="utf-8"
        ) as stream:
            captions = [line.strip() for line in islice(stream, count)]
        inputs = encoder.tokenizer(captions, return_tensors="pt", padding=True)
        with torch.inference_mode():
            layers = encoder.model(**inputs, output_hidden_states=True).hidden_states
        mask = inputs["attention_mask"][..., None]
        means = (layers[_LAYER] * mask).sum(1) / mask.sum(1)
        states[language] = torch.nn.functional.normalize(means - means.mean(0), dim=1)
    for one, other in combinations(LANGUAGES, 2):
        nearest = (states[one] @ states[other].T).argmax(1)
        print(f"{one} to {other}: {int((nearest == torch.arange(count)).sum())} of {count}")


def _labelled(path: Path) -> list[LabelledText]:
    return [LabelledText(row["text"], row["label"], str(path)) for row in _rows(path)]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)


def _write(path: Path, rows: Sequence[tuple[str, str]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("text", "label"), *rows])


def main() -> None:
    """Write the tables, print scores, or print neighbours."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    tables = commands.add_parser("tables")
    tables.add_argument("data", type=Path)
    for command in (tables, commands.add_parser("scores")):
        command.add_argument("folder", type=Path)
    neighbours = commands.add_parser("neighbours")
    neighbours.add_argument("data", type=Path)
    neighbours.add_argument("--count", type=int, default=80, help="number of captions")
    options = parser.parse_args()
    if options.command == "tables":
        write_tables(options.data, options.folder)
    elif options.command == "scores":
        print_scores(options.folder)
    else:
        print_neighbours(options.data, options.count)


if __name__ == "__main__":
    main()
