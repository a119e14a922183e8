"""Vocabularies: whole words, or subwords learnt by byte-pair encoding.

Ids, merges and special tokens are stored in a ``tokenizer.json`` of the tokenizers library. Words are given
one by one: nothing here splits text, and a word that looks like a special token is an ordinary word.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE, WordLevel
from tokenizers.trainers import BpeTrainer

from treeformer.caching import TextCache
from treeformer.configuration import printable
from treeformer.storage import write_file

START, PAD, END, UNKNOWN = range(4)  #: ids of the special tokens
SPECIAL_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
IGNORED = -100  #: target of a position that has nothing to predict
MULTIPLE = 8  #: the number of rows is a multiple of this, which matrix units prefer
TOKENIZER = "tokenizer.json"
_END_OF_WORD = "▁"


class Vocabulary(ABC):
    """Words to ids and back.

    Args:
        tokenizer: its first four tokens are `SPECIAL_TOKENS`.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    @property
    def rows(self) -> int:
        """The number of rows in a table of tokens: a multiple of 8; the last rows may be unused."""
        return -(-self.tokenizer.get_vocab_size() // MULTIPLE) * MULTIPLE

    @abstractmethod
    def ids(self, word: str) -> tuple[int, ...]:
        """The ids of the pieces of a word, at least one."""

    @abstractmethod
    def words(self, ids: Iterable[int]) -> list[str]:
        """The words that pieces make up, without special tokens other than ``<unk>``."""

    def whole_words(self) -> dict[str, int]:
        """The words that consist of one token, with its id."""
        numbers = range(UNKNOWN + 1, self.tokenizer.get_vocab_size())
        words = (("".join(self.words([number])), number) for number in numbers)
        return {word: number for word, number in words if word and self.ids(word) == (number,)}

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json``."""
        write_file(folder / TOKENIZER, self.tokenizer.to_str(pretty=True).encode())


class WordVocabulary(Vocabulary):
    """Whole words; unknown words are ``<unk>``. A lower-case vocabulary reads words in lower case.

    >>> vocabulary = WordVocabulary.learn({"the": 9, "cat": 2, "purrs": 1}, min_count=2)
    >>> vocabulary.ids("cat"), vocabulary.ids("purrs"), vocabulary.words([4, 5, 3, 2])
    ((5,), (3,), ['the', 'cat', '<unk>'])
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        numbers = {word: number for word, number in tokenizer.get_vocab().items() if number > UNKNOWN}
        self._ids = {word: (number,) for word, number in numbers.items()}
        self._words = {number: word for word, number in numbers.items()} | {UNKNOWN: SPECIAL_TOKENS[UNKNOWN]}
        self._lower = tokenizer.normalizer is not None

    @classmethod
    def learn(cls, counts: Mapping[str, int], min_count: int, *, lower: bool = False) -> WordVocabulary:
        """The vocabulary of words with a count of at least ``min_count``, frequent words first."""
        if lower:
            counts = _lowered(counts)
        known = [word for word, count in counts.items() if count >= min_count and word not in SPECIAL_TOKENS]
        known.sort(key=lambda word: (-counts[word], word))
        numbers = {word: number for number, word in enumerate((*SPECIAL_TOKENS, *known))}
        tokenizer = _with_special_tokens(Tokenizer(WordLevel(numbers, unk_token=SPECIAL_TOKENS[UNKNOWN])))
        if lower:
            tokenizer.normalizer = normalizers.Lowercase()
        return cls(tokenizer)

    def ids(self, word: str) -> tuple[int, ...]:
        return self._ids.get(word.lower() if self._lower else word, (UNKNOWN,))

    def words(self, ids: Iterable[int]) -> list[str]:
        return [self._words[number] for number in ids if number in self._words]


class SubwordVocabulary(Vocabulary):
    """Byte-pair encoding: the last piece of a word ends in ``▁``; unseen characters are ``<unk>``.

    The mark is a character like any other, so that learning is deterministic, and a character that was only
    seen inside words may end one. A ``▁`` inside a word is unknown.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self._ids = TextCache(self._word_ids)
        self._pieces = {number: piece for piece, number in tokenizer.get_vocab().items() if number >= UNKNOWN}

    @classmethod
    def learn(cls, counts: Mapping[str, int], size: int) -> SubwordVocabulary:
        """A vocabulary of ``size`` tokens, special ones included, or fewer if there are few words."""
        tokenizer = Tokenizer(BPE(unk_token=SPECIAL_TOKENS[UNKNOWN]))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
        trainer = BpeTrainer(
            vocab_size=size, min_frequency=2, special_tokens=list(SPECIAL_TOKENS), show_progress=False
        )
        tokenizer.train_from_iterator(_repeated(counts), trainer)
        tokenizer.decoder = decoders.Replace(_END_OF_WORD, " ")
        return cls(_with_special_tokens(tokenizer))

    def ids(self, word: str) -> tuple[int, ...]:
        return self._ids[word]

    def _word_ids(self, word: str) -> tuple[int, ...]:
        tokens = self.tokenizer.model.tokenize(_marked(word))
        return tuple(UNKNOWN if token.id < UNKNOWN else token.id for token in tokens)

    def words(self, ids: Iterable[int]) -> list[str]:
        words = []
        word = ""
        for number in ids:
            word += self._pieces.get(number, "")
            if word.endswith(_END_OF_WORD):
                words.append(word.removesuffix(_END_OF_WORD))
                word = ""
        return [*words, word] if word else words


def load_vocabulary(folder: Path) -> Vocabulary:
    """The vocabulary that `Vocabulary.save` wrote into a folder."""
    path = folder / TOKENIZER
    if not path.is_file():
        raise ValueError(f"{path}: no such file, expected the tokens of a corpus or a model")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower exception
        raise ValueError(f"{path}: not a tokenizer: {printable(str(error))}") from error
    if [tokenizer.id_to_token(number) for number in range(4)] != list(SPECIAL_TOKENS):
        raise ValueError(f"{path}: expected the first tokens {' '.join(SPECIAL_TOKENS)}")
    if not isinstance(tokenizer.model, (BPE, WordLevel)):
        raise ValueError(f"{path}: model: expected BPE or WordLevel, got {type(tokenizer.model).__name__}")
    if tokenizer.model.unk_token != SPECIAL_TOKENS[UNKNOWN]:
        raise ValueError(f"{path}: model.unk_token: expected {SPECIAL_TOKENS[UNKNOWN]}")
    if sorted(tokenizer.get_vocab().values()) != list(range(tokenizer.get_vocab_size())):
        raise ValueError(f"{path}: model.vocab: expected the ids 0, 1, 2 and so on, each once")
    return SubwordVocabulary(tokenizer) if isinstance(tokenizer.model, BPE) else WordVocabulary(tokenizer)


def _with_special_tokens(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return tokenizer


def _lowered(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Counts of the words in lower case."""
    lowered: Counter[str] = Counter()
    for word, count in counts.items():
        lowered[word.lower()] += count
    return lowered


def _marked(word: str) -> str:
    """The word with its end marked."""
    return word.replace(_END_OF_WORD, "\ufffd") + _END_OF_WORD


def _repeated(counts: Mapping[str, int], longest: int = 1000) -> Iterator[str]:
    """Lines in which each word, its end marked, occurs as often as its count."""
    for word in sorted(counts):
        whole, rest = divmod(counts[word], longest)
        if whole:
            yield from [" ".join([_marked(word)] * longest)] * whole
        if rest:
            yield " ".join([_marked(word)] * rest)
