"""Recombination: all sentences that trading one phrase can give, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from treeformer.cli.main import app
from treeformer.training.recombination import recombined
from treeformer.trees import Tree

BRACKETS = (
    "(ROOT (S (NP (DT The) (NN cat)) (VP (VBD saw) (NP (DT the) (JJ old) (NN dog))) (. .)))",
    "(ROOT (S (NP (DT A) (NN boy)) (VP (VBD ran) (PP (IN to) (NP (DT the) (NN park)))) (. .)))",
    "(S (NP (NNP Ann)) (VP (VBD slept) (PP (IN in) (NP (DT a) (NN tent))) (ADVP (RB very) (RB well))))",
)
TREES = [Tree.from_brackets(line, unary="keep") for line in BRACKETS]


def traded(trees: list[Tree]) -> set[tuple[str, ...]]:
    """Literally: for each phrase of each tree each other one of its kind, in sentences too short for two."""
    phrases = [
        (tree, label, start, end)
        for tree in trees
        for label, (start, end) in zip(tree.labels, tree.spans, strict=True)
        if end - start >= 2 and len(tree.words) - (end - start) >= 3
    ]
    found = set()
    for tree, label, start, end in phrases:
        for other, other_label, other_start, other_end in phrases:
            first, other_first = tree.words[start].lower(), other.words[other_start].lower()
            begins = first == other_first if label == "NP" else tree.tags[start] == other.tags[other_start]
            if label == other_label and begins and (end - start > 3) == (other_end - other_start > 3):
                taken = [other_first, *other.words[other_start + 1 : other_end]]
                words = [*tree.words[:start], *taken, *tree.words[end:]]
                found.add((words[0].capitalize(), *words[1:]))
    return found - {tree.words for tree in trees}


def test_short_sentences_trade_one_phrase_in_all_ways_that_there_are() -> None:
    expected = traded(TREES)
    assert ("The", "park", "saw", "the", "old", "dog", ".") in expected
    found = recombined(TREES, len(expected))
    assert set(found) == expected
    assert len(found) == len(expected)
    with pytest.raises(
        ValueError, match=f"enough for {len(expected) + 1} new sentences, found {len(expected)}"
    ):
        recombined(TREES, len(expected) + 1)


def test_a_seed_gives_the_same_sentences_again_and_another_seed_others() -> None:
    assert recombined(TREES, 4, seed=1) == recombined(TREES, 4, seed=1)
    assert any(recombined(TREES, 4, seed=1) != recombined(TREES, 4, seed=seed) for seed in range(2, 6))


def test_long_sentences_trade_several_phrases_none_inside_another() -> None:
    phrases = " ".join(f"(NP (DT the) (NN x{place}))" for place in range(12))
    tree = Tree.from_brackets(f"(ROOT (S {phrases} (. .)))", unary="keep")
    for words in recombined([tree], 50):
        assert len(words) == 25
        changed = sum(words[place] != tree.words[place] for place in range(25))
        assert 1 <= changed <= 3  # 1 + 25 // 10
        assert [word.lower() for word in words[::2]] == ["the"] * 12 + ["."]


def test_trees_without_phrases_are_refused() -> None:
    with pytest.raises(ValueError, match="expected enough for 1 new sentences, found 0"):
        recombined([Tree.from_brackets("(ROOT (S (NP (DT the) (NN cat))))", unary="keep")], 1)


def test_the_command_writes_text_and_says_what_it_left_out(tmp_path: Path) -> None:
    trees = tmp_path / "trees.txt"
    trees.write_text("\n".join((*BRACKETS, "(ROOT (S (NP (DT the) (CD 10 000))))")) + "\n")
    found = CliRunner().invoke(app, ["parser", "recombine", str(trees), "--count", "5"])
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert len(set(lines)) == 5
    assert not any(" ." in line for line in lines)
    assert "1 lines left out; the first: " in found.stderr


def test_the_command_writes_french_words_as_they_are_written(tmp_path: Path) -> None:
    trees = tmp_path / "trees.txt"
    trees.write_text(
        "(SENT (NP (DET Le) (NOUN chat)) (VN (V dort)) (PP (ADP à) (NP (DET le) (NOUN soleil))) (PUNCT .))\n"
        "(SENT (NP (DET Le) (NOUN chien)) (VN (V court)) (PP (ADP à) (NP (DET le) (NOUN parc))) (PUNCT .))\n"
    )
    command = ["parser", "recombine", str(trees), "--count", "3", "--language", "fr"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    assert all(" au " in line for line in found.stdout.splitlines())
