"""Bracket scores add up, and trees that cannot be compared are refused."""

from __future__ import annotations

import io
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.pairs import Pair, pairs
from tests.test_package import modules_loaded_by
from treeformer import Tree
from treeformer.evaluation import BracketCounts, BracketScores, score_files, score_trees

CAT = Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", unary="keep", strip=False)
DOG = Tree.from_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))", unary="keep", strip=False)


@given(st.lists(pairs(), max_size=6), st.lists(pairs(), max_size=6))
def test_the_scores_of_two_corpora_add_up_to_the_scores_of_both(
    first: list[Pair], second: list[Pair]
) -> None:
    def scores(sentences: list[Pair]) -> BracketScores:
        return score_trees([gold for gold, _ in sentences], [tree for _, tree in sentences]).all

    assert scores(first) + scores(second) == scores(first + second)


@given(st.lists(pairs(), min_size=1, max_size=6))
def test_labels_and_lengths_divide_what_there_is(sentences: list[Pair]) -> None:
    scores = score_trees(*zip(*sentences, strict=True))
    whole = scores.all
    counts = sum(scores.by_label.values(), BracketCounts())
    assert counts == BracketCounts(whole.matched, whole.gold, whole.predicted)
    assert sum(scores.by_tens().values(), BracketScores()) == whole == scores.at_most(10_000)
    for first, last in scores.by_tens():
        assert any(first <= max(1, length) <= last for length in scores.by_length)
    assert whole.sentences == len(sentences)


@given(pairs())
def test_a_tree_is_an_exact_match_of_itself_unless_nothing_is_left_of_it(sentence: Pair) -> None:
    gold, _ = sentence
    scores = score_trees([gold], [gold]).all
    assert scores.exact == scores.complete == scores.uncrossed == scores.valid == 1 - scores.skipped
    assert scores.matched == scores.gold == scores.predicted
    assert scores.correct_tags == scores.words


@given(pairs())
def test_gold_and_predicted_change_places_with_recall_and_precision(sentence: Pair) -> None:
    gold, predicted = sentence
    scores, swapped = score_trees([gold], [predicted]).all, score_trees([predicted], [gold]).all
    assert (scores.precision, scores.recall, scores.f1) == (swapped.recall, swapped.precision, swapped.f1)


def test_an_exact_match_has_the_right_tags_too() -> None:
    tagged = Tree(CAT.words, ["DT", "NN", "NNS"], CAT.labels, CAT.spans)
    scores = score_trees([CAT], [tagged]).all
    assert (scores.complete_match, scores.exact_match) == (100, 0)
    assert scores.tag_accuracy == pytest.approx(200 / 3)


def test_trees_are_taken_one_by_one_and_the_first_pair_over_other_words_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"^tree 3: expected word 2 to be 'cat' as in the gold tree, found 'dog'"
    ):
        score_trees(repeat(CAT), chain([CAT, CAT], repeat(DOG)))
    short = Tree.from_brackets("(NP (DT the) (NN cat))")
    with pytest.raises(ValueError, match="tree 1: expected 3 words as in the gold tree, found 2"):
        score_trees([CAT], [short])
    endless = Tree.from_brackets(f"(NP (DT the) (NN {9999 * 'x'}) (NN x))")
    with pytest.raises(ValueError, match=r"word 2 to be 'cat' .* found 'x{59}$"):
        score_trees([CAT], [endless])


@pytest.mark.parametrize(("gold", "predicted", "longer"), [(2, 1, "gold"), (1, 2, "predicted")])
def test_trees_must_be_as_many_on_both_sides(gold: int, predicted: int, longer: str) -> None:
    with pytest.raises(ValueError, match=f"found tree 2 only in {longer}"):
        score_trees([CAT] * gold, [CAT] * predicted)


def test_every_tree_of_a_line_is_a_sentence_and_empty_lines_are_none() -> None:
    text = f"{CAT} {DOG}\n\n{CAT}\n"
    scores = score_files(io.StringIO(text), io.StringIO(text + "\n"))
    assert scores.all == score_trees([CAT, DOG, CAT], [CAT, DOG, CAT]).all


def test_nothing_scores_zero() -> None:
    scores = score_trees([], [])
    assert scores.all == BracketScores()
    assert scores.all.f1 == scores.all.complete_match == scores.all.tag_accuracy == 0


@pytest.mark.parametrize("module", ["treeformer.evaluation", "treeformer.cli.score"])
def test_scoring_needs_no_torch(module: str) -> None:
    assert not modules_loaded_by(f"import {module}") & {"torch", "transformers", "numpy"}
