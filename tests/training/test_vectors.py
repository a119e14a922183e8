"""Models that start from word vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.training.corpora import SCORES, experiment, sentiment, translation
from tests.training.test_loop import LoggedLines
from treeformer.data.corpus import PreparedCorpus
from treeformer.models.systems import SYSTEMS
from treeformer.training import checkpoints
from treeformer.training.experiment import VectorCounts, build_model, initialise_embeddings
from treeformer.training.loop import train
from treeformer.training.runs import RunFacts


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return sentiment(tmp_path_factory.mktemp("sentiment"))


def vectors(folder: Path, words: list[str], width: int) -> tuple[Path, dict[str, list[float]]]:
    """Write a file of random vectors; return its path and content."""
    generator = torch.Generator().manual_seed(1)
    content = {word: torch.randn(width, generator=generator).tolist() for word in words}
    path = folder / "vectors.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in content.items()))
    return path, content


@pytest.mark.parametrize("name", [name for name, system in SYSTEMS.items() if system.classifier])
def test_the_embedding_of_every_system_returns_the_vectors_of_known_words(
    corpus: PreparedCorpus, tmp_path: Path, name: str
) -> None:
    path, content = vectors(tmp_path, ["good", "film", "unasked"], 16)
    recipe = experiment(
        corpus, f"model={name}", f"systems.{name}={{sizes: {{d_model: 16}}}}", f"vectors={path}"
    )
    torch.manual_seed(0)
    plain = build_model(recipe, corpus)
    torch.manual_seed(0)
    model = build_model(recipe, corpus)
    assert initialise_embeddings(model, recipe, corpus) == VectorCounts(2, len(SCORES))
    embedding, vocabulary = model.get_input_embeddings(), corpus.processor.vocabulary
    known = [vocabulary.ids(word)[0] for word in ("good", "film")]
    expected = torch.tensor([content["good"], content["film"]])
    torch.testing.assert_close(embedding(torch.tensor(known)), expected)
    others = [row for row in range(len(embedding.weight)) if row not in known]
    assert torch.equal(embedding.weight[others], plain.get_input_embeddings().weight[others])


def test_pieces_that_are_whole_words_start_from_vectors(tmp_path: Path) -> None:
    corpus = translation(tmp_path / "files")
    vocabulary = corpus.processor.vocabulary
    words_of_one_piece = vocabulary.whole_words()
    assert "the" in words_of_one_piece
    assert all(vocabulary.ids(word) == (number,) for word, number in words_of_one_piece.items())
    assert {word for word in SCORES if len(vocabulary.ids(word)) == 1} <= set(words_of_one_piece)
    path, content = vectors(tmp_path, ["the"], 16)
    recipe = experiment(corpus, f"vectors={path}")
    model = build_model(recipe, corpus)
    assert initialise_embeddings(model, recipe, corpus) == VectorCounts(1, len(words_of_one_piece))
    embedded = model.get_input_embeddings()(torch.tensor(vocabulary.ids("the")))
    torch.testing.assert_close(embedded, torch.tensor([content["the"]]))


@pytest.mark.parametrize("name", ["tree-transformer", "bilstm"])
def test_a_run_logs_its_vectors_and_a_resumed_run_does_not_read_them(
    corpus: PreparedCorpus, tmp_path: Path, name: str
) -> None:
    path, content = vectors(tmp_path, ["good", "film"], 16)
    system = [f"model={name}", f"systems.{name}={{sizes: {{d_model: 16}}}}", "training.learning_rate=1e-9"]
    changes = [f"vectors={path}", *system]
    progress = LoggedLines()
    train(experiment(corpus, *changes), corpus, tmp_path / "run", device="cpu", progress=progress)
    assert f"{path}: vectors of 2 of {len(SCORES)} words" in progress.lines
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["vectors"] == {"with_vector": 2, "words": len(SCORES)}
    assert facts["recipe"]["vectors"] == str(path)
    weights = checkpoints.load(tmp_path / "run" / "state" / "12").tensors["model"]
    row = weights["encoder.embedding.weight"][corpus.processor.vocabulary.ids("good")[0]]
    torch.testing.assert_close(row * 4, torch.tensor(content["good"]), rtol=0, atol=1e-5)

    path.unlink()  # a resumed run reads its checkpoint
    (tmp_path / "run" / "run.json").write_text(json.dumps({**facts, "finished": False}))
    (tmp_path / "run" / "checksums.json").unlink()
    train(experiment(corpus, *changes), corpus, tmp_path / "run", device="cpu", progress=progress)
    again = json.loads((tmp_path / "run" / "run.json").read_text())
    assert again["finished"]
    assert again["vectors"] == facts["vectors"]
    old = {**facts, "vectors": {"found": 2, "words": len(SCORES)}}  # as version 0.1.0 wrote it
    assert RunFacts.model_validate(old).vectors == VectorCounts(2, len(SCORES))
    with pytest.raises(ValueError, match=r"another recipe \(vectors was '.*vectors\.txt', now None\)"):
        train(experiment(corpus, *system), corpus, tmp_path / "run", device="cpu", progress=progress)


@pytest.mark.parametrize(("name", "size"), [("transformer", "d_model"), ("bilstm", "embedding_dim")])
def test_vectors_of_another_width_are_refused_with_the_size_that_fits(
    corpus: PreparedCorpus, tmp_path: Path, name: str, size: str
) -> None:
    path, _ = vectors(tmp_path, ["good"], 6)
    recipe = experiment(
        corpus, f"model={name}", f"systems.{name}={{sizes: {{d_model: 16}}}}", f"vectors={path}"
    )
    message = rf"vectors\.txt: the vectors are 6 .* model 16; expected systems\.{name}\.sizes\.{size}: 6"
    with pytest.raises(ValueError, match=message):
        train(recipe, corpus, tmp_path / "run", device="cpu", progress=LoggedLines())
    assert not (tmp_path / "run").exists()
