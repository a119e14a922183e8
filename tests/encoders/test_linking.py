"""Linking words and pieces: exact against slow oracles that look at characters."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

from treeformer.encoders.linking import NO_WORD, Linker, owners_of, window_of, window_starts
from treeformer.encoders.loading import unknown_piece
from treeformer.encoders.wordpiece import tokenizer_json

TEXTS = 10_000
WORD_STARTS = [
    "the",
    "film",
    "un",
    "日",
    "本",
    "é",
    "ß",
    "🙂",
    '"',
    *"abcdefghijklmnopqrstuvwxyzE0123456789.,!()-[]'/",
]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORD_STARTS]
PIECES += ["##s", "##ing", "##able", "##film", *(f"##{letter}" for letter in "abdefghilmnoprtuvwy0123é")]
IDS = {piece: number for number, piece in enumerate(PIECES)}
PARTS = [
    *("the", "film", "Film", "FILMS", "un", "able", "ing", "a", "b", "x", "q", "z", "7", "2024"),
    *("(", ")", "[", "]", "-", ".", ",", "!", "''", "``", '"', "'", r"\/", r"\*", "\\", "…", "–", "“", "€"),
    *("é", "E\u0301", "É", "ß", "İ", "Σ", "ς", "ﬁ", "Ǆ", "日", "本", "語", "ﷺ", "ש", "ع", "क्"),
    *("🙂", "👍🏽", "👩\u200d👩\u200d👧", "❤\ufe0f", "🇩🇪", "\u00a0", "\u3000", "\u2009"),
    *("\u0301", "\u200b", "\ufe0f", "\u00ad", "\ufeff", "\x00", "\x01", "\x1b", "\x7f", "\ufffd", "\u202e"),
    *("[SEP]", "[CLS]", "[UNK]", "[PAD]", "-LRB-", "-LSB-", "-RCB-", "##s", "<s>", "</s>"),
    *("a" * 100, "a" * 101, "film" * 30, "日" * 40, "-" * 30),
]


def word_pieces(*, lower_case: bool) -> PreTrainedTokenizerFast:
    backend = Tokenizer.from_str(tokenizer_json(PIECES, lower_case=lower_case).decode())
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")


def linker(tokenizer: PreTrainedTokenizerFast, window: int) -> Linker:
    return Linker(tokenizer.backend_tokenizer, window=window, unknown=unknown_piece(tokenizer))


def fuzzed_words(generator: random.Random) -> list[str]:
    count = generator.choice((1, 2, 3, 5, 8, 20, 60))
    return ["".join(generator.choices(PARTS, k=generator.choice((1, 1, 1, 2, 3)))) for _ in range(count)]


def bert_pieces(word: str, *, lower_case: bool) -> list[int]:
    """The pieces of one word by the rules of BERT, character by character; [UNK] if nothing is left."""
    spelled = {"``": '"', "''": '"', "-LSB-": "[", "-RCB-": "}"}.get(word)
    word = word.replace(r"\/", "/").replace(r"\*", "*") if spelled is None else spelled
    kept = ""
    for letter in word:
        if unicodedata.category(letter) in ("Cc", "Cf") or letter == "\ufffd":
            continue
        is_chinese = "\u4e00" <= letter <= "\u9fff"
        kept += " " if letter.isspace() else f" {letter} " if is_chinese else letter
    if lower_case:
        kept = "".join(one for one in unicodedata.normalize("NFD", kept) if unicodedata.category(one) != "Mn")
        kept = "".join(letter.lower() for letter in kept)
    ids = [number for part in _split_at_punctuation(kept) for number in _greedy(part)]
    return ids or [IDS["[UNK]"]]


def _split_at_punctuation(text: str) -> Iterator[str]:
    part = ""
    for letter in text:
        is_mark = 33 <= ord(letter) <= 126 and not letter.isalnum()
        is_mark = is_mark or unicodedata.category(letter).startswith("P")
        if is_mark or letter == " ":
            if part:
                yield part
            part = ""
            if is_mark:
                yield letter
        else:
            part += letter
    if part:
        yield part


def _greedy(part: str) -> list[int]:
    """The longest pieces from the left; one unknown piece if that fails or the part is too long."""
    if len(part) > 100:
        return [IDS["[UNK]"]]
    ids, start = [], 0
    while start < len(part):
        for end in range(len(part), start, -1):
            piece = ("##" if start else "") + part[start:end]
            if piece in IDS:
                break
        else:
            return [IDS["[UNK]"]]
        ids.append(IDS[piece])
        start = end
    return ids


def naive_windows(pieces: list[tuple[int, int]], capacity: int) -> list[list[tuple[int, int]]]:
    """The windows of pieces with their words, by the definition: word by word, window by window."""
    first, last = [(IDS["[CLS]"], NO_WORD)], [(IDS["[SEP]"], NO_WORD)]
    if len(pieces) <= capacity:
        return [first + pieces + last]
    starts = [int(start) for start in window_starts(len(pieces), capacity)]
    chosen: dict[int, int] = {}  # the window of each piece
    for word in {word for _, word in pieces}:
        places = [place for place, (_, owner) in enumerate(pieces) if owner == word]
        groups = [places]
        if not any(start <= places[0] and places[-1] < start + capacity for start in starts):
            groups = [[place] for place in places]
        for group in groups:
            margins = [min(group[0] - start, start + capacity - 1 - group[-1]) for start in starts]
            for place in group:
                chosen[place] = margins.index(max(margins))
    windows = []
    for number, start in enumerate(starts):
        content = [
            (pieces[place][0], pieces[place][1] if chosen[place] == number else NO_WORD)
            for place in range(start, start + capacity)
        ]
        windows.append(first + content + last)
    return windows


@pytest.mark.parametrize("lower_case", [True, False])
def test_linking_is_exact_on_fuzzed_texts(lower_case: bool) -> None:
    generator = random.Random(1)
    linkers = {
        window: linker(word_pieces(lower_case=lower_case), window) for window in (4, 5, 7, 11, 34, 512)
    }
    several = unknown = 0
    for _ in range(TEXTS // 2):
        words = fuzzed_words(generator)
        window = generator.choice([*linkers])
        pieces = [
            (number, place)
            for place, word in enumerate(words)
            for number in bert_pieces(word, lower_case=lower_case)
        ]
        expected = naive_windows(pieces, window - 2)
        ids, owners, sizes = linkers[window].link(words)
        assert sizes.tolist() == [len(one) for one in expected], words
        assert [*zip(ids.tolist(), owners.tolist(), strict=True)] == [*chain(*expected)], words
        several += len(sizes) > 1
        unknown += IDS["[UNK]"] in ids
    assert min(several, unknown) > 1000


@pytest.mark.parametrize("lower_case", [True, False])
def test_each_word_is_in_one_window_unless_it_is_in_none_as_a_whole(lower_case: bool) -> None:
    generator = random.Random(2)
    link = linker(word_pieces(lower_case=lower_case), 42).link
    for _ in range(300):
        words = fuzzed_words(generator)
        _, owners, sizes = link(words)
        windows = np.repeat(np.arange(len(sizes)), sizes)
        assert {*owners.tolist()} == {NO_WORD, *range(len(words))}
        for word in range(len(words)):
            if len(bert_pieces(words[word], lower_case=lower_case)) <= 10:
                assert len({*windows[owners == word].tolist()}) == 1


def test_hidden_words_are_masked_in_every_window_and_others_are_not() -> None:
    generator = random.Random(3)
    link = linker(word_pieces(lower_case=True), 42).link
    mask, capacity = IDS["[MASK]"], 40
    for _ in range(100):
        words = [generator.choice(["the", "films", "unfilmable", "a1b2"]) for _ in range(60)]
        hidden = set(generator.sample(range(60), 7))
        plain, masked = link(words), link(words, hidden=hidden)
        np.testing.assert_array_equal(plain.piece_words, masked.piece_words)
        lengths = [len(bert_pieces(word, lower_case=True)) for word in words]
        owners = np.repeat(np.arange(60), lengths)  # of the pieces of the text
        starts = window_starts(len(owners), capacity) if len(owners) > capacity else np.zeros(1, int)
        shown = [[NO_WORD, *owners[start : start + capacity], NO_WORD] for start in starts]
        expected = np.where(np.isin(np.concatenate(shown), list(hidden)), mask, plain.piece_ids)
        np.testing.assert_array_equal(masked.piece_ids, expected)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.data())
def test_a_piece_is_of_the_word_with_most_of_its_characters(lengths: list[int], data: st.DataObject) -> None:
    labels = [NO_WORD]
    for word, length in enumerate(lengths):
        labels += [word] * length + [NO_WORD]
    labels = labels[1:-1]
    ends = st.integers(0, len(labels))
    offsets = data.draw(st.lists(st.tuples(ends, ends).map(sorted), min_size=1, max_size=8))
    expected = []
    for start, end in offsets:
        counts = Counter(label for label in labels[start:end] if label != NO_WORD)
        most = max(counts.values(), default=0)
        expected.append(min((word for word, count in counts.items() if count == most), default=NO_WORD))
    actual = owners_of(np.array(offsets, np.int32), np.array(lengths, np.int32))
    assert actual.tolist() == expected


@given(st.integers(2, 40), st.integers(1, 400))
def test_windows_cover_all_pieces_and_share_a_quarter(capacity: int, more: int) -> None:
    starts = window_starts(capacity + more, capacity)
    assert (starts[0], starts[-1]) == (0, more)
    assert all(1 <= step <= capacity - capacity // 4 for step in np.diff(starts))


def byte_level() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<unk>"], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(["the films are unable to film the film"] * 5, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")


def unigram() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator(["the films are unable to film the film", "a b - , ( ) 7"] * 5, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")


@pytest.mark.parametrize("tokenizer", [byte_level(), unigram()], ids=["bytes", "unigram"])
def test_tokenizers_that_mark_spaces_are_linked_too(tokenizer: PreTrainedTokenizerFast) -> None:
    ids, owners, _ = linker(tokenizer, 512).link(["the", "unable", "🙂", "films"])
    texts = ["".join(tokenizer.convert_ids_to_tokens(ids[owners == word])) for word in range(4)]
    assert [text.strip("Ġ▁") for text in (texts[0], texts[1], texts[3])] == ["the", "unable", "films"]
    assert texts[2]


def test_special_pieces_that_are_spelled_out_are_text() -> None:
    ids, owners, _ = linker(word_pieces(lower_case=True), 512).link(["[SEP]", "film"])
    assert ids.tolist().count(IDS["[SEP]"]) == 1
    assert owners.tolist()[-2:] == [1, NO_WORD]


def test_a_tokenizer_without_unknown_piece_is_refused() -> None:
    backend = Tokenizer.from_str(tokenizer_json(PIECES, lower_case=True).decode())
    with pytest.raises(ValueError, match="the tokenizer has no unknown piece"):
        unknown_piece(PreTrainedTokenizerFast(tokenizer_object=backend))


@pytest.mark.parametrize(("longest", "expected"), [(64, 64), (10**30, 128)])
def test_the_window_is_what_positions_and_tokenizer_allow(longest: int, expected: int) -> None:
    tokenizer = word_pieces(lower_case=True)
    tokenizer.model_max_length = longest
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    bert = BertModel(BertConfig(vocab_size=9, max_position_embeddings=128, **sizes))
    roberta = RobertaModel(RobertaConfig(vocab_size=9, max_position_embeddings=130, **sizes))
    assert window_of(bert, tokenizer) == window_of(roberta, tokenizer) == expected
