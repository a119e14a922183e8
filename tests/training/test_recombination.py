"""Recombination gives all sentences in which one phrase is replaced, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from treeformer.cli.commands import app
from treeformer.training.recombination import recombine
from treeformer.trees import Tree

BRACKETS = (
    "(ROOT (S (NP (DT The) (NN cat)) (VP (VBD saw) (NP (DT the) (JJ old) (NN dog))) (. .)))",
    "(ROOT (S (NP (DT A) (NN boy)) (VP (VBD ran) (PP (IN to) (NP (DT the) (NN park)))) (. .)))",
    "(S (NP (NNP Ann)) (VP (VBD slept) (PP (IN in) (NP (DT a) (NN tent))) (ADVP (RB very) (RB well))))",
    "(ROOT (X (DT The) (NN park) (VBD saw) (DT the) (JJ old) (NN dog) (. .)))",  # nothing is replaced
    "(ROOT (S (NP (PRP They)) (VP (VBD saw) (NP (DT a) (NN park)) (PP (IN at) (NP (NN noon))))))",
)
TREES = [Tree.from_brackets(line, unary="keep") for line in BRACKETS]


def with_one_phrase_replaced(trees: list[Tree]) -> set[tuple[str, ...]]:
    """All sentences with one phrase replaced, by brute force."""
    phrases = [
        (tree, label, start, end)
        for tree in trees
        for label, (start, end) in zip(tree.labels, tree.spans, strict=True)
        if end - start >= 2 and len(tree.words) - (end - start) >= 3
    ]
    sentences = set()
    for tree, label, start, end in phrases:
        for other, other_label, other_start, other_end in phrases:
            first, other_first = tree.words[start].lower(), other.words[other_start].lower()
            begins = first == other_first if label == "NP" else tree.tags[start] == other.tags[other_start]
            begins = begins and (first[0] in "aeiouyh") == (other_first[0] in "aeiouyh")
            if label == other_label and begins and (end - start > 3) == (other_end - other_start > 3):
                taken = [other_first, *other.words[other_start + 1 : other_end]]
                words = [*tree.words[:start], *taken, *tree.words[end:]]
                sentences.add((words[0].capitalize(), *words[1:]))
    return sentences - {tree.words for tree in trees}


def test_short_sentences_have_one_phrase_replaced_in_every_possible_way() -> None:
    expected = with_one_phrase_replaced(TREES)
    assert ("The", "cat", "saw", "the", "park", ".") in expected
    assert ("The", "park", "saw", "the", "old", "dog", ".") not in expected  # a sentence of the trees
    sentences = recombine(TREES, len(expected))
    assert set(sentences) == expected
    assert len(sentences) == len(expected)
    with pytest.raises(
        ValueError, match=f"for {len(expected) + 1} new sentences, got {len(expected)} until 1000 attempts"
    ):
        recombine(TREES, len(expected) + 1)


def test_sentences_repeat_with_the_seed_and_differ_between_seeds() -> None:
    assert recombine(TREES, 4, seed=1) == recombine(TREES, 4, seed=1)
    assert any(recombine(TREES, 4, seed=1) != recombine(TREES, 4, seed=seed) for seed in range(2, 6))


def test_long_sentences_have_several_phrases_replaced() -> None:
    phrases = " ".join(f"(NP (DT the) (NN x{place}))" for place in range(12))
    tree = Tree.from_brackets(f"(ROOT (S {phrases} (. .)))", unary="keep")
    changes = set()
    for words in recombine([tree], 50):
        assert len(words) == 25
        assert [word.lower() for word in words[::2]] == ["the"] * 12 + ["."]
        changes.add(sum(words[place] != tree.words[place] for place in range(25)))
    assert max(changes) == 3  # 1 + 25 // 10


def test_no_phrase_is_replaced_inside_another() -> None:
    short = [("the", "a"), ("the", "b"), ("the", "c"), ("the", "d"), ("the", "big", "e")]
    a, b, c, d, e = (f"(NP {' '.join(f'(X {word})' for word in words)})" for words in short)
    trees = [
        f"(ROOT (S (NP {a} (PP (X of) {b})) (X met) (X men) (X and) (X women) (X there)))",
        f"(ROOT (S (NP {c} (PP (X of) {d})) (X ran) (X to) (X them)))",
        f"(ROOT (S (X who) (X saw) {e} (X run)))",
    ]
    long = [("the", "a", "of", "the", "b"), ("the", "c", "of", "the", "d")]
    expected = {*long, *((*one, "of", *other) for one in short for other in short)}
    sentences = recombine([Tree.from_brackets(line, unary="keep") for line in trees], 30)
    begins = {words[: words.index("met")] for words in sentences if "met" in words}
    assert len(begins) > 10
    assert begins <= expected
    assert all(words[-4:] == ("men", "and", "women", "there") for words in sentences if "met" in words)


@pytest.mark.parametrize(
    ("first", "expected"), [("They", "they"), ("I", "I"), ("French", "French"), ("Häuser", "Häuser")]
)
def test_the_first_word_of_a_sentence_is_written_as_inside_other_sentences(first: str, expected: str) -> None:
    trees = [
        f"(ROOT (S (NP (X {first}) (X two)) (VP (X a) (X b) (X c))))",
        "(ROOT (S (X so) (NP (X they) (X I) (X French) (X Häuser)) (X d)))",
        f"(ROOT (S (X who) (X met) (NP (X {expected}) (X three)) (X there)))",
    ]
    sentences = recombine([Tree.from_brackets(line, unary="keep") for line in trees], 2)
    assert ("who", "met", expected, "two", "there") in sentences


def test_phrases_that_nothing_can_replace_are_not_tried() -> None:
    lonely = [f"(ROOT (S (X{number} (A a) (B b)) (C c) (D d) (E e)))" for number in range(3000)]
    trees = [Tree.from_brackets(line, unary="keep") for line in (*lonely, BRACKETS[0], BRACKETS[1])]
    for seed in range(20):
        recombine(trees, 1, seed=seed)


def test_trees_without_phrases_are_refused() -> None:
    with pytest.raises(ValueError, match="expected enough of them for 1 new sentences, got 0"):
        recombine([Tree.from_brackets("(ROOT (S (NP (DT the) (NN cat))))", unary="keep")], 1)


def test_the_command_writes_text_and_reports_skipped_lines(tmp_path: Path) -> None:
    trees = tmp_path / "trees.txt"
    trees.write_text("\n".join((*BRACKETS, "(ROOT (S (NP (DT the) (CD 10 000))))")) + "\n")
    result = CliRunner().invoke(app, ["parser", "recombine", str(trees), "--count", "5"])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(set(lines)) == 5
    assert not any(" ." in line for line in lines)
    assert "1 lines skipped; the first: " in result.stderr


def test_the_command_explains_why_it_cannot_write_sentences(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("These are words.\n")
    result = CliRunner().invoke(app, ["parser", "recombine", str(text), "--count", "5"])
    assert f"1 lines skipped; the first: {text}:1" in result.stderr
    assert "got 0" in str(result.exception)
    result = CliRunner().invoke(app, ["parser", "recombine", str(text), "--count", "5", "--language", "FR"])
    assert "language: expected one of en, de, fr, got 'FR'" in str(result.exception)


def test_the_command_contracts_french_words(tmp_path: Path) -> None:
    trees = tmp_path / "trees.txt"
    trees.write_text(
        "(SENT (NP (DET Le) (NOUN chat)) (VN (V dort)) (PP (ADP à) (NP (DET le) (NOUN soleil))) (PUNCT .))\n"
        "(SENT (NP (DET Le) (NOUN chien)) (VN (V court)) (PP (ADP à) (NP (DET le) (NOUN parc))) (PUNCT .))\n"
    )
    command = ["parser", "recombine", str(trees), "--count", "3", "--language", "fr"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert all(" au " in line for line in result.stdout.splitlines())
