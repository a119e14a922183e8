"""Train a Tree Transformer and a plain Transformer side by side: does the verb take a singular or a plural?

    python examples/demo.py

The models read the words before a verb of a real sentence, such as "The sale of postage stamps and coins to
foreign collectors", and say which form the verb must have. The subject alone decides ("sale": singular);
nouns of the other number between it and the verb are attractors ("stamps", "coins", "collectors").

The sentences are a sample of AMALGUM in examples/data and the experiment is recipes/demo.yaml. The commands
`treeformer prepare`, `train`, `evaluate` and `classify` do the same for data of your own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import torch

from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.evaluation.accuracy import Accuracy
from treeformer.evaluation.report import Report, evaluate
from treeformer.evaluation.significance import compare
from treeformer.inference import Classification, Classifier
from treeformer.progress import Progress
from treeformer.training.loop import train
from treeformer.training.recipe import Recipe
from treeformer.trees import Tree, to_svg, to_text

HERE = Path(__file__).parent
RECIPE = HERE.parent / "recipes" / "demo.yaml"
PICTURED = "The sale of postage stamps and coins to foreign collectors"  # a sentence of the test set
OWN = "The keys to the cabinet"  # to try next


class System(NamedTuple):
    """A system of the recipe, what to call it, and the name of its run folder."""

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


def learn(system: System, changes: Sequence[str], prepared: Path, run: Path) -> dict[str, Any]:
    """Train one system, in a process of its own; facts about its training."""
    torch.set_num_threads(1)  # a core each
    recipe = Recipe.load(RECIPE, [*changes, f"model={system.name}"])
    return train(recipe, PreparedCorpus.open(prepared), run, device="cpu", progress=NamedLines(system.title))


def side_by_side(changes: Sequence[str], prepared: Path, output: Path) -> list[dict[str, Any]]:
    """Train all systems at the same time, each anew; facts about each training."""
    for system in SYSTEMS:
        if (output / system.folder / "run.json").exists():
            shutil.rmtree(output / system.folder)
    with ProcessPoolExecutor(len(SYSTEMS), mp_context=get_context("spawn")) as pool:
        trainings = [
            pool.submit(learn, system, changes, prepared, output / system.folder) for system in SYSTEMS
        ]
        return [training.result() for training in trainings]


def by_attractors(report: Report) -> dict[str, Accuracy]:
    """The accuracy on sentences with no attractor, with one, with more, and on all."""
    right, count = [0, 0, 0], [0, 0, 0]
    for attractors, (_, score) in report.by_group.items():
        assert isinstance(score, Accuracy)
        group = min(int(attractors), 2)
        right[group] += score.right
        count[group] += score.count
    names = ("none", "one", "two or more")
    parts = {name: Accuracy(right[group], count[group]) for group, name in enumerate(names)}
    return {**parts, "all": Accuracy(sum(right), sum(count))}


def scores(reports: Sequence[Report], trainings: Sequence[Mapping[str, Any]]) -> str:
    """The table of both systems."""
    columns = list(map(by_attractors, reports))
    head = "".join(f"{f'{name} ({part.count})':>18}" for name, part in columns[0].items())
    lines = [f"{'attractors':16}{head}{'parameters':>13}{'seconds':>9}"]
    for system, parts, facts in zip(SYSTEMS, columns, trainings, strict=True):
        cells = "".join(f"{cell(part):>18}" for part in parts.values())
        lines.append(f"{system.title:16}{cells}{facts.parameters:13,}{facts.seconds:9.0f}")
    return "\n".join(lines)


def cell(accuracy: Accuracy) -> str:
    low, high = accuracy.interval or (0.0, 100.0)
    return f"{accuracy.percent:.1f} ({low:.0f}–{high:.0f})"


def difference(output: Path) -> str:
    """How far the Tree Transformer is ahead on the same sentences, and whether that may be chance."""
    tree, plain = (output / system.folder for system in SYSTEMS)
    found = compare(tree, plain, "test")["accuracy"]
    between = f"95 %: {found.low:+.1f} to {found.high:+.1f}, p = {found.p:.3f}"
    return f"Tree Transformer minus Transformer: {found.difference:+.1f} points ({between}; paired bootstrap)"


def root_attention(classifier: Classifier, tree: Tree) -> tuple[list[float], list[float]]:
    """What part of its attention the root gives to each word and to each node: last layer, mean over heads.

    A word that the model reads in pieces, under a node for its tag, has the sum of them.
    """
    inputs = classifier.processor([tree])
    shares = classifier.model(**inputs, output_attentions=True).attentions[-1][0].mean(0)[-1].tolist()
    pieces = classifier.processor.vocabulary.pieces
    word_of = [number for number, word in enumerate(tree.words) for _ in pieces(word)]
    words, nodes = [0.0] * len(tree.words), [0.0] * len(tree)
    for word, share in zip(word_of, shares, strict=False):
        words[word] += share
    place = {span: node for node, span in enumerate(tree.spans)}
    for (start, end), share in zip(inputs["node_spans"][0].tolist(), shares[len(word_of) :], strict=True):
        span = (word_of[start], word_of[end - 1] + 1)
        if span in place:
            nodes[place[span]] += share
        else:
            words[span[0]] += share
    return words, nodes


def picture(classifier: Classifier, found: Classification) -> str:
    """A drawing: the stronger a colour, the more the root attends to it."""
    words, nodes = root_attention(classifier, found.tree)
    most = max(words + nodes)
    titles = [f"attention of the root: {share:.1%}" for share in nodes]
    titles[-1] = f"predicted: {found.label}, probability {max(found.probabilities):.2f}"
    return to_svg(
        found.tree,
        leaf_colors=[f"rgba(209, 72, 12, {0.8 * share / most:.2f})" for share in words],
        leaf_titles=[f"attention of the root: {share:.1%}" for share in words],
        node_colors=[f"rgba(209, 72, 12, {0.8 * share / most:.2f})" for share in nodes],
        node_titles=titles,
    )


def shown(path: Path) -> str:
    """The path from where we are, if it lies below."""
    path = Path(os.path.abspath(path))
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Subject–verb agreement, learned by two models.")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the sentences")
    parser.add_argument("--output", type=Path, default=HERE / "output", help="folder to write")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the recipe")
    options = parser.parse_args()
    data, output = (Path(shown(path)) for path in (options.data, options.output))

    print("Subject–verb agreement: singular (VBZ) or plural (VBP), given the words before the verb.\n")
    print("1. Parse the words before the verb, and prepare them")
    output.mkdir(parents=True, exist_ok=True)
    recipe = Recipe.load(RECIPE, options.set)
    prepare(recipe.data, data, output / "prepared")

    print(f"\n2. Train both models on them, side by side, {recipe.training.updates} updates each")
    trainings = side_by_side(options.set, output / "prepared", output)

    print("\n3. Score both on sentences that are new to them: accuracy in % (95 % confidence interval)")
    reports = [evaluate(output / system.folder, "test", device="cpu") for system in SYSTEMS]
    print(f"{scores(reports, trainings)}\n{difference(output)}")

    print("\n4. Draw what the root of a sentence attends to")
    tree_run = output / SYSTEMS[0].folder
    classifier = Classifier.from_pretrained(tree_run, device="cpu")
    (found,) = classifier([PICTURED])
    file = output / "agreement.svg"
    file.write_text(picture(classifier, found), encoding="utf-8")
    print(f"{to_text(found.tree)}\n")
    print(f"The Tree Transformer predicts {found.label}, probability {max(found.probabilities):.2f}.")
    print(f"The picture is in {file}")

    command = shown(Path(sys.executable).with_name("treeformer"))
    print("\nTry next, with words of your own:")
    print(f'  {command} classify --model {tree_run} "{OWN}"')
    print(f'  echo "{OWN}" | {command} parse | {command} draw')


if __name__ == "__main__":
    main()
