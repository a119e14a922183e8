"""The embedded parser as it comes with the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.strategies import words
from treeformer import load_parser
from treeformer.parsing import Parser
from treeformer.parsing.loading import MODELS


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("en")


SENTENCES = {
    "The cat sleeps well.": "(ROOT (S (NP (DT The) (NN cat)) (VP (VBZ sleeps) (ADVP (RB well))) (. .)))",
    "What did she say?": "(ROOT (SBARQ (WHNP (WP What)) (SQ (VBD did) (NP (PRP she)) (VP (VB say))) (. ?)))",
    "the dog chased the cat": "(ROOT (S (NP (DT the) (NN dog)) (VP (VBD chased) (NP (DT the) (NN cat)))))",
}


@pytest.mark.parametrize(("text", "expected"), SENTENCES.items())
def test_plain_sentences_are_parsed_as_one_expects(parser: Parser, text: str, expected: str) -> None:
    assert [str(tree) for tree in parser.parse([text])] == [expected]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "de",
            "Wo ist der Bahnhof?",
            "(ROOT (NUR (S (ADV Wo) (AUX ist) (NP (DET der) (NOUN Bahnhof))) (PUNCT ?)))",
        ),
        (
            "fr",
            "La fille du voisin mange une pomme.",
            "(ROOT (SENT (NP (DET La) (NOUN fille) (PP (ADP du) (NP (NOUN voisin)))) (VN (VERB mange)) "
            "(NP (DET une) (NOUN pomme)) (PUNCT .)))",
        ),
        (
            "fr",
            "La fille de le voisin mange une pomme.",  # as CoreNLP splits it
            "(ROOT (SENT (NP (DET La) (NOUN fille) (PP (ADP de) (NP (DET le) (NOUN voisin)))) "
            "(VN (VERB mange)) (NP (DET une) (NOUN pomme)) (PUNCT .)))",
        ),
    ],
)
def test_german_and_french_are_parsed_too(language: str, text: str, expected: str) -> None:
    assert [str(tree) for tree in load_parser(language).parse([text])] == [expected]


@given(st.lists(st.lists(words(), min_size=1, max_size=9), min_size=1, max_size=4))
@settings(max_examples=40)
def test_leaves_are_exactly_the_given_tokens(sentences: list[list[str]]) -> None:
    trees = load_once().parse_tokens(sentences)
    assert [list(tree.words) for tree in trees] == sentences
    for tree in trees:
        assert tree.labels[-1] == "ROOT"
        assert tree == type(tree)(tree.words, tree.tags, tree.labels, tree.spans)  # a valid tree


def load_once(cache: list[Parser] = []) -> Parser:  # noqa: B006  # one parser for all examples
    if not cache:
        cache.append(load_parser("en"))
    return cache[0]


def test_company_does_not_matter(parser: Parser) -> None:
    sentences = [text.split() for text in SENTENCES] + [["Yes"], ["very"] * 60]
    together = parser.parse_tokens(sentences)
    assert together == [parser.parse_tokens([sentence])[0] for sentence in sentences]


def test_threads_share_batches_without_changing_a_tree(
    parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = [(["very"] * size + text.split()) for size in range(12) for text in SENTENCES]
    monkeypatch.setattr("treeformer.parsing.embedded.threads", lambda: 3)
    shared = load_parser("en", batch_words=40)
    assert shared.parse_tokens(sentences) == parser.parse_tokens(sentences)
    monkeypatch.setattr(shared, "_parse_batch", lambda batch: 1 // 0)
    with pytest.raises(ZeroDivisionError):  # an error in a thread reaches the caller
        shared.parse_tokens(sentences)


@pytest.mark.parametrize("length", [1, 200, 300, 301, 2000])
def test_sentences_of_any_length_give_one_tree(parser: Parser, length: int) -> None:
    (tree,) = parser.parse_tokens([["buffalo"] * length])
    assert len(tree.words) == length
    assert tree.spans[-1] == (0, length)


def test_english_apostrophes_may_be_curly(parser: Parser) -> None:
    straight, curly = parser.parse(["It's Ann's and they don't care.", "It’s Ann’s and they don’t care."])
    assert curly.tags == straight.tags
    assert (curly.labels, curly.spans) == (straight.labels, straight.spans)
    assert curly.words == tuple(word.replace("'", "’") for word in straight.words)


def test_in_bfloat16_plain_sentences_are_parsed_the_same() -> None:
    assert [str(tree) for tree in load_parser("en", bf16=True).parse(SENTENCES)] == list(SENTENCES.values())


def test_in_8_bits_plain_sentences_are_parsed_the_same() -> None:
    assert [str(tree) for tree in load_parser("en", int8=True).parse(SENTENCES)] == list(SENTENCES.values())
    with pytest.raises(ValueError, match="int8: expected without bf16"):
        load_parser("en", int8=True, bf16=True)


def test_texts_give_their_sentences_and_documents_one_tree(parser: Parser) -> None:
    texts = ["It rains. We stay.", "", "Go! 🙂", "  \x00 \t"]
    assert [len(trees) for trees in parser.parse_texts(texts)] == [2, 0, 2, 0]
    (document,) = parser.parse(["It rains. We stay."], document=True)
    assert document.labels[-1] == "DOC"
    with pytest.raises(ValueError, match="got none in text 2"):
        parser.parse(["It rains.", ""], document=True)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ([], r"sentences\[1\]: expected at least one token"),
        (["New York"], "separator"),
        ([""], "empty"),
        (["\ud800"], "lone surrogate"),
        ("one string", "expected a sequence of strings"),
    ],
)
def test_tokens_that_no_tree_can_have_are_refused(parser: Parser, sentence: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parser.parse_tokens([["a"], sentence])


def test_one_string_is_not_taken_for_many_texts(parser: Parser) -> None:
    with pytest.raises(ValueError, match="expected a list of texts, got one string"):
        parser.parse("It rains.")


def test_a_name_that_is_no_parser_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"expected an embedded language \(de, en, fr\), corenlp:en, .* got 'klingon'"
    ):
        load_parser("klingon")


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("{", "not a parser"),
        ("[]", r"parser\.json: expected a JSON object, found list"),
        ('{"name": "no more"}', r"parser\.json: language: field required"),
        (
            (MODELS / "de" / "parser.json").read_text(encoding="utf-8"),
            "safetensors: tensor label.3.bias has the",
        ),
    ],
    ids=["no JSON", "no object", "incomplete", "of another parser"],
)
def test_a_folder_that_holds_no_parser_is_refused(description: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "parser.json").write_text(description, encoding="utf-8")
    shutil.copy(MODELS / "en" / "parser.safetensors", tmp_path)
    with pytest.raises(ValueError, match=message):
        load_parser(tmp_path)


@pytest.mark.parametrize("folder", sorted(MODELS.iterdir()), ids=lambda folder: folder.name)
def test_what_is_shipped_is_small(folder: Path) -> None:
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 12_000_000
