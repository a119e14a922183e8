"""Our scores are those that EVALB prints, digit by digit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.evalb import LINES, Evalb, printed
from tests.evaluation.pairs import Pair, pair, pairs, realistic_tree
from treeformer import Tree
from treeformer.evaluation import score_files, score_trees


def assert_same(evalb: Evalb, sentences: Sequence[Pair]) -> None:
    """Both programs print the same, for all sentences and for those of at most 40 words."""
    gold, predicted = zip(*sentences, strict=True)
    ours = score_trees(gold, predicted)
    everything, short = evalb(gold, predicted)
    assert everything.keys() == LINES.keys()
    assert printed(ours.all) == everything
    assert printed(ours.at_most(40)) == short


@given(sentences=st.lists(pairs(), min_size=1, max_size=8))
def test_random_pairs_of_trees_score_as_in_evalb(evalb: Evalb, sentences: list[Pair]) -> None:
    assert_same(evalb, sentences)


@pytest.mark.parametrize("seed", range(3))
def test_realistic_sentences_score_as_in_evalb(evalb: Evalb, seed: int) -> None:
    random = Random(seed)
    sentences = [pair(realistic_tree(random), random) for _ in range(400)]
    assert_same(evalb, sentences)
    scores = score_trees(*zip(*sentences, strict=True))
    assert scores.all.errors > 0
    assert 50 < scores.all.f1 < 100
    assert 0 < scores.all.no_crossing < scores.all.two_or_less_crossing < 100
    assert scores.at_most(40).sentences < scores.all.sentences


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        pytest.param("(S (. .))", "(S (. .))", id="only punctuation is skipped"),
        pytest.param("(S (NN a) (. .))", "(S (. a) (. .))", id="only punctuation predicted is skipped"),
        pytest.param("(S (. a))", "(S (NN a))", id="only punctuation in gold is an error"),
        pytest.param("(S (NN a) (. .))", "(S (NN a) (NN .))", id="a stop that is no punctuation is an error"),
        pytest.param("(S (NN a) (. .))", "(S (NN a) (, !))", id="punctuation may differ"),
        pytest.param("(ROOT (NN a))", "(ROOT (NN a))", id="a sentence without brackets is complete"),
        pytest.param("( (S (NN a)))", "(ROOT (S (NN a)))", id="no outermost label is ROOT"),
        pytest.param("(TOP (S (TOP (NN a))))", "(S (NN a))", id="TOP goes wherever it is"),
        pytest.param("(S (NN a) (NN b))", "(NP (NN a) (NN b))", id="nothing matches"),
        pytest.param("(S (-LRB- (NN a)))", "(S (-X- (NN a)))", id="a label that begins with - is empty"),
        pytest.param("(S (-NONE- (NN a)))", "(S (NN a))", id="a trace is a tag, not a label"),
        pytest.param("(S (, (NN a)))", "(S (NN a))", id="labels like punctuation go"),
        pytest.param("(S (,-X (NN a)))", "(S (NN a))", id="labels are cut before they are deleted"),
        pytest.param("(S (,-X a) (NN b))", "(S (NN a) (NN b))", id="tags are not cut"),
        pytest.param("(S (ADVP a))", "(S (PRT a))", id="ADVP and PRT are one tag, too"),
        pytest.param("(PRT (ADVP (RP a)))", "(ADVP (ADVP (RP a)))", id="ADVP and PRT match in any order"),
        pytest.param("(NP (NP (NN a)))", "(NP (NN a))", id="equal brackets count one by one"),
        pytest.param("(S (NP-SBJ (-NONE- *)) (VP (VB a)))", "(S (VP (VB a)))", id="traces go"),
        pytest.param("(S (-LRB- -LRB-) (NN a))", "(S (-LRB- -LRB-) (NN a))", id="brackets are words"),
        pytest.param("(S (NN a\u00a0b))", "(S (NN a\u00a0b))", id="no-break spaces are text"),
    ],
)
def test_a_special_case_scores_as_in_evalb(evalb: Evalb, gold: str, predicted: str) -> None:
    assert_same(evalb, [(_read(gold), _read(predicted))])


@pytest.mark.parametrize("words", [40, 41])
@pytest.mark.parametrize("extra", ["(. .)", "(-NONE- *)"])
def test_length_counts_punctuation_and_leaves_out_traces(evalb: Evalb, words: int, extra: str) -> None:
    tree = _read(f"(S {'(NN a) ' * (words - 1)}{extra})")
    assert_same(evalb, [(tree, tree)])
    assert score_trees([tree], [tree]).at_most(40).sentences == int(words == 40 or "NONE" in extra)


@pytest.mark.parametrize("failed", ["", " ", "()", "(())", "(TOP)", "(TOP )", "( (S) )", "(S", "((S) (NP))"])
def test_a_line_without_words_is_skipped_as_in_evalb(evalb: Evalb, failed: str, tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold", tmp_path / "predicted"
    tree = "(S (NP (NN a)) (. .))\n"
    gold.write_text(tree * 3)
    predicted.write_text(f"{tree}{failed}\n{tree}")
    scores = score_files(gold, predicted)
    everything, short = evalb.on_files(gold, predicted)
    assert printed(scores.all) == everything
    assert printed(scores.at_most(40)) == short
    assert scores.all.skipped == 1


def _read(text: str) -> Tree:
    return Tree.from_brackets(text, unary="keep", strip=False)
