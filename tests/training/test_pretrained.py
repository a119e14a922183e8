"""Training over a pretrained encoder: runs of frozen and of trained ones, and what they keep."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import load_file

from tests.encoders import tiny
from tests.training.corpora import experiment, metrics, sentiment_files, sentiment_recipe
from tests.training.test_resume import StopAt, assert_equal_runs
from treeformer import Classifier
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.encoders import install, load_encoder
from treeformer.encoders.catalogue import ENCODERS
from treeformer.evaluation.predictions import predict_classes
from treeformer.evaluation.report import evaluate
from treeformer.progress import Progress
from treeformer.training.loop import train
from treeformer.training.runs import fingerprint

TEXTS = ["The good film tells a great story.", "Bad."]
SYSTEMS = ("composed-tree-transformer", "tree-transformer", "tree-lstm", "bilstm", "transformer", "linear")
TRAINS = ("frozen", "all")
OTHERS = [f"systems.{name}.sizes.d_model=16" for name in ("tree-lstm", "bilstm", "linear")]


class Place(NamedTuple):
    """A corpus without stored states, and the encoder that it was prepared with."""

    corpus: PreparedCorpus
    encoder: Path


def made(folder: Path) -> Place:
    encoder = tiny.folder_of_files(folder / "encoder")
    sentiment_files(folder / "files", {"train": 60, "dev": 20})
    sentiment_recipe(folder / "recipe.yaml")
    corpus = PreparedCorpus(folder / "prepared", None)  # type: ignore[arg-type]
    recipe = experiment(corpus, f"encoder={encoder}", "encoder.train=all")
    return Place(prepare(recipe, folder / "files", folder / "prepared", progress=Progress()), encoder)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return made(tmp_path_factory.mktemp("place"))


def run_of(
    place: Place, folder: Path, frozen: str, system: str, *changes: str, progress: Progress | None = None
) -> Path:
    settings = [f"encoder={place.encoder}", f"encoder.train={frozen}", f"model={system}", *OTHERS]
    corpus = PreparedCorpus.open(place.corpus.folder)
    recipe = experiment(corpus, *settings, *changes)
    train(recipe, corpus, folder, device="cpu", progress=progress or Progress())
    return folder


@pytest.mark.parametrize("frozen", TRAINS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_trains_and_answers_over_an_encoder(
    place: Place, tmp_path: Path, system: str, frozen: str
) -> None:
    run = run_of(place, tmp_path / "run", frozen, system)
    losses = [line["loss"] for line in metrics(run) if "loss" in line]
    assert losses[-1] < losses[0]
    for answer in Classifier.from_pretrained(run, device="cpu").explain(TEXTS):
        assert bool(answer.phrases) == (system not in ("bilstm", "transformer"))
        assert any(effect.towards for effect in answer.effects)
    report = evaluate(run, "dev", place.corpus.folder, device="cpu")
    assert report.facts["examples"] == 20


def test_a_frozen_run_keeps_the_head_alone(place: Place, tmp_path: Path) -> None:
    run = run_of(place, tmp_path / "run", "frozen", "tree-lstm")
    assert not [name for name in load_file(run / "model.safetensors") if "network" in name]
    assert not (run / "encoder_tokenizer.json").exists()


def test_stored_states_give_the_answers_of_the_encoder(place: Place, tmp_path: Path) -> None:
    run = run_of(place, tmp_path / "run", "frozen", "composed-tree-transformer")
    classifier = Classifier.from_pretrained(run, device="cpu")
    corpus = PreparedCorpus.open(place.corpus.folder)
    stored, _ = predict_classes(classifier, corpus.with_states(), "dev")
    computed, _ = predict_classes(classifier, corpus, "dev")
    for one, other in zip(stored, computed, strict=True):
        torch.testing.assert_close(
            torch.tensor(one.probabilities), torch.tensor(other.probabilities), atol=2e-3, rtol=2e-3
        )


def test_a_run_that_trained_its_encoder_needs_no_other_folder(tmp_path: Path) -> None:
    place = made(tmp_path)
    run = run_of(place, tmp_path / "run", "all", "linear", "systems.linear.training.targets=text")
    before = load_encoder(place.encoder).model.state_dict()
    after = load_file(run / "model.safetensors")
    names = [name for name in before if "word_embeddings" in name or "query.weight" in name]
    assert names
    for name in names:
        assert not torch.equal(before[name], after[f"encoder.pretrained.network.{name}"])
    shutil.rmtree(place.encoder)
    shutil.rmtree(place.corpus.folder)
    moved = shutil.move(run, tmp_path / "moved")
    assert len(Classifier.from_pretrained(moved, device="cpu")(TEXTS)) == 2


@pytest.mark.parametrize("rate", ["1e-12", "1e-3"])
def test_the_encoder_has_a_learning_rate_of_its_own(place: Place, tmp_path: Path, rate: str) -> None:
    run = run_of(place, tmp_path / "run", "all", "tree-lstm", f"encoder.learning_rate={rate}")
    before = load_encoder(place.encoder).model.state_dict()
    after = load_file(run / "model.safetensors")
    change = max(
        float((before[name] - after[f"encoder.pretrained.network.{name}"]).abs().max()) for name in before
    )
    assert (change < 1e-6) == (rate == "1e-12")


@pytest.mark.parametrize("frozen", TRAINS)
def test_an_interrupted_run_over_an_encoder_resumes(place: Place, tmp_path: Path, frozen: str) -> None:
    system = "composed-tree-transformer"
    with pytest.raises(KeyboardInterrupt):
        run_of(place, tmp_path / "cut", frozen, system, progress=StopAt(6))
    run_of(place, tmp_path / "cut", frozen, system)
    run_of(place, tmp_path / "whole", frozen, system)
    assert_equal_runs(tmp_path / "cut", tmp_path / "whole")


def test_a_missing_encoder_names_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEFORMER_ENCODERS", str(tmp_path / "encoders"))
    monkeypatch.setitem(ENCODERS, "tiny", tiny.encoder((), tiny.checksums(tmp_path / "sums")))
    tiny.hub_files(tmp_path / "hub")
    install("tiny", source=tmp_path / "hub")
    sentiment_files(tmp_path / "files", {"train": 60, "dev": 20})
    sentiment_recipe(tmp_path / "recipe.yaml")
    changes = ["encoder=tiny", "model=tree-transformer"]
    recipe = experiment(PreparedCorpus(tmp_path / "prepared", None), *changes)  # type: ignore[arg-type]
    corpus = prepare(recipe, tmp_path / "files", tmp_path / "prepared", progress=Progress())
    shutil.move(tmp_path / "encoders", tmp_path / "elsewhere")
    train(recipe, corpus, tmp_path / "run", device="cpu", progress=Progress())  # over stored states
    with pytest.raises(ValueError, match="run `treeformer encoder install tiny`"):
        Classifier.from_pretrained(tmp_path / "run", device="cpu")
    shutil.move(tmp_path / "elsewhere", tmp_path / "encoders")
    assert Classifier.from_pretrained(tmp_path / "run", device="cpu")(TEXTS)


def test_another_encoder_in_its_place_is_refused(tmp_path: Path) -> None:
    place = made(tmp_path)
    run = run_of(place, tmp_path / "run", "frozen", "linear")
    weights = place.encoder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ValueError, match="expected the encoder with SHA-256"):
        Classifier.from_pretrained(run, device="cpu")


def test_states_that_training_stores_do_not_make_it_another_corpus(tmp_path: Path) -> None:
    place = made(tmp_path)
    before = fingerprint(place.corpus)
    run = run_of(place, tmp_path / "all", "all", "linear")
    run_of(place, tmp_path / "frozen", "frozen", "linear")
    after = PreparedCorpus.open(place.corpus.folder)
    assert after.manifest.states
    assert fingerprint(after) == before
    run_of(place, run, "all", "linear")  # finished, of the same corpus


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["encoder=null"], "prepared with the encoder .*, but the recipe has no encoder"),
        (["encoder.source=elsewhere"], "but the recipe has elsewhere"),
        (["encoder.layers=[0]"], r"encoder.layers: expected \[1, 2\], whose states"),
        (["training.word_dropout=0.1"], "training.word_dropout: expected 0 with encoder"),
        (["vectors=file.txt"], "vectors: expected none with encoder"),
        (["training.graphs=true", "encoder.train=all"], "training.graphs: expected false"),
    ],
)
def test_settings_that_do_not_fit_the_corpus_or_an_encoder_are_refused(
    place: Place, tmp_path: Path, changes: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run_of(place, tmp_path / "run", "frozen", "tree-transformer", *changes)
    assert not (tmp_path / "run").exists()


def test_an_encoder_over_a_corpus_that_was_prepared_without_is_refused(place: Place, tmp_path: Path) -> None:
    folder = place.corpus.folder.parent
    recipe = experiment(place.corpus)
    corpus = prepare(recipe, folder / "files", tmp_path / "prepared", progress=Progress())
    with pytest.raises(ValueError, match="prepared with no encoder, but the recipe has the encoder"):
        train(experiment(place.corpus, f"encoder={place.encoder}"), corpus, tmp_path / "run", device="cpu")


def test_other_layers_of_a_trained_encoder_can_be_mixed(place: Place, tmp_path: Path) -> None:
    run = run_of(place, tmp_path / "run", "all", "linear", "encoder.layers=[0, 1]")
    weights = load_file(run / "model.safetensors")
    assert weights["encoder.pretrained.mix"].shape == (2,)
    assert not [name for name in weights if "layer.1." in name]
