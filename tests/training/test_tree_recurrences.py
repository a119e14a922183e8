"""The training loop trains Tree-LSTMs, Tree2Seq and composed nodes, with and without CUDA graphs."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch
import yaml

from tests.training.corpora import experiment, metrics, sentiment, translation
from tests.training.test_graphs import recorder
from treeformer import Tree
from treeformer.data.batching import BatchPlan
from treeformer.data.corpus import PreparedCorpus
from treeformer.models.systems import load
from treeformer.ops.levels import bounded_levels
from treeformer.progress import Progress
from treeformer.training.experiment import build_model, endless_updates, training_examples, tree_limits
from treeformer.training.loop import train
from treeformer.training.losses import loss_sum
from treeformer.training.processes import Processes
from treeformer.training.updates import Updater

COMPOSED = ["model=tree-transformer", "systems.tree-transformer.sizes.node_inputs=composed"]
CASES = {  # name of a case: corpus, settings
    "tree-lstm": ("tree-lstm", []),
    "tree2seq": ("tree2seq", []),
    "composed classifier": ("tree-lstm", COMPOSED),
    "composed translator": ("tree2seq", COMPOSED),
    "composed classifier with context": ("composed-tree-transformer", []),
}


def with_system(corpus: PreparedCorpus, name: str, **sizes: int) -> PreparedCorpus:
    """Add this system to the recipe of a corpus."""
    path = corpus.folder.parent / "recipe.yaml"
    recipe = yaml.safe_load(path.read_text())
    recipe["systems"][name] = {"sizes": {"d_model": 16, "dropout": 0.1, **sizes}}
    recipe["model"] = name
    path.write_text(yaml.safe_dump(recipe))
    return corpus


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PreparedCorpus]:
    folder = tmp_path_factory.mktemp("corpora")
    return {
        "tree-lstm": with_system(sentiment(folder / "sentiment"), "tree-lstm"),
        "composed-tree-transformer": with_system(
            sentiment(folder / "composed"), "composed-tree-transformer", ffn_dim=24, attention_heads=2
        ),
        "tree2seq": with_system(translation(folder / "translation"), "tree2seq"),
    }


@pytest.mark.parametrize("case", CASES)
def test_a_few_updates_lower_the_loss(corpora: dict[str, PreparedCorpus], tmp_path: Path, case: str) -> None:
    name, settings = CASES[case]
    corpus, folder = corpora[name], tmp_path / "run"
    changes = ["training.updates=60", "training.evaluate_every=30", "training.learning_rate=0.02"]
    recipe = experiment(corpus, *settings, *changes)
    train(recipe, corpus, folder, device="cpu", progress=Progress())
    losses = [line["loss"] for line in metrics(folder) if "loss" in line]
    assert losses[-1] < 0.8 * losses[0]
    loaded, model = load(folder)
    assert loaded.name == ("composed-tree-transformer" if "composed" in case else recipe.model)
    assert model.config.d_model == 16
    assert getattr(model.config, "node_inputs", None) == ("composed" if "composed" in case else None)


@pytest.mark.parametrize("case", CASES)
def test_training_with_graphs_gives_the_weights_of_training_without(
    corpora: dict[str, PreparedCorpus], case: str
) -> None:
    name, settings = CASES[case]
    corpus = corpora[name]
    system = "tree-transformer" if settings else name
    recipe = experiment(
        corpus, *settings, f"systems.{system}.sizes.dropout=0.0", "training.workers=0"
    ).resolved()
    weights = []
    for graphed in (False, True):
        place = recorder()
        torch.manual_seed(1)
        model = build_model(recipe, corpus).to(place.device).train()
        updater = Updater(model, recipe.training, recorder=place if graphed else None)
        examples = training_examples(recipe, corpus)
        limits = tree_limits(model, examples) if graphed else None
        plan = BatchPlan(examples.sizes, "trees", recipe.training.tokens, seed=1, limits=limits)
        updates = endless_updates(examples, plan, recipe.training, Processes("cpu"))
        for parts in islice(updates, 12):
            for part in parts:
                updater.add(part)
            updater.step(0.001)
        # A softmax ignores the bias of keys: its gradient is rounding noise, which Adam scales up.
        compared = [p for name, p in model.named_parameters() if not name.endswith("attention.input.bias")]
        weights.append(torch.cat([parameter.detach().flatten() for parameter in compared]))
    torch.testing.assert_close(*weights, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("system", ["tree-lstm", "tree2seq"])
def test_recording_a_graph_reads_no_values(
    corpora: dict[str, PreparedCorpus], system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treeformer.nn.recurrence.levels", bounded_levels)
    corpus = corpora[system]
    recipe = experiment(corpus, "training.workers=0").resolved()
    model = build_model(recipe, corpus).to("meta").train()  # tensors without values
    examples = training_examples(recipe, corpus)
    plan = BatchPlan(examples.sizes, "trees", recipe.training.tokens, seed=1)
    (part,) = next(endless_updates(examples, plan, recipe.training, Processes("cpu")))
    loss, _ = loss_sum(model, {name: tensor.to("meta") for name, tensor in part.items()})
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def fold_height(tree: Tree, node: int) -> int:
    """Number of levels below and at the last fold of a node: its children are folded from left to right."""
    below = [
        (tree.spans[child], fold_height(tree, child))
        for child, parent in enumerate(tree.parents)
        if parent == node
    ]
    below += [((leaf, leaf + 1), 0) for leaf, parent in enumerate(tree.leaf_parents) if parent == node]
    first, *others = [height for _, height in sorted(below)]
    for other in others:
        first = max(first, other) + 1
    return first if others else first + 1


@pytest.mark.parametrize("case", CASES)
def test_limits_are_levels_and_folds_of_each_tree(corpora: dict[str, PreparedCorpus], case: str) -> None:
    name, settings = CASES[case]
    recipe = experiment(corpora[name], *settings).resolved()
    examples = training_examples(recipe, corpora[name])
    limits = tree_limits(build_model(recipe, corpora[name]), examples)
    assert limits is not None
    for number, (levels, folds) in enumerate(limits.tolist()):
        example = examples[number]
        spans = [(int(start), int(end)) for start, end in example.node_spans]
        words = ["w"] * len(example.input_ids)
        tree = Tree(words, ["X"] * len(words), ["X"] * len(spans), spans)
        children = [*tree.parents[:-1], *tree.leaf_parents]
        assert levels == fold_height(tree, len(tree) - 1)
        assert folds == sum(max(1, children.count(node) - 1) for node in range(len(tree)))


def test_a_model_without_recurrence_has_no_limits(corpora: dict[str, PreparedCorpus]) -> None:
    corpus = corpora["tree-lstm"]
    recipe = experiment(corpus, "model=tree-transformer").resolved()
    assert tree_limits(build_model(recipe, corpus), training_examples(recipe, corpus)) is None
