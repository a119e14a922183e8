"""Complete trainings: what a run folder contains, when a run stops, and which input is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
import yaml

from tests.training.corpora import (
    experiment,
    metrics,
    sentiment,
    sentiment_files,
    sentiment_recipe,
    translation,
)
from treeformer import TreeTransformerForSequenceClassification
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.data.processor import TreeProcessor
from treeformer.models.systems import load
from treeformer.progress import Progress
from treeformer.training import checkpoints
from treeformer.training.dev import DevSet
from treeformer.training.experiment import training_examples
from treeformer.training.loop import train
from treeformer.training.processes import Processes
from treeformer.training.recipe import Recipe


class LoggedLines(Progress):
    """Keeps the lines that are logged."""

    def __init__(self) -> None:
        super().__init__("updates")
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        self.lines.append(message)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return sentiment(tmp_path_factory.mktemp("sentiment"))


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return translation(tmp_path_factory.mktemp("translation") / "files")


def run(corpus: PreparedCorpus, output: Path, *changes: str, seed: int = 1) -> list[str]:
    """Train on the CPU; return the logged lines."""
    progress = LoggedLines()
    train(experiment(corpus, *changes), corpus, output, seed=seed, device="cpu", progress=progress)
    return progress.lines


def dev_losses(folder: Path) -> tuple[float, list[float]]:
    """Dev loss of the mean of checkpoints, and of every other evaluation."""
    evaluations = [line for line in metrics(folder) if "dev_loss" in line]
    (averaged,) = [line["dev_loss"] for line in evaluations if "averaged" in line]
    return averaged, [line["dev_loss"] for line in evaluations if "averaged" not in line]


def mean_weights_are_loaded(folder: Path, steps: Sequence[int]) -> None:
    states = [checkpoints.load(folder / "state" / str(step)).tensors["model"] for step in steps]
    mean = checkpoints.average(states)
    _, model = load(folder)
    assert all(torch.equal(tensor, mean[name]) for name, tensor in model.state_dict().items())


def best_weights_are_loaded(corpus: PreparedCorpus, folder: Path) -> None:
    facts = json.loads((folder / "run.json").read_text())
    expected = checkpoints.load(folder / "state" / str(facts["best_step"])).tensors["model"]
    _, model = load(folder)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, expected[name])


def test_a_run_folder_has_all_that_is_needed_to_use_and_repeat_it(
    corpus: PreparedCorpus, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    run(corpus, folder, "training.learning_rate=0.02", seed=3)
    assert {path.name for path in folder.iterdir()} == {
        *("config.json", "model.safetensors", "tokenizer.json", "processor.json", "checksums.json"),
        *("recipe.yaml", "run.json", "metrics.jsonl", "state"),
    }
    facts = json.loads((folder / "run.json").read_text())
    assert facts["seed"] == 3
    assert facts["finished"]
    assert facts["updates"] == 12
    assert facts["versions"]["torch"] == torch.__version__
    assert facts["parameters"] > 1000
    assert facts["peak_memory"] > 0
    best_weights_are_loaded(corpus, folder)
    model = TreeTransformerForSequenceClassification.from_pretrained(folder)
    assert model.config.id2label[4] == "very positive"
    logits = model(**TreeProcessor.from_pretrained(folder)(["the film"])).logits
    assert logits.shape == (1, 5)
    again = Recipe.load(folder / "recipe.yaml")
    assert again.training.learning_rate == 0.02
    assert again.resolved() == again
    lines = metrics(folder)
    assert [line["step"] for line in lines if "loss" in line] == [2, 4, 6, 8, 10, 12]
    assert [line["step"] for line in lines if "dev_accuracy" in line] == [4, 8, 12]
    best = max(line["dev_accuracy"] for line in lines if "dev_accuracy" in line)
    assert facts["best"] == best


def test_the_loss_falls(corpus: PreparedCorpus, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run", "training.updates=100", "training.evaluate_every=50")
    losses = [line["loss"] for line in metrics(tmp_path / "run") if "loss" in line]
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("system", ["tree-transformer", "transformer"])
def test_translators_improve_and_record_how_to_decode(
    parallel: PreparedCorpus, tmp_path: Path, system: str
) -> None:
    run(parallel, tmp_path / "run", f"model={system}", "training.accumulation=2", "training.r_drop=1")
    dev = [line["dev_loss"] for line in metrics(tmp_path / "run") if "dev_loss" in line]
    assert dev[-1] < dev[0]
    _, model = load(tmp_path / "run")
    assert model.generation_config.num_beams == 3
    assert model.generation_config.length_penalty == 0.7
    best_weights_are_loaded(parallel, tmp_path / "run")


def test_bleu_can_choose_the_best_translator(parallel: PreparedCorpus, tmp_path: Path) -> None:
    run(parallel, tmp_path / "run", "training.metric=bleu", "training.updates=24")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    dev = {line["step"]: line["dev_bleu"] for line in metrics(tmp_path / "run") if "dev_bleu" in line}
    assert facts["best"] == max(dev.values()) == dev[facts["best_step"]]
    assert 0 <= facts["best"] <= 100


def test_a_plain_model_can_train_on_every_phrase(corpus: PreparedCorpus, tmp_path: Path) -> None:
    logs = [
        run(corpus, tmp_path / str(phrases), "model=transformer", f"systems.transformer.phrases={phrases}")
        for phrases in ("true", "false")
    ]
    counts = len(corpus["train"].phrases()), len(corpus["train"])
    assert counts[0] > counts[1]
    for lines, count in zip(logs, counts, strict=True):
        assert f"{count:,} examples" in lines[0]
    resolved = yaml.safe_load((tmp_path / "true" / "recipe.yaml").read_text())
    assert resolved["training"]["learning_rate"] == 0.02  # of this system alone
    assert list(resolved["systems"]) == ["transformer"]


@pytest.mark.parametrize("phrases", ["true", "false"])
def test_every_system_trains_on_one_share_of_the_sentences(corpus: PreparedCorpus, phrases: str) -> None:
    sentences = corpus["train"].share(0.5)
    for system in ("tree-transformer", "transformer"):
        changes = f"model={system}", f"systems.{system}.phrases={phrases}", "training.share=0.5"
        examples = training_examples(experiment(corpus, *changes), corpus)
        expected = corpus["train"].phrases().within(sentences) if phrases == "true" else sentences
        assert examples.sizes.tolist() == expected.sizes.tolist()
        assert len(examples) < len(training_examples(experiment(corpus, *changes[:2]), corpus))


def test_runs_repeat_to_the_bit_and_seeds_differ(corpus: PreparedCorpus, tmp_path: Path) -> None:
    for name, seed, changes in (("a", 1, []), ("b", 1, ["training.workers=3"]), ("c", 2, [])):
        run(corpus, tmp_path / name, *changes, seed=seed)
    assert metrics(tmp_path / "a") == metrics(tmp_path / "b")
    assert metrics(tmp_path / "a") != metrics(tmp_path / "c")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "abc"]
    assert weights[0] == weights[1] != weights[2]


def test_accumulation_gives_the_losses_of_one_part(corpus: PreparedCorpus, tmp_path: Path) -> None:
    still = "systems.tree-transformer.sizes.dropout=0"
    for parts in (1, 2, 3):
        run(corpus, tmp_path / str(parts), still, f"training.accumulation={parts}", "training.clip=0.5")
    one, *others = (metrics(tmp_path / str(parts)) for parts in (1, 2, 3))
    for other in others:
        for expected, line in zip(one, other, strict=True):
            assert line == pytest.approx(expected, rel=1e-3)


def test_training_stops_early_without_improvement_on_dev(corpus: PreparedCorpus, tmp_path: Path) -> None:
    changes = ["training.learning_rate=1e-12", "training.updates=100", "training.patience=2"]
    lines = run(corpus, tmp_path / "run", *changes)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["updates"] == 12  # evaluated after 4, which is the best, 8 and 12
    assert facts["best_step"] == 4
    assert "12 updates" in lines[-1]


def test_loss_can_choose_the_best_classifier(corpus: PreparedCorpus, tmp_path: Path) -> None:
    run(corpus, tmp_path / "run", "training.metric=loss", "training.updates=40")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    dev = {line["step"]: line["dev_loss"] for line in metrics(tmp_path / "run") if "dev_loss" in line}
    assert facts["best"] == min(dev.values()) == dev[facts["best_step"]]


def test_the_last_checkpoints_are_averaged_if_that_is_better_on_dev(
    corpus: PreparedCorpus, tmp_path: Path
) -> None:
    changes = ["training.metric=loss", "training.average=3", "training.updates=30"]
    run(corpus, tmp_path / "run", *changes, "training.save_every=5")
    folder = tmp_path / "run"
    facts = json.loads((folder / "run.json").read_text())
    there = checkpoints.steps(folder / "state")
    assert {20, 25, 30} <= set(there)
    averaged, singles = dev_losses(folder)
    _, model = load(folder)
    if averaged < min(singles):
        assert facts["averaged"] == 3
        mean_weights_are_loaded(folder, (20, 25, 30))
    else:
        assert facts["averaged"] == 0
        best_weights_are_loaded(corpus, folder)
    recipe = experiment(corpus, *changes).resolved()
    dev = DevSet(recipe, corpus, Processes("cpu"))
    assert dev.scores(model)["loss"] == pytest.approx(facts["best"])


def test_a_preferred_average_is_kept_even_if_it_is_worse(corpus: PreparedCorpus, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    changes = ["training.metric=loss", "training.average=6", "training.updates=20", "training.save_every=5"]
    run(corpus, folder, *changes, "training.prefer_average=true", "training.evaluate_every=20")
    averaged, (single,) = dev_losses(folder)
    assert averaged > single  # of the first updates the last is the best
    facts = json.loads((folder / "run.json").read_text())
    assert (facts["averaged"], facts["best"]) == (4, averaged)  # there are no more to average
    mean_weights_are_loaded(folder, (5, 10, 15, 20))


def test_sst_2_is_scored_by_halves_of_the_five_classes(tmp_path: Path) -> None:
    sentiment(tmp_path)
    recipe = Recipe.load(tmp_path / "recipe.yaml", ["data.task.classes=2"])
    corpus = prepare(recipe.data, tmp_path / "files", tmp_path / "halves", progress=Progress())
    train(recipe, corpus, tmp_path / "run", device="cpu", progress=Progress())
    _, model = load(tmp_path / "run")
    assert model.config.num_labels == 5
    split, right = corpus["dev"], 0
    for index in range(len(split)):
        example = split[index]
        probabilities = (
            model(
                input_ids=torch.tensor(example.input_ids).long()[None],
                node_ids=torch.tensor(example.node_ids).long()[None],
                node_mask=torch.ones(1, len(example.node_ids)),
                node_spans=torch.tensor(example.node_spans).long()[None],
            )
            .logits[0]
            .softmax(-1)
        )
        assert example.label is not None
        assert example.label != 2
        positive = probabilities[3] + probabilities[4] > probabilities[0] + probabilities[1]
        right += bool(positive) == (example.label > 2)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["best"] == right / len(split)


def test_without_dev_the_last_weights_stay(tmp_path: Path) -> None:
    sentiment(tmp_path)
    recipe = yaml.safe_load((tmp_path / "recipe.yaml").read_text())
    del recipe["data"]["task"]["splits"]["dev"]
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    data = Recipe.load(tmp_path / "recipe.yaml").data
    corpus = prepare(data, tmp_path / "files", tmp_path / "prepared", progress=Progress())
    run(corpus, tmp_path / "run")
    last = checkpoints.load(tmp_path / "run" / "state" / "12").tensors["model"]
    _, model = load(tmp_path / "run")
    assert all(torch.equal(tensor, last[name]) for name, tensor in model.state_dict().items())
    with pytest.raises(ValueError, match=r"training\.patience: this corpus has no split dev"):
        run(corpus, tmp_path / "other", "training.patience=3")


def test_a_loss_that_is_not_finite_ends_the_run_and_is_not_saved(
    corpus: PreparedCorpus, tmp_path: Path
) -> None:
    changes = ["training.learning_rate=1e20", "training.warm_up=0", "training.schedule=constant"]
    with pytest.raises(ValueError, match=r"run: the loss .* became infinite or NaN .*lower learning rate"):
        run(corpus, tmp_path / "run", *changes)
    assert checkpoints.steps(tmp_path / "run" / "state") == []


def test_metrics_are_written_for_tensorboard(corpus: PreparedCorpus, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    run(corpus, tmp_path / "run", "training.tensorboard=true")
    assert list((tmp_path / "run" / "tensorboard").glob("events*"))


def test_keys_without_effect_may_change_and_keys_of_later_versions_may_be_missing(
    corpus: PreparedCorpus, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    run(corpus, folder, "training.updates=4")
    facts = json.loads((folder / "run.json").read_text())
    del facts["recipe"]["vectors"], facts["recipe"]["training"]["r_drop"]
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "checksums.json").unlink()
    lines = run(corpus, folder, "training.updates=4", "training.workers=0", "training.log_every=1")
    assert "is finished, after 4 updates" in lines[0]


def test_recipe_and_corpus_can_be_paths(corpus: PreparedCorpus, tmp_path: Path) -> None:
    recipe, overrides, progress = corpus.folder.parent / "recipe.yaml", ["training.updates=4"], LoggedLines()
    folder = tmp_path / "run"
    facts = train(recipe, corpus.folder, folder, device="cpu", progress=progress, overrides=overrides)
    assert (facts.finished, facts.updates) == (True, 4)
    assert facts.model_dump(exclude_unset=True) == json.loads((folder / "run.json").read_text())
    with pytest.raises(ValueError, match=r"give them to Recipe\.load"):
        train(experiment(corpus), corpus, folder, device="cpu", progress=progress, overrides=overrides)


class TestRefusals:
    """Wrong input is refused before anything is written."""

    def test_another_recipe_seed_or_corpus_for_a_run(self, corpus: PreparedCorpus, tmp_path: Path) -> None:
        folder = tmp_path / "run"
        run(corpus, folder, "training.updates=4")
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        with pytest.raises(ValueError, match=r"another recipe \(training\.updates was 4, now 12\)"):
            run(corpus, folder)
        with pytest.raises(ValueError, match=r"another recipe \(model was 'tree-transformer', now"):
            run(corpus, folder, "training.updates=4", "model=transformer")
        with pytest.raises(ValueError, match=r"another seed \(1, now 2\)"):
            run(corpus, folder, "training.updates=4", seed=2)
        sentiment_files(tmp_path / "files", {"train": 50, "dev": 10})
        other = prepare(experiment(corpus).data, tmp_path / "files", tmp_path / "other", progress=Progress())
        progress = LoggedLines()
        with pytest.raises(ValueError, match="another prepared corpus"):
            train(experiment(corpus, "training.updates=4"), other, folder, device="cpu", progress=progress)
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
        assert "is finished, after 4 updates" in run(corpus, folder, "training.updates=4")[0]

    def test_a_corpus_that_was_prepared_for_another_recipe(
        self, corpus: PreparedCorpus, tmp_path: Path
    ) -> None:
        with pytest.raises(ValueError, match=r"another recipe \(data\.vocabulary\.min_count was 1, now 2\)"):
            run(corpus, tmp_path / "run", "data.vocabulary.min_count=2")
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize("split", ["train", "dev"])
    def test_wide_trees_for_a_binary_composition(self, tmp_path: Path, split: str) -> None:
        sentiment_files(tmp_path / "files", {"train": 6, "dev": 6})
        recipe = Recipe.load(sentiment_recipe(tmp_path / "recipe.yaml"))
        wide = {"txt": "(4 (3 good) (4 great) (2 film))", "phrases": "(NP (X good) (X great) (X film))"}
        for ending, tree in wide.items():
            with open(tmp_path / "files" / f"{split}.{ending}", "a") as stream:
                stream.write(f"{tree}\n")
        corpus = prepare(recipe.data, tmp_path / "files", tmp_path / "prepared", progress=Progress())
        binary = "systems.tree-lstm={sizes: {d_model: 16, composition: binary}}"
        with pytest.raises(
            ValueError, match=rf"example 7 of {split} has 3 children .*composition: child-sum"
        ):
            run(corpus, tmp_path / "run", "model=tree-lstm", binary)
        assert not (tmp_path / "run").exists()
        run(corpus, tmp_path / "run", "model=tree-lstm", "systems.tree-lstm={sizes: {d_model: 16}}")

    def test_a_folder_of_something_else(self, corpus: PreparedCorpus, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("")
        with pytest.raises(ValueError, match="contains other files"):
            run(corpus, tmp_path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                "model=tree",
                "model: expected one of the systems .*, transformer, tree-transformer, got 'tree'",
            ),
            ("training.update=3", r"training\.update: no such key, did you mean updates\?"),
            ("training.drop=1", r"training\.drop: no such key, did you mean r_drop\?"),  # data has a drop
            ("training.updates=0", r"training\.updates: input should be greater than or equal to 1"),
            ("systems.transformer.training.updates=0", r"systems\.transformer\.training\.updates: input"),
            ("systems.transformer.training.clp=1", r"clp: no such key, did you mean clip\?"),
            ("systems.transformer.sizes.d_modle=1", r"d_modle: no such key, did you mean d_model\?"),
            ("systems.lstm={}", "expected one of tree-transformer, composed-tree-transformer, .*got 'lstm'"),
        ],
    )
    def test_a_recipe_that_is_wrong(self, corpus: PreparedCorpus, change: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            experiment(corpus, change).resolved()

    def test_a_metric_that_the_task_does_not_have(
        self, corpus: PreparedCorpus, parallel: PreparedCorpus, tmp_path: Path
    ) -> None:
        with pytest.raises(ValueError, match="expected accuracy or loss for a classifier, got bleu"):
            run(corpus, tmp_path / "run", "training.metric=bleu")
        with pytest.raises(ValueError, match="expected loss or bleu for a translator, got accuracy"):
            run(parallel, tmp_path / "run", "training.metric=accuracy")
        assert not (tmp_path / "run").exists()

    def test_a_device_that_is_not_there(self, corpus: PreparedCorpus, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="device: expected cpu or cuda, got 'tpu'"):
            train(experiment(corpus), corpus, tmp_path / "run", device="tpu")
