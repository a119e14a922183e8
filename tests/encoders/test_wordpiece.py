"""Tokenizers made from a vocabulary, against the one of transformers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import BertTokenizer

from tests.encoders.tiny import PIECES, VOCABULARY
from treeformer.encoders.wordpiece import tokenizer_json, vocabulary_of

WORDS = st.sampled_from(
    ["The film", "É", "日本", "(a-b)", " \t", "[MASK]", "don't", "\u0301", "x" * 101, "😀"]
)
TEXTS = st.lists(WORDS | st.text(max_size=5)).map("".join)
IDS = {piece: number for number, piece in enumerate(PIECES)}


@pytest.mark.parametrize("lower_case", [True, False])
def test_pieces_and_their_characters_are_those_of_transformers(lower_case: bool) -> None:
    ours = Tokenizer.from_str(tokenizer_json(PIECES, lower_case=lower_case).decode())
    theirs = BertTokenizer(vocab=dict(IDS), do_lower_case=lower_case)

    @given(TEXTS, st.none() | TEXTS.filter(bool))
    def compare(text: str, pair: str | None) -> None:
        encoded = ours.encode(text, pair)
        expected = theirs(text, pair, return_offsets_mapping=True, return_token_type_ids=True)
        assert encoded.ids == expected["input_ids"]
        assert encoded.offsets == [tuple(place) for place in expected["offset_mapping"]]
        assert encoded.type_ids == expected["token_type_ids"]

    compare()


def test_texts_are_neither_cut_nor_padded() -> None:
    tokenizer = Tokenizer.from_str(tokenizer_json(PIECES, lower_case=True).decode())
    lengths = [len(one) for one in tokenizer.encode_batch(["the film " * 1_000, "the"])]
    assert lengths == [2_002, 3]


def test_a_vocabulary_is_the_same_from_both_kinds_of_files() -> None:
    shuffled = json.loads(tokenizer_json(PIECES, lower_case=True))
    shuffled["model"]["vocab"] = dict(sorted(shuffled["model"]["vocab"].items()))
    assert vocabulary_of(json.dumps(shuffled).encode(), "tokenizer.json") == PIECES
    assert vocabulary_of(VOCABULARY, "vocab.txt") == PIECES
    assert vocabulary_of(VOCABULARY.rstrip(b"\n"), "vocab.txt") == PIECES


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"\xff\xfe", "vocab.txt", "expected the vocabulary of a BERT"),
        (b"{", "tokenizer.json", "expected the vocabulary of a BERT"),
        (b"[]", "tokenizer.json", "expected the vocabulary of a BERT"),
        (b"[" * 100_000, "tokenizer.json", "expected the vocabulary of a BERT"),
        (b'{"model": {"vocab": [["a", 0.1]]}}', "tokenizer.json", "expected the vocabulary of a BERT"),
        (b'{"model": {"vocab": {"a": 1}}}', "tokenizer.json", "expected the vocabulary of a BERT"),
        (b"a\nb\n", "vocab.txt", r"not the vocabulary of a BERT, \[PAD\] is missing"),
        (VOCABULARY + b"a\n", "vocab.txt", "not the vocabulary of a BERT, a piece is there twice"),
    ],
)
def test_other_files_are_refused(content: bytes, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        vocabulary_of(content, name)
