"""Train a Tree Transformer and a plain Transformer side by side: is the next verb singular or plural?

    python examples/demo.py

The models read the words before a verb of a real sentence, such as "The sale of postage stamps and coins to
foreign collectors", and predict the form of the verb. It depends on the subject alone ("sale": singular).
Nouns of the other number between subject and verb are attractors ("stamps", "coins", "collectors").

The sentences are a sample of AMALGUM in examples/data, and the experiment is recipes/demo.yaml. The commands
`treeformer prepare`, `train`, `evaluate` and `classify` do all this for your data.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import torch

from treeformer.data.preparation import prepare
from treeformer.evaluation.accuracy import Accuracy
from treeformer.evaluation.report import Report, evaluate
from treeformer.evaluation.significance import compare
from treeformer.inference import Classification, Classifier
from treeformer.inference.attending import attend
from treeformer.inference.pictures import attention_svg
from treeformer.progress import Progress
from treeformer.training.loop import train
from treeformer.training.recipe import Recipe
from treeformer.training.runs import RunFacts
from treeformer.trees import to_text

HERE = Path(__file__).parent
RECIPE = HERE.parent / "recipes" / "demo.yaml"
PICTURED = "The sale of postage stamps and coins to foreign collectors"  # a sentence of the test set
SUGGESTED = "The keys to the cabinet"  # to try next


class System(NamedTuple):
    """A system of the recipe, its title in the output, and the name of its run folder."""

    name: str
    title: str
    folder: str


SYSTEMS = (
    System("tree-transformer", "Tree Transformer", "tree"),
    System("transformer", "Transformer", "transformer"),
)


class NamedLines(Progress):
    """Prints logged lines with the name of their model in front."""

    def __init__(self, title: str) -> None:
        super().__init__("updates")
        self.title = title

    def log(self, message: str) -> None:
        print(f"{self.title:>16} | {message}", flush=True)


def train_system(system: System, overrides: Sequence[str], prepared: Path, run: Path) -> RunFacts:
    """Train one system, in this process."""
    torch.set_num_threads(1)  # there are as many processes as systems
    overrides = [*overrides, f"model={system.name}"]
    return train(RECIPE, prepared, run, device="cpu", progress=NamedLines(system.title), overrides=overrides)


def train_all(overrides: Sequence[str], prepared: Path, output: Path) -> list[RunFacts]:
    """Train all systems from scratch, in parallel processes."""
    for system in SYSTEMS:
        if (output / system.folder / "run.json").exists():
            shutil.rmtree(output / system.folder)
    with ProcessPoolExecutor(len(SYSTEMS), mp_context=get_context("spawn")) as pool:
        trainings = [
            pool.submit(train_system, system, overrides, prepared, output / system.folder)
            for system in SYSTEMS
        ]
        return [training.result() for training in trainings]


def by_attractors(report: Report) -> dict[str, Accuracy]:
    """Accuracy on sentences with no attractor, with one, with more, and on all."""
    right, count = [0, 0, 0], [0, 0, 0]
    for attractors, (_, score) in report.by_group.items():
        assert isinstance(score, Accuracy)
        group = min(int(attractors), 2)
        right[group] += score.right
        count[group] += score.count
    names = ("none", "one", "two or more")
    parts = {name: Accuracy(right[group], count[group]) for group, name in enumerate(names)}
    return {**parts, "all": Accuracy(sum(right), sum(count))}


def scores(reports: Sequence[Report], trainings: Sequence[RunFacts]) -> str:
    """Table of the scores, with a row for each system."""
    columns = list(map(by_attractors, reports))
    head = "".join(f"{f'{name} ({part.count})':>18}" for name, part in columns[0].items())
    lines = [f"{'attractors':16}{head}{'parameters':>13}{'seconds':>9}"]
    for system, parts, facts in zip(SYSTEMS, columns, trainings, strict=True):
        cells = "".join(f"{cell(part):>18}" for part in parts.values())
        lines.append(f"{system.title:16}{cells}{facts.parameters:13,}{facts.seconds:9.0f}")
    return "\n".join(lines)


def cell(accuracy: Accuracy) -> str:
    """Accuracy in percent, with its confidence interval."""
    low, high = accuracy.interval or (0.0, 100.0)
    return f"{accuracy.percent:.1f} ({low:.0f}–{high:.0f})"


def difference(output: Path) -> str:
    """Difference of the two accuracies, with its confidence interval and p-value."""
    tree, plain = (output / system.folder for system in SYSTEMS)
    gain = compare(tree, plain, "test")["accuracy"]
    interval = f"95 %: {gain.low:+.1f} to {gain.high:+.1f}, p = {gain.p:.3f}"
    return f"Tree Transformer minus Transformer: {gain.difference:+.1f} points ({interval}; paired bootstrap)"


def attention_picture(classifier: Classifier, text: str) -> tuple[Classification, str]:
    """The answer for a text, and an SVG of its tree coloured by what the root attends to."""
    (answer,) = classifier([text])
    root = attend(classifier, text)
    title = f"predicted: {answer.label}, probability {max(answer.probabilities):.2f}"
    return answer, attention_svg(root.tree, root.part, root.shares(), title=title)


def shown(path: Path) -> str:
    """A path as text, relative to the working folder if it is in it."""
    path = Path(os.path.abspath(path))
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train two models of subject–verb agreement.")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the sentences")
    parser.add_argument("--output", type=Path, default=HERE / "output", help="folder to write")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override a key of the recipe"
    )
    options = parser.parse_args()
    data, output = (Path(shown(path)) for path in (options.data, options.output))

    print("Subject–verb agreement: singular (VBZ) or plural (VBP), given the words before the verb.\n")
    print("1. Parse and prepare the words before the verb")
    output.mkdir(parents=True, exist_ok=True)
    recipe = Recipe.load(RECIPE, options.set)
    prepare(recipe.data, data, output / "prepared")

    print(f"\n2. Train both models side by side, {recipe.training.updates} updates each")
    trainings = train_all(options.set, output / "prepared", output)

    print("\n3. Score both on unseen sentences: accuracy in % (95 % confidence interval)")
    reports = [evaluate(output / system.folder, "test", device="cpu") for system in SYSTEMS]
    print(f"{scores(reports, trainings)}\n{difference(output)}")

    print("\n4. Draw what the root of a sentence attends to")
    tree_run = output / SYSTEMS[0].folder
    classifier = Classifier.from_pretrained(tree_run, device="cpu")
    answer, picture = attention_picture(classifier, PICTURED)
    file = output / "agreement.svg"
    file.write_text(picture, encoding="utf-8")
    print(f"{to_text(answer.tree)}\n")
    print(f"The Tree Transformer predicts {answer.label}, probability {max(answer.probabilities):.2f}.")
    print(f"The picture is in {file}")

    command = shown(Path(sys.executable).with_name("treeformer"))
    print("\nTry your words next:")
    print(f'  {command} classify --model {tree_run} "{SUGGESTED}"')
    print(f'  echo "{SUGGESTED}" | {command} parse | {command} draw')


if __name__ == "__main__":
    main()
