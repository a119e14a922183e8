"""``TreeProcessor``: text or trees to what models read, the same way in training and afterwards."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from pydantic import ValidationError
from torch import Tensor

from treeformer.configuration import Settings
from treeformer.data.batching import Reads, questions
from treeformer.data.recipe import TreeKind
from treeformer.data.sample import Span
from treeformer.data.split import Example, integers
from treeformer.data.tasks.sst import binary_as_sst
from treeformer.data.tasks.task import TaskKind
from treeformer.data.tokens import Tokens, detokenize, one_line, unescape
from treeformer.data.vocabulary import IGNORED, Vocabulary, load_vocabulary
from treeformer.parsing import Parser, load_parser
from treeformer.parsing.corpus import LineParser
from treeformer.parsing.loading import parser_name
from treeformer.trees import (
    Tree,
    balanced,
    collapse,
    document,
    join,
    left_branching,
    random_tree,
    right_branching,
    sentences,
    shuffled_labels,
    split_words,
)
from treeformer.trees.labels import DOCUMENT
from treeformer.trees.tree import Unary

UNKNOWN_LABEL = "<unk>"
PROCESSOR = "processor.json"


class ProcessorSettings(Settings):
    """What a processor does, beside its vocabulary: ``processor.json``."""

    kind: TaskKind
    language: str  #: of what models read
    parser: str  #: for text: embedded, corenlp or a folder
    trees: TreeKind
    unary: Unary
    documents: bool  #: one sentence gets a root DOC, too
    binary: bool  #: trees are made binary, as those of training are
    tokenized: bool  #: text is tokens already
    labels: tuple[str, ...]  #: of nodes; ``<unk>`` and ``DOC`` first
    classes: tuple[str, ...]  #: none for translation
    halves: bool  #: scores ask only which half of the classes is likelier
    target_language: str | None = None
    target_tokens: Tokens | None = None


class TreeProcessor:
    """Text or trees in, model inputs out; and for translation tokens in, text out.

    >>> processor = TreeProcessor.from_pretrained(run)  # doctest: +SKIP
    >>> inputs = processor(["The cat sleeps well."])  # doctest: +SKIP
    """

    def __init__(self, vocabulary: Vocabulary, settings: ProcessorSettings) -> None:
        self.vocabulary = vocabulary
        self.settings = settings
        self._label_ids = {label: number for number, label in enumerate(settings.labels)}

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> TreeProcessor:
        """The processor that `save_pretrained` wrote into a folder."""
        path = Path(folder) / PROCESSOR
        try:
            settings = ProcessorSettings.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise ValueError(
                f"{folder}: no {PROCESSOR} there, expected the folder of a trained model"
            ) from None
        except ValidationError as error:
            raise ValueError(f"{path}: not what a processor needs: {error.errors()[0]['msg']}") from error
        return cls(load_vocabulary(Path(folder)), settings)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``processor.json`` and ``tokenizer.json``."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.vocabulary.save(Path(folder))
        content = json.dumps(self.settings.model_dump(), ensure_ascii=False, indent=1)
        (Path(folder) / PROCESSOR).write_text(content + "\n", encoding="utf-8")

    @property
    def vocab_size(self) -> int:
        """Rows for tokens."""
        return self.vocabulary.rows

    @property
    def node_vocab_size(self) -> int:
        """Rows for labels of nodes."""
        return len(self.settings.labels)

    @cached_property
    def parser(self) -> Parser:
        """The parser for text, loaded when it is first needed."""
        return load_parser(parser_name(self.settings.parser, self.settings.language))

    def __call__(self, inputs: Sequence[str | Tree], *, reads: Reads = "trees") -> dict[str, Tensor]:
        """Model inputs for texts or trees, one row each, padded to the longest: int64 tensors.

        ``reads="words"`` gives what plain models read: the same words, for translation with ``</s>``.
        """
        examples = [self.encode(sentences(tree)) for tree in self._parsed(inputs)]
        if not examples:
            raise ValueError("inputs: expected at least one text or tree, got none")
        return questions(examples, reads=reads, translates=self.settings.kind == "translation")

    def trees(self, inputs: Sequence[str | Tree]) -> list[Tree]:
        """For each text or tree the tree that models read, over whole words; sentences under one ``DOC``.

        Given to the processor, these trees give the same inputs as the texts.
        """
        return [self.as_read(tree) for tree in self._parsed(inputs)]

    def as_read(self, tree: Tree) -> Tree:
        """The tree that models read of one that `parse` gave, over whole words."""
        return self._joined([self._shaped(sentence) for sentence in sentences(tree)])

    def parse(self, inputs: Sequence[str | Tree]) -> list[Tree | None]:
        """The inputs as trees, several sentences under one ``DOC``; None for a text without words."""
        if isinstance(inputs, (str, Tree)):
            raise ValueError(f"inputs: expected a list of texts or trees, got one {type(inputs).__name__}")
        parsed = iter(self._parse_texts([text for text in inputs if isinstance(text, str)]))
        return [next(parsed) if isinstance(item, str) else self._cut(sentences(item)) for item in inputs]

    def _parsed(self, inputs: Sequence[str | Tree]) -> list[Tree]:
        """The same; a text without words is an error."""
        found = []
        for number, tree in enumerate(self.parse(inputs), start=1):
            if tree is None:
                raise ValueError(f"inputs: expected words in every text, got none in text {number}")
            found.append(tree)
        return found

    def _parse_texts(self, texts: Sequence[str]) -> list[Tree | None]:
        if not texts:
            return []
        if self.settings.tokenized:
            texts = [unescape(text) for text in texts]
        lines = [one_line(text) for text in texts]
        parsed = LineParser(lambda: self.parser, tokenized=self.settings.tokenized).parse(lines)
        return [self._cut(line.trees) if line.trees else None for line in parsed]

    def _cut(self, trees: Sequence[Tree]) -> Tree:
        """One tree over the sentences, each made binary if those of training are."""
        if self.settings.binary:
            trees = [binary_as_sst(tree) for tree in trees]
        return document(trees)

    def encode(self, parsed: Iterable[Tree], targets: Mapping[Span, int] | None = None) -> Example:
        """The example of one or more sentences; ``targets`` are classes by span of words.

        A word in several pieces has its target on the node of its tag, and its pieces have none.
        """
        whole = [self._shaped(tree) for tree in parsed]
        words = [word for tree in whole for word in tree.words]
        ids = [self.vocabulary.ids(word) for word in words]
        tree = self._joined([self._split(tree) for tree in whole])
        unknown = self._label_ids[UNKNOWN_LABEL]
        example = Example(
            integers([number for pieces in ids for number in pieces]),
            integers([self._label_ids.get(label, unknown) for label in tree.labels]),
            integers(tree.spans),
        )
        if targets is None:
            return example
        word_at = {position: word for word, position in enumerate(accumulate(map(len, ids), initial=0))}
        leaves = [
            targets.get((word, word + 1), IGNORED) if len(pieces) == 1 else IGNORED
            for word, pieces in enumerate(ids)
            for _ in pieces
        ]
        nodes = [targets.get((word_at[start], word_at[end]), IGNORED) for start, end in tree.spans]
        return example._replace(leaf_targets=integers(leaves), node_targets=integers(nodes))

    def _shaped(self, tree: Tree) -> Tree:
        """The tree of a sentence over its words as models read it."""
        tree = _control(tree, self.settings.trees)
        return collapse(tree) if self.settings.unary == "collapse" else tree

    def _split(self, tree: Tree) -> Tree:
        """The tree over pieces of its words."""
        pieces = [self.vocabulary.pieces(word) for word in tree.words]
        if all(len(parts) == 1 for parts in pieces):
            return tree
        tree = split_words(tree, pieces)
        return collapse(tree) if self.settings.unary == "collapse" else tree

    def _joined(self, trees: Sequence[Tree]) -> Tree:
        return join(trees) if self.settings.documents else document(trees)

    def words(self, ids: Iterable[int]) -> list[str]:
        """The words that tokens stand for, special tokens left out."""
        return self.vocabulary.words(ids)

    def text(self, ids: Iterable[int]) -> str:
        """Tokens of the target as running text."""
        return detokenize(self.words(ids), self.settings.target_language or self.settings.language)


def label_list(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of nodes, in the order of their numbers."""
    return (UNKNOWN_LABEL, DOCUMENT, *sorted(set(labels) - {UNKNOWN_LABEL, DOCUMENT}))


def _control(tree: Tree, kind: TreeKind) -> Tree:
    """The tree, or a control tree over the same words, always the same one for the same words."""
    match kind:
        case "shuffled":
            return shuffled_labels(tree, zlib.crc32(" ".join(tree.words).encode("utf-8")))
        case "balanced":
            return balanced(tree.words)
        case "left":
            return left_branching(tree.words)
        case "right":
            return right_branching(tree.words)
        case "random":
            return random_tree(tree.words, zlib.crc32(" ".join(tree.words).encode("utf-8")))
    return tree
