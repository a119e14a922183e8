"""Sentences as arrays of features, the input of the parser's network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from treeformer.parsing.lexicon import WordFeatures


class WordBatch(NamedTuple):
    """The words of a batch of sentences. Each form is stored once, however often it occurs.

    U is the number of forms, W the number of words of all sentences.
    """

    known: np.ndarray  #: ``[U]`` position in the list of known words, 0 for an unknown word
    shapes: np.ndarray  #: ``[U]``
    pieces: np.ndarray  #: buckets of the pieces of all forms, in a row
    offsets: np.ndarray  #: ``[U]`` where the pieces of each form begin
    rows: np.ndarray  #: ``[W]`` the form of each word
    lengths: np.ndarray  #: ``[B]`` words of each sentence

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], features: Callable[[str], WordFeatures]) -> WordBatch:
        """The features of the words of these sentences."""
        places: dict[str, int] = {}
        rows = [places.setdefault(word, len(places)) for words in sentences for word in words]
        known, pieces, shapes = zip(*map(features, places), strict=True)
        sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
        return cls(
            known=np.array(known),
            shapes=np.array(shapes),
            pieces=np.array([piece for of_form in pieces for piece in of_form]),
            offsets=np.cumsum(sizes) - sizes,
            rows=np.array(rows),
            lengths=np.array([len(words) for words in sentences]),
        )
