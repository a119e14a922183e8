"""Caches of functions of text are bounded by bytes, whatever the texts."""

from __future__ import annotations

import sys

from treeformer.caching import TextCache
from treeformer.data.vocabulary import SubwordVocabulary
from treeformer.parsing.lexicon import Lexicon
from treeformer.trees import read_trees
from treeformer.trees.scanner import STRIPPED, VERBATIM


def test_a_result_is_computed_once() -> None:
    computed: list[str] = []
    cache = TextCache(lambda text: (computed.append(text), len(text))[1])
    assert [cache[text] for text in ("a", "bb", "a", "bb")] == [1, 2, 1, 2]
    assert computed == ["a", "bb"]


def test_a_cache_keeps_within_its_budget() -> None:
    cache = TextCache(lambda text: (text,) * 4, budget=10_000_000)
    most = 0
    for number in range(20_000):
        text = str(number) * 300
        assert cache[text] == (text,) * 4
        most = max(
            most,
            sum(sys.getsizeof(key) + sys.getsizeof(value) for key, value in cache.items())
            if number % 1000 == 0
            else 0,
        )
    assert 0 < most < 10_000_000
    assert cache.bytes <= 10_000_000


def test_a_large_result_is_not_kept() -> None:
    cache = TextCache(len, budget=1_000_000)
    assert cache["x" * 100_000] == 100_000
    assert not cache


def test_long_words_and_labels_are_not_kept_for_ever() -> None:
    lexicon = Lexicon(["the"], buckets=100)
    vocabulary = SubwordVocabulary.learn({"the": 9, "cat": 2}, 40)
    caches = [
        method.__self__ for method in (lexicon.features, STRIPPED.label, STRIPPED.run_inside, VERBATIM.label)
    ]
    for number in range(3000):
        word = f"{number}" + "w" * 7000
        lexicon.features(word)
        vocabulary.ids(word)
        list(read_trees([f"(S ({word} (A{word} a) (B b)) (C c))"]))
    for cache in (*caches, vocabulary._ids):
        assert isinstance(cache, TextCache)
        assert sum(map(sys.getsizeof, cache)) < 64 << 20
