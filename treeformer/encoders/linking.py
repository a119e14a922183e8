"""Which pieces of an encoder's tokenizer belong to which word of a text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Integers = NDArray[np.int32]
NO_WORD = -1  #: the word of special pieces, and of pieces that only give context

_TREEBANK = {
    "``": '"',
    "''": '"',
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}
_MASKS = ("[MASK]", "<mask>")  # what encoders call the piece that hides a word
_ESCAPED = re.compile(r"\\([/*])")


class Pieces(NamedTuple):
    """The pieces of one text, in one window or in several that overlap.

    piece_ids: ``[k]`` of all windows one after another, with their special pieces.
    piece_words: ``[k]`` the word that each piece belongs to, `NO_WORD` for none.
    window_sizes: ``[v]`` the number of pieces of each window.
    """

    piece_ids: Integers
    piece_words: Integers
    window_sizes: Integers


def plain_word(word: str) -> str:
    r"""The word of a treebank as it is written in running text.

    >>> plain_word("``"), plain_word(r"1\/2"), plain_word("-LSB-"), plain_word("film")
    ('"', '1/2', '[', 'film')
    """
    return _TREEBANK.get(word) or _ESCAPED.sub(r"\1", word)


def window_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int:
    """The largest number of pieces that an encoder reads at once, special pieces included."""
    config = model.config
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)  # of RoBERTa, whose positions start behind that of padding
    first = 0 if padding is None else padding + 1
    return min(int(positions) - first, tokenizer.model_max_length)


class Linker:
    """Cuts texts, given as words, into pieces, and knows the word of each piece.

    Every word has at least one piece. A word of which the tokenizer leaves nothing gets the unknown piece.
    Special pieces that are spelled out in a text are ordinary text.

    Args:
        tokenizer: of an encoder. Its settings are changed; nothing else should use it.
        window: the largest number of pieces that the encoder reads at once, special pieces included.
        unknown: the id of the unknown piece.
    """

    def __init__(self, tokenizer: Tokenizer, *, window: int, unknown: int) -> None:
        self._tokenizer, self._unknown = tokenizer, unknown
        masks = [tokenizer.token_to_id(mask) for mask in _MASKS]
        self._mask = next((mask for mask in masks if mask is not None), unknown)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        template = self._tokenizer.encode("a")
        ids, special = np.array(template.ids, np.int32), np.array(template.special_tokens_mask, bool)
        ordinary = np.flatnonzero(~special)
        self._before, self._after = ids[: ordinary[0]], ids[ordinary[-1] + 1 :]
        self._capacity = window - len(self._before) - len(self._after)
        if self._capacity < 2:
            raise ValueError(f"window: expected room for at least 2 pieces, got {window} with special pieces")

    def link(self, words: Sequence[str], *, hidden: Collection[int] = ()) -> Pieces:
        """The pieces of a text of at least one word; those of ``hidden`` words are the mask, or unknown."""
        ids, owners = self._pieces([plain_word(word) for word in words])
        if hidden:
            ids = np.where(np.isin(owners, list(hidden)), np.int32(self._mask), ids)
        if len(ids) <= self._capacity:
            return self._windowed(ids, owners[None], np.zeros(1, np.int64), len(ids))
        starts = window_starts(len(ids), self._capacity)
        windows = starts[:, None] + np.arange(self._capacity)
        reader = readers(owners, starts, self._capacity)[windows]
        chosen = np.where(reader == np.arange(len(starts))[:, None], owners[windows], NO_WORD)
        return self._windowed(ids, chosen, starts, self._capacity)

    def _windowed(self, ids: Integers, owners: Integers, starts: NDArray[np.int64], size: int) -> Pieces:
        """The windows of this size from ``starts``, with special pieces; ``owners [v, size]``."""
        content = ids[starts[:, None] + np.arange(size)]
        sides = [np.broadcast_to(side, (len(starts), len(side))) for side in (self._before, self._after)]
        none = [np.full_like(side, NO_WORD) for side in sides]
        piece_ids = np.concatenate([sides[0], content, sides[1]], axis=1)
        piece_words = np.concatenate([none[0], owners, none[1]], axis=1)
        sizes = np.full(len(starts), piece_ids.shape[1], np.int32)
        return Pieces(piece_ids.reshape(-1), piece_words.reshape(-1), sizes)

    def _pieces(self, words: Sequence[str]) -> tuple[Integers, Integers]:
        """All pieces of a text and the word of each."""
        encoding = self._tokenizer.encode(" ".join(words), add_special_tokens=False)
        ids = np.array(encoding.ids, np.int32)
        offsets = np.array(encoding.offsets, np.int32).reshape(-1, 2)
        owners = owners_of(offsets, np.fromiter(map(len, words), np.int32, len(words)))
        counts = np.bincount(owners + 1, minlength=len(words) + 1)
        missing = np.flatnonzero(counts[1:] == 0)
        if not len(missing):
            return ids, owners
        places = np.searchsorted(np.maximum.accumulate(owners), missing)  # before a piece of a later word
        return np.insert(ids, places, self._unknown), np.insert(owners, places, missing)


def owners_of(offsets: Integers, lengths: Integers) -> Integers:
    """``[k]``: the word of each piece: the one with most of its characters, the first if two have as many.

    Args:
        offsets: ``[k, 2]`` half-open ranges of characters of a text.
        lengths: ``[n]`` characters of each word of the text, which has one space between words.
    """
    ends = np.cumsum(lengths + 1) - 1
    starts = ends - lengths
    first = np.searchsorted(ends, offsets[:, 0], side="right")  # the first word that ends behind the start
    last = np.searchsorted(starts, offsets[:, 1]) - 1  # the last word that starts before the end
    owners = np.where((offsets[:, 0] < offsets[:, 1]) & (first <= last), first, NO_WORD).astype(np.int32)
    for piece in np.flatnonzero((owners != NO_WORD) & (first < last)):
        start, end = offsets[piece]
        words = np.arange(first[piece], last[piece] + 1)
        shares = np.minimum(ends[words], end) - np.maximum(starts[words], start)
        owners[piece] = words[shares.argmax()]
    return owners


def window_starts(pieces: int, capacity: int) -> NDArray[np.int64]:
    """``[v]``: where windows of ``capacity`` pieces start that cover all pieces.

    They are as few as possible if neighbours share at least a quarter, and evenly spaced.
    """
    shared = capacity // 4
    count = -(-(pieces - shared) // (capacity - shared))
    return np.arange(count) * (pieces - capacity) // max(count - 1, 1)


def readers(owners: Integers, starts: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """``[k]``: for each piece the window from which its word takes its state.

    It is the window in which the word is farthest from an edge, the first if there are several. The pieces of
    a word that is in no window as a whole are chosen one by one.

    Args:
        owners: ``[k]`` the word of each piece.
        starts: ``[v]`` the first piece of each window.
        capacity: the number of pieces of a window.
    """
    pieces = np.arange(len(owners))
    first, last = pieces.copy(), pieces.copy()
    known = np.flatnonzero(owners != NO_WORD)
    if len(known):
        lowest = np.full(owners.max() + 1, len(owners))
        highest = np.zeros(owners.max() + 1, np.int64)
        np.minimum.at(lowest, owners[known], known)
        np.maximum.at(highest, owners[known], known)
        first[known], last[known] = lowest[owners[known]], highest[owners[known]]
    margins = _margins(first, last, starts, capacity)
    torn = margins.max(0) < 0
    margins[:, torn] = _margins(pieces[torn], pieces[torn], starts, capacity)
    return margins.argmax(0)


def _margins(
    first: NDArray[np.int64], last: NDArray[np.int64], starts: NDArray[np.int64], capacity: int
) -> NDArray[np.int64]:
    """``[v, k]``: the pieces between a run of pieces and the nearer edge of a window; negative if outside."""
    return np.minimum(first - starts[:, None], starts[:, None] + capacity - 1 - last)
