"""Vocabularies: words become tokens and tokens become the same words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeformer.data.vocabulary import (
    SPECIAL_TOKENS,
    UNKNOWN,
    SubwordVocabulary,
    Vocabulary,
    WordVocabulary,
    load_vocabulary,
)

COUNTS = {
    "low": 5,
    "lower": 7,
    "lowest": 4,
    "newest": 6,
    "8\u00a01/2": 2,
    "(": 3,
    "<unk>": 2,
    "</s>": 2,
    "é": 1,
}
ALPHABET = sorted({character for word in COUNTS for character in word})


def vocabularies() -> list[Vocabulary]:
    return [WordVocabulary.learn(COUNTS, min_count=2), SubwordVocabulary.learn(COUNTS, size=64)]


@given(st.lists(st.text(ALPHABET, min_size=1, max_size=8), max_size=5))
def test_subwords_make_up_the_words_again_whatever_the_words(words: list[str]) -> None:
    vocabulary = SubwordVocabulary.learn(COUNTS, size=64)
    ids = [number for word in words for number in vocabulary.ids(word)]
    assert vocabulary.words(ids) == words
    assert all(number > UNKNOWN for number in ids)


def test_a_character_that_was_never_seen_is_unknown() -> None:
    vocabulary = SubwordVocabulary.learn(COUNTS, size=64)
    assert UNKNOWN in vocabulary.ids("λow")
    assert vocabulary.words([*vocabulary.ids("λ"), *vocabulary.ids("low")]) == ["<unk>", "low"]
    assert vocabulary.words(vocabulary.ids("lo▁w")) == ["lo<unk>w"]


def test_words_seen_too_seldom_are_unknown() -> None:
    vocabulary = WordVocabulary.learn(COUNTS, min_count=2)
    assert vocabulary.ids("é") == (UNKNOWN,)
    assert vocabulary.ids("lower") == (4,)  # the most frequent comes first
    assert vocabulary.words(vocabulary.ids("8\u00a01/2")) == ["8\u00a01/2"]


def test_words_learnt_in_lower_case_are_read_in_lower_case(tmp_path: Path) -> None:
    vocabulary = WordVocabulary.learn({"The": 1, "the": 1, "Cat": 1, "<UNK>": 9}, min_count=2, lower=True)
    vocabulary.save(tmp_path)
    for same in (vocabulary, load_vocabulary(tmp_path)):
        assert same.ids("THE") == same.ids("the") == (4,)
        assert same.ids("cat") == same.ids("<UNK>") == (UNKNOWN,)


@pytest.mark.parametrize("vocabulary", vocabularies(), ids=["words", "subwords"])
def test_a_word_that_looks_like_a_special_token_is_none(vocabulary: Vocabulary) -> None:
    for token in SPECIAL_TOKENS:
        assert all(number >= UNKNOWN for number in vocabulary.ids(token))


@pytest.mark.parametrize("vocabulary", vocabularies(), ids=["words", "subwords"])
def test_a_vocabulary_is_the_same_after_saving(tmp_path: Path, vocabulary: Vocabulary) -> None:
    vocabulary.save(tmp_path)
    again = load_vocabulary(tmp_path)
    assert type(again) is type(vocabulary)
    assert again.rows == vocabulary.rows
    for word in (*COUNTS, "newer", "λ"):
        assert again.ids(word) == vocabulary.ids(word)
        assert again.words(again.ids(word)) == vocabulary.words(vocabulary.ids(word))


@pytest.mark.parametrize("vocabulary", vocabularies(), ids=["words", "subwords"])
def test_special_tokens_come_first_and_rows_are_a_multiple_of_eight(vocabulary: Vocabulary) -> None:
    assert [vocabulary.tokenizer.id_to_token(number) for number in range(4)] == list(SPECIAL_TOKENS)
    assert vocabulary.rows % 8 == 0
    assert vocabulary.words([0, 1, 2, vocabulary.rows + 7]) == []


def test_learning_does_not_depend_on_the_order_of_words() -> None:
    backwards = dict(reversed(COUNTS.items()))
    assert SubwordVocabulary.learn(COUNTS, 64).tokenizer.to_str() == (
        SubwordVocabulary.learn(backwards, 64).tokenizer.to_str()
    )


def test_what_is_no_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"tokenizer\.json: no such file"):
        load_vocabulary(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match=r"tokenizer\.json: not a tokenizer"):
        load_vocabulary(tmp_path)


def test_a_line_break_in_a_damaged_tokenizer_does_not_break_the_message(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"version": "a\\nb"}')
    with pytest.raises(ValueError, match=r"tokenizer\.json: not a tokenizer: ") as raised:
        load_vocabulary(tmp_path)
    assert len(str(raised.value).splitlines()) == 1
