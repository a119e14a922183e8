"""Features of words and distances, and scores of the parser's network."""

from __future__ import annotations

import torch
from hypothesis import given

from tests.trees.strategies import words
from treeformer.parsing.lexicon import PIECES, SHAPES, Lexicon, shape_of
from treeformer.parsing.network import ParserNetwork, _distance_rows
from treeformer.parsing.sizes import NetworkSizes


@given(words())
def test_every_word_has_features_within_bounds(word: str) -> None:
    features = Lexicon(["the", "cat"], buckets=100).features(word)
    assert 0 <= features.shape < SHAPES
    assert 1 <= len(features.pieces) <= PIECES
    assert all(0 <= piece < 100 for piece in features.pieces)
    assert features.known == {"the": 1, "cat": 2}.get(word.lower(), 0)


def test_words_of_different_shape_have_different_numbers() -> None:
    assert len({shape_of(word) for word in ("cat", "Cat", "CAT", "c4t", "c-t", ".", "4")}) == 7


def test_near_distances_have_separate_rows_and_far_ones_share() -> None:
    distances = torch.tensor([0, 1, 15, 16, 40, 127, 128, 5000, -1, -5000])
    rows = _distance_rows(distances, 32).tolist()
    assert rows[:4] == [0, 1, 15, 16]
    assert rows[3] < rows[4] < rows[5] <= rows[6] == rows[7] == 31
    assert rows[8:] == [33, 63]


def test_scores_do_not_depend_on_the_batch() -> None:
    torch.manual_seed(0)
    network = ParserNetwork(
        NetworkSizes(words=5, buckets=9, labels=4, tags=3, width=16, heads=2, inner=8)
    ).eval()
    torch.nn.init.normal_(network.bracket)
    torch.nn.init.normal_(network.distance.weight)

    def scores(lengths: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        n = max(lengths)
        known = (torch.arange(n) % 6).expand(len(lengths), n)
        pieces = (torch.arange(n) % 9).repeat(len(lengths))
        mask = torch.arange(n) < torch.tensor(lengths)[:, None]
        states, posts = network(known, pieces, torch.arange(len(pieces)), known, mask)
        return network.brackets(posts), network.tag(states)

    brackets, tags = scores([3, 7])
    for alone, together in zip(scores([3]), (brackets[:1, :4, :4], tags[:1, :3]), strict=True):
        torch.testing.assert_close(alone, together, rtol=0, atol=1e-5)
