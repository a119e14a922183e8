"""Translation: trees over the source, tokens of the target."""

from __future__ import annotations

from pathlib import Path

from tests.data import corpora
from tests.data.corpora import (
    node_labels,
    prepared,
    recipe,
    translation_files,
    translation_task,
    words,
    write,
)


def test_source_is_a_tree_and_target_is_tokens(tmp_path: Path) -> None:
    made = recipe(translation_task(), vocabulary={"kind": "bpe", "size": 96})
    corpus = prepared(made, translation_files(tmp_path / "data"), tmp_path / "out")
    split = corpus["test"]
    assert split.texts("target_text") == corpora.GERMAN
    assert split.texts("target_tokens")[1] == "Zwei Hunde bellen ! Die Katze ( eine alte ) wacht auf ."
    for index in range(3):
        target = split[index].target_ids
        assert target is not None
        assert " ".join(corpus.processor.words(target.tolist())) == split.texts("target_tokens")[index]
        assert corpus.processor.text(target.tolist()) == corpora.GERMAN[index]
    assert words(corpus, 1) == ["Two", "dogs", "bark", "!", "The", "cat", "wakes", "."]
    assert corpus.manifest.vocab_size % 8 == 0
    assert corpus.manifest.classes == ()


def test_several_sentences_stand_under_one_root_and_one_does_not(tmp_path: Path) -> None:
    corpus = prepared(recipe(translation_task()), translation_files(tmp_path / "data"), tmp_path / "out")
    assert node_labels(corpus, 0) == ["NP", "S"]
    assert node_labels(corpus, 1) == ["NP", "S", "NP", "S", "DOC"]


def test_given_tokens_are_kept_and_their_entities_read(tmp_path: Path) -> None:
    data = write(
        tmp_path / "data",
        train__en=["it &apos;s late . go !"],
        train__de=["es ist &quot; spät &quot; ."],
    )
    task = translation_task(source_tokens="given", target_tokens="given")
    corpus = prepared(recipe(task), data, tmp_path / "out")
    assert words(corpus, 0) == ["it", "'s", "late", ".", "go", "!"]
    assert node_labels(corpus, 0)[-1] == "DOC"
    assert corpus["test"].texts("target_tokens") == ['es ist " spät " .']
    assert corpus["test"].texts("target_text") == ['es ist "spät".']


def test_text_without_trees_is_parsed(tmp_path: Path) -> None:
    data = translation_files(tmp_path / "data")
    (data / "train.trees").unlink()
    corpus = prepared(recipe(translation_task()), data, tmp_path / "out")
    assert words(corpus, 1) == ["Two", "dogs", "bark", "!", "The", "cat", "wakes", "."]
    assert node_labels(corpus, 1)[-1] == "DOC"


def test_chains_are_kept_on_request(tmp_path: Path) -> None:
    made = recipe(translation_task(), unary="keep")
    corpus = prepared(made, translation_files(tmp_path / "data"), tmp_path / "out")
    assert node_labels(corpus, 0) == ["NP", "VP", "S", "ROOT"]


def test_french_words_that_a_parser_split_are_written_in_one_again(tmp_path: Path) -> None:
    data = write(
        tmp_path / "data",
        train__en=["la fin du jour"],
        train__de=["das Ende des Tages"],
        train__trees="(ROOT (NP (DET la) (NOUN fin) (PP (ADP de) (NP (DET le) (NOUN jour)))))\n",
    )
    corpus = prepared(recipe(translation_task(language="fr")), data, tmp_path / "out")
    assert words(corpus, 0) == ["la", "fin", "du", "jour"]


def test_the_first_lines_of_longer_files_can_be_enough(tmp_path: Path) -> None:
    data = translation_files(tmp_path / "data")
    trees = (data / "train.trees").read_text().splitlines()
    (data / "train.trees").write_text("".join(f"{line}\n" for line in trees[:2]))
    part = {"file": "train.en", "target": "train.de", "trees": "train.trees", "first": 2}
    corpus = prepared(recipe(translation_task(splits={"train": part})), data, tmp_path / "out")
    assert len(corpus["train"]) == 2
