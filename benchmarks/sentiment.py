"""A sentiment model on SST from plain words: they are parsed, and SST's own trees are not used.

python -m benchmarks.sentiment sst/test.txt.xz [--model RUN]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from treeformer import load_parser
from treeformer.data.tasks.sst import NEUTRAL, SENTIMENTS
from treeformer.evaluation.accuracy import Accuracy
from treeformer.inference import Classifier
from treeformer.trees import read_trees


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("file", type=Path, help="sentences of SST, with their sentiments")
    arguments.add_argument(
        "--model", type=Path, help="a run of five classes; default: the model that comes along"
    )
    options = arguments.parse_args()
    gold = list(read_trees(options.file))
    roots = [int(tree.labels[-1]) for tree in gold]
    with load_parser("en") as parser:
        answers = Classifier.from_pretrained(options.model)(
            parser.parse_tokens([tree.words for tree in gold])
        )
    right = sum(answer.label == SENTIMENTS[root] for answer, root in zip(answers, roots, strict=True))
    print(f"{options.file}, five classes: {Accuracy(right, len(gold)).percent:.2f}")
    decided = [
        (sum(answer.probabilities[NEUTRAL + 1 :]) > sum(answer.probabilities[:NEUTRAL])) == (root > NEUTRAL)
        for answer, root in zip(answers, roots, strict=True)
        if root != NEUTRAL
    ]
    print(f"{options.file}, positive or negative: {Accuracy(sum(decided), len(decided)).percent:.2f}")


if __name__ == "__main__":
    main()
