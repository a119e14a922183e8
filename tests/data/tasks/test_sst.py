"""SST: sentiments are answers and no inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.data import corpora
from tests.data.corpora import (
    inputs,
    node_labels,
    prepared,
    recipe,
    sst_files,
    sst_task,
    words,
    write,
)
from tests.trees.strategies import plain_labels, trees
from treeformer.data.tasks.sst import SENTIMENTS, phrase_labelled
from treeformer.data.vocabulary import IGNORED
from treeformer.trees import Tree, random_tree


def test_sentiments_are_targets_and_phrase_labels_are_inputs(tmp_path: Path) -> None:
    corpus = prepared(recipe(sst_task()), sst_files(tmp_path / "data"), tmp_path / "out")
    example = corpus["train"][3]
    assert words(corpus, 3) == ["The", "cat", "loves", "the", "film", "."]
    assert node_labels(corpus, 3) == ["NP", "NP", "VP", "@S", "S"]
    assert example.node_spans.tolist() == [[0, 2], [3, 5], [2, 5], [2, 6], [0, 6]]
    assert example.leaf_targets is not None
    assert example.leaf_targets.tolist() == [2, 2, 4, 2, 2, 2]
    assert example.node_targets is not None
    assert example.node_targets.tolist() == [2, 2, 4, 4, 4]
    assert example.label == 4
    assert corpus.manifest.classes == SENTIMENTS


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.randoms(use_true_random=False))
def test_shuffling_the_sentiments_of_a_file_changes_no_input(
    tmp_path_factory: pytest.TempPathFactory, chance: object
) -> None:
    folder = tmp_path_factory.mktemp("leak")
    digits = [character for character in corpora.SENTIMENTS if character.isdigit()]
    places = [
        place
        for place, character in enumerate(corpora.SENTIMENTS)
        if character.isdigit() and corpora.SENTIMENTS[place - 1] == "("
    ]
    scores = [corpora.SENTIMENTS[place] for place in places]
    chance.shuffle(scores)  # type: ignore[attr-defined]
    text = list(corpora.SENTIMENTS)
    for place, score in zip(places, scores, strict=True):
        text[place] = score
    assert len(digits) > len(scores)  # a word with digits is there, and stays
    one = prepared(recipe(sst_task()), sst_files(folder / "one"), folder / "out1")
    two = prepared(recipe(sst_task()), sst_files(folder / "two", "".join(text)), folder / "out2")
    assert inputs(one) == inputs(two)


def test_without_phrase_labels_a_parse_gives_them_to_the_same_shape(tmp_path: Path) -> None:
    data = sst_files(tmp_path / "data")
    ready = prepared(recipe(sst_task()), data, tmp_path / "ready")
    (data / "train.phrases").unlink()
    parsed = prepared(recipe(sst_task()), data, tmp_path / "parsed")
    for index in range(len(ready["train"])):
        one, two = ready["train"][index], parsed["train"][index]
        assert np.array_equal(one.node_spans, two.node_spans)
        assert np.array_equal(one.input_ids, two.input_ids)
        assert np.array_equal(one.node_targets, two.node_targets)  # type: ignore[arg-type]
    assert node_labels(parsed, 3) == ["NP", "NP", "VP", "@S", "S"]


def test_two_classes_leave_out_neutral_sentences_and_keep_neutral_phrases(tmp_path: Path) -> None:
    data = sst_files(tmp_path / "data")
    corpus = prepared(recipe(sst_task(classes=2)), data, tmp_path / "out")
    assert corpus["train"].labels.tolist() == [3, 1, 4, 0, 3]  # type: ignore[union-attr]
    assert corpus.manifest.classes == SENTIMENTS
    assert corpus.manifest.halves
    assert 2 in corpus["train"].flat("node_targets")[0]
    plain = prepared(recipe(sst_task(classes=2, two_way_head=True)), data, tmp_path / "two")
    assert plain["train"].labels.tolist() == [1, 0, 1, 0, 1]  # type: ignore[union-attr]
    assert plain.manifest.classes == ("negative", "positive")
    assert set(plain["train"].flat("node_targets")[0].tolist()) == {IGNORED, 0, 1}


def test_a_no_break_space_belongs_to_its_word(tmp_path: Path) -> None:
    data = sst_files(tmp_path / "data")
    for name in ("ready", "parsed"):
        corpus = prepared(recipe(sst_task()), data, tmp_path / name)
        assert words(corpus, 2) == ["The", "film", "runs", "8\u00a01\\/2", "."]
        (data / "train.phrases").unlink(missing_ok=True)


def test_words_seen_once_are_unknown(tmp_path: Path) -> None:
    made = recipe(sst_task(), vocabulary={"kind": "words", "min_count": 2})
    corpus = prepared(made, sst_files(tmp_path / "data"), tmp_path / "out")
    assert words(corpus, 0) == ["The", "cat", "<unk>", "."]
    assert words(corpus, 5) == ["<unk>"]


def test_the_target_of_a_word_in_pieces_sits_on_its_tag(tmp_path: Path) -> None:
    made = recipe(sst_task(), vocabulary={"kind": "bpe", "size": 40})
    corpus = prepared(made, sst_files(tmp_path / "data"), tmp_path / "out")
    example = corpus["train"][3]
    assert words(corpus, 3) == ["The", "cat", "loves", "the", "film", "."]
    assert example.leaf_targets is not None
    assert example.node_targets is not None
    pieces = [len(corpus.processor.vocabulary.ids(word)) for word in words(corpus, 3)]
    assert pieces[2] > 1
    start = sum(pieces[:2])
    assert set(example.leaf_targets[start : start + pieces[2]].tolist()) == {IGNORED}
    (tag,) = [
        node for node, span in enumerate(example.node_spans.tolist()) if span == [start, start + pieces[2]]
    ]
    assert example.node_targets[tag] == 4
    assert node_labels(corpus, 3)[tag] == "VBZ"


@pytest.mark.parametrize("kind", ["balanced", "left", "right", "random"])
def test_control_trees_keep_words_and_the_targets_that_still_have_a_node(tmp_path: Path, kind: str) -> None:
    data = sst_files(tmp_path / "data")
    corpus = prepared(recipe(sst_task(), trees=kind), data, tmp_path / "out")
    example = corpus["train"][3]
    assert words(corpus, 3) == ["The", "cat", "loves", "the", "film", "."]
    assert set(node_labels(corpus, 3)) == {"X"}
    assert example.leaf_targets is not None
    assert example.leaf_targets.tolist() == [2, 2, 4, 2, 2, 2]
    assert example.node_targets is not None
    assert example.node_targets[-1] == example.label == 4
    known = {(0, 2): 2, (3, 5): 2, (2, 5): 4, (2, 6): 4, (0, 6): 4}
    spans = map(tuple, example.node_spans.tolist())
    assert example.node_targets.tolist() == [known.get(span, IGNORED) for span in spans]


def test_trees_over_other_words_are_refused(tmp_path: Path) -> None:
    data = write(sst_files(tmp_path / "data"), train__phrases=corpora.PHRASES.replace("purrs", "sleeps"))
    with pytest.raises(ValueError, match=r"train\.txt:1: expected one tree over the words of"):
        prepared(recipe(sst_task()), data, tmp_path / "out")
    write(data, train__phrases=corpora.PHRASES, train__txt=corpora.SENTIMENTS.replace("(3 (2", "(7 (2", 1))
    with pytest.raises(ValueError, match=r"train\.txt:1: expected labels 0 to 4, found '7'"):
        prepared(recipe(sst_task()), data, tmp_path / "out")


@given(trees(unary=False, node_labels=plain_labels()), st.integers(0, 5))
def test_phrase_labels_come_from_the_smallest_constituent_around(parse: Tree, seed: int) -> None:
    shape = random_tree(parse.words, seed)
    labelled = phrase_labelled(shape, parse)
    assert labelled.spans == shape.spans
    assert labelled.tags == parse.tags
    for label, (start, end) in zip(labelled.labels, labelled.spans, strict=True):
        around = min(
            (
                (last - first, name)
                for name, (first, last) in zip(parse.labels, parse.spans, strict=True)
                if first <= start and end <= last
            ),
            key=lambda found: found[0],
        )
        assert label == (around[1] if around[0] == end - start else f"@{around[1]}")
    assert phrase_labelled(parse, parse) == parse


def test_shuffled_labels_stay_in_their_tree_and_targets_on_their_phrases(tmp_path: Path) -> None:
    data = sst_files(tmp_path / "data")
    parsed = prepared(recipe(sst_task()), data, tmp_path / "parsed")
    shuffled = prepared(recipe(sst_task(), trees="shuffled"), data, tmp_path / "shuffled")
    moved = 0
    for index in range(len(parsed["train"])):
        before, after = parsed["train"][index], shuffled["train"][index]
        assert before.node_spans.tolist() == after.node_spans.tolist()
        assert before.node_targets is not None
        assert after.node_targets is not None
        assert before.node_targets.tolist() == after.node_targets.tolist()
        assert sorted(node_labels(parsed, index)) == sorted(node_labels(shuffled, index))
        moved += node_labels(parsed, index) != node_labels(shuffled, index)
    assert moved
    assert parsed.manifest.node_vocab_size == shuffled.manifest.node_vocab_size


def test_a_parse_may_give_the_shape_too_and_shared_phrases_keep_their_targets(tmp_path: Path) -> None:
    data = sst_files(tmp_path / "data", "(4 (2 (2 The) (2 cat)) (4 (4 (4 loves) (2 it)) (2 .)))\n")
    parse = "(ROOT (S (NP (DT The) (NN cat)) (VP (VBZ loves) (NP (PRP it))) (. .)))\n"
    (data / "train.phrases").write_text(parse)
    corpus = prepared(recipe(sst_task(shape="parse")), data, tmp_path / "out")
    example = corpus["train"][0]
    assert example.node_targets is not None
    found = dict(zip(map(tuple, example.node_spans.tolist()), example.node_targets.tolist(), strict=True))
    assert found == {(0, 2): 2, (2, 4): 4, (0, 4): IGNORED, (0, 5): 4} or found == {
        (0, 2): 2,
        (2, 4): 4,
        (2, 5): 4,
        (0, 5): 4,
    }
    assert corpus.processor.settings.binary
