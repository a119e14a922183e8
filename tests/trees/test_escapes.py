"""Words in bracket files: nothing is lost on the way there or back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trees.strategies import words
from treeformer.trees.escapes import decode_word, encode_word

FRAGMENTS = st.lists(st.sampled_from(["-LRB-", "-RRB-", "-LRB", "-RRB", "RB-", "-", "\\", "x"]), max_size=9)


@given(words())
def test_every_word_comes_back(word: str) -> None:
    text = encode_word(word)
    assert decode_word(text) == word
    assert "(" not in text
    assert ")" not in text


@given(FRAGMENTS.map("".join))
def test_every_text_comes_back(text: str) -> None:
    assert encode_word(decode_word(text)) == text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("-LRB-", "("),
        ("-RRB-", ")"),
        ("doctor-LRB-s-RRB-", "doctor(s)"),
        (":--RRB-", ":-)"),
        ("-LSB-", "-LSB-"),
        ("1\\/2", "1\\/2"),
        ("\\*\\*", "\\*\\*"),
        ("\\-LRB-", "-LRB-"),
        ("\\\\-LRB-", "\\("),
        ("\\-LRB-LRB-", "-LRB("),
        ("-LRB", "-LRB"),
    ],
)
def test_words_are_spelled_as_files_spell_them(text: str, word: str) -> None:
    assert decode_word(text) == word
    assert encode_word(word) == text
