"""Preparing with an encoder: pieces are linked, states are stored once, also if the process is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from tests.data.corpora import recipe, sst_files, sst_task, translation_files, translation_task
from tests.encoders.tiny import folder_of_files
from treeformer import Tree
from treeformer.configuration import read_json
from treeformer.data import states as states_module
from treeformer.data.batching import input_tensors
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.examples import Columns
from treeformer.data.preparation import prepare
from treeformer.data.processor import TreeProcessor
from treeformer.data.recipe import DataRecipe, EncoderRecipe
from treeformer.data.states import with_stored_states
from treeformer.encoders import encoder_sha256, load_encoder
from treeformer.encoders.linking import NO_WORD
from treeformer.encoders.states import word_states
from treeformer.progress import Progress
from treeformer.training.recipe import Recipe

PREPARE = """
import sys, time
from pathlib import Path
from tests.data.test_encoder import Experiment
from treeformer.data import preparation, states
from treeformer.data.recipe import DataRecipe, EncoderRecipe
from treeformer.progress import Progress

class Stops(Progress):
    calls = 0
    def update(self, done, total, detail=""):
        self.calls += 1
        if self.calls == 3:
            print("stopped", flush=True)
            time.sleep(60)

data, encoder, files, output = sys.argv[1:]
states.BATCH, states.SAVE_EVERY = 24, 0
experiment = Experiment(DataRecipe.model_validate_json(data), EncoderRecipe(source=encoder))
preparation.prepare(experiment, files, output, progress=Stops())
"""


class Experiment(NamedTuple):
    """The parts of a recipe that `prepare` needs."""

    data: DataRecipe
    encoder: EncoderRecipe | None
    overrides: tuple[str, ...] = ()


class Log(Progress):
    """Keeps lines and updates."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.updates: list[tuple[int, int | None]] = []

    def log(self, message: str) -> None:
        self.lines.append(message)

    def update(self, done: int, total: int | None, detail: str = "") -> None:
        self.updates.append((done, total))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_files(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sst_files(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def folder(encoder: Path, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with stored states."""
    output = tmp_path_factory.mktemp("corpus") / "prepared"
    make(output, files, encoder)
    return output


def make(
    output: Path, files: Path, encoder: Path | None, progress: Progress | None = None, **keys: Any
) -> None:
    settings = None if encoder is None else EncoderRecipe(source=str(encoder), **keys)
    prepare(Experiment(recipe(sst_task()), settings), files, output, progress=progress or Progress())


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_words_are_linked_with_pieces_and_have_no_ids(folder: Path, encoder: Path) -> None:
    corpus = PreparedCorpus.open(folder)
    assert corpus.processor.vocabulary.tokenizer.get_vocab_size() == 4
    tokenizer = load_encoder(encoder).tokenizer
    words = ["The", "film", "runs", "8\xa01/2", "."]
    assert corpus["train"].texts("words")[2] == "The film runs 8\u00a01\\/2 ."
    example = corpus["train"][2]
    assert set(example.input_ids.tolist()) == {3}
    assert example.window_sizes.tolist() == [len(example.piece_ids)]
    for place, word in enumerate(words):
        own = example.piece_ids[example.piece_words == place]
        assert own.tolist() == tokenizer(word, add_special_tokens=False).input_ids
    ends = example.piece_ids[example.piece_words == NO_WORD].tolist()
    assert ends == [tokenizer.cls_token_id, tokenizer.sep_token_id]


def test_a_window_without_room_for_pieces_is_refused_by_file(folder: Path, tmp_path: Path) -> None:
    PreparedCorpus.open(folder).processor.save_pretrained(tmp_path)
    path = tmp_path / "processor.json"
    settings = json.loads(path.read_text())
    settings["encoder"]["window"] = -1
    path.write_text(json.dumps(settings))
    (tmp_path / "checksums.json").unlink()
    with pytest.raises(ValueError, match=r"processor\.json: encoder: window: expected room for at least"):
        TreeProcessor.from_pretrained(tmp_path).read([Tree.from_brackets("(S (NN film))")])


def test_a_processor_whose_encoder_is_missing_names_its_folder(folder: Path, tmp_path: Path) -> None:
    PreparedCorpus.open(folder).processor.save_pretrained(tmp_path)
    path = tmp_path / "processor.json"
    settings = json.loads(path.read_text())
    settings["encoder"]["source"] = "/not/there"
    path.write_text(json.dumps(settings))
    (tmp_path / "checksums.json").unlink()
    with pytest.raises(ValueError, match=rf"^{tmp_path}: encoder /not/there: expected a folder"):
        TreeProcessor.from_pretrained(tmp_path).read([Tree.from_brackets("(S (NN film))")])


def test_unknown_words_are_those_with_an_unknown_piece(folder: Path) -> None:
    counts = PreparedCorpus.open(folder).manifest.splits["train"]
    assert counts.unknown == pytest.approx(1 / counts.leaves)  # 8 1/2


def test_stored_states_are_those_of_the_encoder(folder: Path, encoder: Path) -> None:
    plain = PreparedCorpus.open(folder)
    stored = plain.with_states()
    model = load_encoder(encoder).model
    for index in range(len(plain["train"])):
        inputs = input_tensors(Columns.of([plain["train"][index]]))
        pieces = {name: inputs[name] for name in ("piece_ids", "piece_mask", "piece_words")}
        with torch.no_grad():
            expected = word_states(model, **pieces, words=inputs["input_ids"].shape[1], layers=(1, 2))[0]
        actual = torch.from_numpy(np.array(stored["train"][index].leaf_states)).float()
        torch.testing.assert_close(actual, expected, atol=2e-3, rtol=2e-3)


def test_the_manifest_names_the_encoder(folder: Path, encoder: Path) -> None:
    facts = read_json(folder / "manifest.json")["encoder"]
    assert facts["source"] == str(encoder.absolute())
    assert facts["sha256"] == encoder_sha256(encoder)
    assert (facts["layers"], facts["window"]) == ([1, 2], 512)


def test_a_second_run_does_nothing(folder: Path, files: Path, encoder: Path) -> None:
    before, log = content(folder), Log()
    make(folder, files, encoder, log)
    assert log.lines == [f"{folder}: up to date"]
    assert content(folder) == before


def test_other_settings_are_prepared_again(files: Path, encoder: Path, tmp_path: Path) -> None:
    output = tmp_path / "prepared"
    make(output, files, encoder, layers=(0, 2))
    assert PreparedCorpus.open(output).with_states()["train"][0].leaf_states.shape[1:] == (2, 16)
    make(output, files, encoder, layers=(1,))
    assert PreparedCorpus.open(output).with_states()["train"][0].leaf_states.shape[1:] == (1, 16)
    make(output, files, None)
    corpus = PreparedCorpus.open(output)
    assert corpus.manifest.encoder is None
    assert corpus["train"][0].piece_ids is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prepared"]


def test_states_are_added_to_a_corpus_for_fine_tuning(
    folder: Path, files: Path, encoder: Path, tmp_path: Path
) -> None:
    for output in (tmp_path / "by training", tmp_path / "by prepare"):
        make(output, files, encoder, train="all")
        with pytest.raises(ValueError, match="no states of an encoder are stored"):
            PreparedCorpus.open(output).with_states()
    with_stored_states(PreparedCorpus.open(tmp_path / "by training"), Progress())
    make(tmp_path / "by prepare", files, encoder)
    assert content(tmp_path / "by training") == content(tmp_path / "by prepare") == content(folder)


def test_a_killed_process_is_continued_to_the_same_bytes(
    files: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states_module, "BATCH", 24)
    make(tmp_path / "whole", files, encoder, whole := Log())
    output = tmp_path / "killed"
    arguments = [recipe(sst_task()).model_dump_json(), str(encoder), str(files), str(output)]
    command = [sys.executable, "-c", PREPARE, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stopped\n"
        os.kill(process.pid, signal.SIGKILL)
    assert not output.exists()
    rest = Log()
    make(output, files, encoder, rest)
    assert rest.updates == whole.updates[2:]  # the third batch was not noted
    assert content(output) == content(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed", "whole"]


class Fails(Progress):
    """Ends the work at the first report."""

    def update(self, done: int, total: int | None, detail: str = "") -> None:
        raise OSError("no space left")


def test_unfinished_states_of_other_layers_are_not_used(files: Path, encoder: Path, tmp_path: Path) -> None:
    output = tmp_path / "prepared"
    with pytest.raises(OSError, match="no space left"):
        make(output, files, encoder, Fails())
    [part] = (tmp_path / ".prepared.treeformer").glob("*.part")
    part.rename(part.with_name("train.states-0000.npy"))
    make(output, files, encoder)
    make(tmp_path / "whole", files, encoder)
    assert content(output) == content(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prepared", "whole"]


def test_states_that_do_not_fit_on_the_disk_are_refused(
    files: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(states_module.shutil, "disk_usage", lambda _: usage._replace(free=100))
    with pytest.raises(OSError, match=r"the states of the encoder take 0\.0 GB, but only 0\.0 GB are free"):
        make(tmp_path / "prepared", files, encoder)


def test_damaged_states_are_named(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, damaged := tmp_path / "damaged")
    path = damaged / "train.states.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(ValueError, match=r"train\.states\.npy: damaged or changed"):
        PreparedCorpus.open(damaged).check()


def test_an_encoder_for_translation_is_refused(encoder: Path, tmp_path: Path) -> None:
    experiment = Experiment(recipe(translation_task()), EncoderRecipe(source=str(encoder)))
    with pytest.raises(ValueError, match="encoder: expected none for a translation task"):
        prepare(experiment, translation_files(tmp_path / "files"), tmp_path / "out", progress=Progress())


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([3], "the encoder has the layers 0 to 2, got 3"),
        ([2, 1], "expected increasing"),
        ([-1], "increasing"),
    ],
)
def test_layers_that_do_not_exist_are_refused(
    files: Path, encoder: Path, tmp_path: Path, layers: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(tmp_path / "prepared", files, encoder, layers=layers)


def test_a_string_in_a_recipe_is_the_source() -> None:
    assert EncoderRecipe.model_validate("minilm") == EncoderRecipe(source="minilm")
    path = Path(__file__).parents[2] / "recipes" / "labelled.yaml"
    assert Recipe.load(path).encoder is None
    assert Recipe.load(path, ["encoder=minilm"]).encoder == EncoderRecipe(source="minilm")
    changed = Recipe.load(path, ["encoder.source=minilm", "encoder.train=all"]).encoder
    assert changed == EncoderRecipe(source="minilm", train="all")


@pytest.fixture(params=[False, True], ids=["installed", "inside"])
def processor(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> TreeProcessor:
    """The processor of a saved model, whose encoder is in its folder or in the one of the encoder."""
    of_corpus = PreparedCorpus.open(folder).processor
    source = of_corpus.settings.encoder.source if not request.param else "/no/such/folder"
    of_corpus.with_encoder(source, inside=request.param).save_pretrained(tmp_path / "run")
    shutil.move(tmp_path / "run", tmp_path / "moved")
    return TreeProcessor.from_pretrained(tmp_path / "moved")


def test_readings_have_the_pieces_of_the_training_examples(processor: TreeProcessor, folder: Path) -> None:
    tree = Tree.from_brackets("(S (NP (DT The) (NN cat)) (@S (VBZ purrs) (. .)))")
    expected = PreparedCorpus.open(folder)["train"][0]
    [reading] = processor.read_all([tree])
    for name in ("input_ids", "node_ids", "node_spans", "piece_ids", "piece_words", "window_sizes"):
        np.testing.assert_array_equal(getattr(reading.example, name), getattr(expected, name))
    assert reading.leaves == 4
    inputs = processor([tree, tree])
    assert inputs["piece_ids"].tolist() == [[expected.piece_ids.tolist()]] * 2
    assert processor(["A long, odd film! (Once more.)"])["piece_words"].max() > 4


def test_hidden_words_are_read_as_the_mask(processor: TreeProcessor) -> None:
    tree = Tree.from_brackets("(S (NP (DT The) (NN cat)) (@S (VBZ purrs) (. .)))")
    [reading] = processor.read_all([tree])
    example = processor.hide(reading, {1, 3})
    hidden = np.isin(example.piece_words, [1, 3])
    assert {*example.piece_ids[hidden].tolist()} == {4}  # [MASK]
    np.testing.assert_array_equal(example.piece_ids[~hidden], reading.example.piece_ids[~hidden])
    np.testing.assert_array_equal(example.piece_words, reading.example.piece_words)


def test_processors_and_manifests_without_encoder_are_written_as_before(files: Path, tmp_path: Path) -> None:
    make(tmp_path / "prepared", files, None)
    corpus = PreparedCorpus.open(tmp_path / "prepared")
    corpus.processor.save_pretrained(tmp_path / "run")
    assert "encoder" not in json.loads((tmp_path / "run" / "processor.json").read_text())
    manifest = json.loads((tmp_path / "prepared" / "manifest.json").read_text())
    assert not manifest.keys() & {"encoder", "states"}
    assert manifest["format"] == 2


def test_another_encoder_than_that_of_the_model_is_refused(
    folder: Path, encoder: Path, tmp_path: Path
) -> None:
    shutil.copytree(encoder, other := tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-5}))
    processor = PreparedCorpus.open(folder).processor
    assert processor.settings.encoder is not None
    facts = processor.settings.encoder.model_copy(update={"source": str(other)})
    changed = TreeProcessor(processor.vocabulary, processor.settings.model_copy(update={"encoder": facts}))
    with pytest.raises(ValueError, match="expected the encoder with SHA-256"):
        changed.read_all(["A film."])
