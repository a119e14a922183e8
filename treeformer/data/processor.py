"""``TreeProcessor``: texts or trees to readings, in training and afterwards."""

from __future__ import annotations

import copy
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, SerializerFunctionWrapHandler, model_serializer
from tokenizers import Tokenizer

from treeformer.checksums import check_folder, replaced
from treeformer.configuration import Settings
from treeformer.data.encoder import ENCODER_TOKENIZER, EncoderFacts
from treeformer.data.examples import Columns, Example, integers
from treeformer.data.reading import Reading
from treeformer.data.recipe import TreeKind
from treeformer.data.row_files import text_column
from treeformer.data.tasks.sst import binary_as_sst
from treeformer.data.tasks.task import TaskKind
from treeformer.data.tokens import Tokens, detokenize, unescape
from treeformer.data.vocabulary import (
    TOKENIZER,
    UNKNOWN,
    SubwordVocabulary,
    Vocabulary,
    WordVocabulary,
    load_vocabulary,
)
from treeformer.encoders.linking import Linker
from treeformer.parsing import Parser, load_parser
from treeformer.parsing.failures import Failure, Parsed
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.loading import parser_name
from treeformer.parsing.tokenizer import LANGUAGES
from treeformer.storage import write_file, write_json
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
)
from treeformer.trees.labels import DOCUMENT
from treeformer.trees.shape import Span
from treeformer.trees.tree import Unary

if TYPE_CHECKING:
    from torch import Tensor

    from treeformer.data.batching import Reads

UNKNOWN_LABEL = "<unk>"
PROCESSOR = "processor.json"


def _check_special_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels; ``ValueError`` unless the special ones are first."""
    if labels[:2] != (UNKNOWN_LABEL, DOCUMENT):
        raise ValueError(f"expected {UNKNOWN_LABEL} and {DOCUMENT} first, got {labels[:2]}")
    return labels


NodeLabels = Annotated[tuple[str, ...], AfterValidator(_check_special_labels)]


class ProcessorSettings(Settings):
    """Settings of a processor beside its vocabulary: ``processor.json``."""

    kind: TaskKind
    language: str  #: language of the text that models read
    parser: str  #: for text: embedded, corenlp, code:python, a folder or a registered name
    trees: TreeKind
    unary: Unary
    documents: bool  #: a single sentence gets a root DOC, too
    binary: bool  #: parses are binarised, because the training trees are binary
    tokenized: bool  #: text consists of tokens already
    labels: NodeLabels  #: labels of nodes; ``<unk>`` and ``DOC`` first
    classes: tuple[str, ...]  #: empty for translation
    halves: bool  #: accuracy asks only which half of the classes is likelier
    phrases_taught: bool = True  #: the model learnt from labels of phrases, and not of whole texts alone
    target_language: str | None = None
    target_tokens: Tokens | None = None
    encoder: EncoderFacts | None = None  #: leaves are whole words, linked with the pieces of this encoder

    @model_serializer(mode="wrap")
    def _without_missing_encoder(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        if self.encoder is None:
            del content["encoder"]
        return content


class TreeProcessor:
    """Texts or trees to readings and model inputs; ids of a translation back to text.

    >>> processor = TreeProcessor.from_pretrained(run)  # doctest: +SKIP
    >>> [reading] = processor.read(["The cat sleeps well."])  # doctest: +SKIP
    >>> inputs = processor(["The cat sleeps well."])  # doctest: +SKIP
    """

    def __init__(
        self, vocabulary: Vocabulary, settings: ProcessorSettings, folder: Path | None = None
    ) -> None:
        self.vocabulary = vocabulary
        self.settings = settings
        self._folder = folder
        self._label_ids = {label: number for number, label in enumerate(settings.labels)}

    @classmethod
    def from_trees(
        cls,
        trees: Iterable[Tree],
        classes: Iterable[str],
        *,
        min_count: int = 1,
        subwords: int | None = None,
        language: str = "en",
        parser: str = "embedded",
    ) -> TreeProcessor:
        """The processor of a new classifier, whose vocabulary and labels are those of trees.

        Args:
            trees: the trees to train on.
            classes: names of the classes, in the order of their numbers.
            min_count: words that are rarer are unknown.
            subwords: size of a vocabulary of pieces of words; None for one of whole words.
            language, parser: for texts, see `treeformer.load_parser`.
        """
        trees = list(trees)
        words = Counter(word for tree in trees for word in tree.words)
        labels = {label for tree in trees for label in (*tree.labels, *(tree.tags if subwords else ()))}
        vocabulary: Vocabulary = WordVocabulary.learn(words, min_count)
        if subwords is not None:
            vocabulary = SubwordVocabulary.learn(words, subwords)
        settings = ProcessorSettings(
            kind="classification",
            language=language,
            parser=parser,
            trees="parsed",
            unary="collapse",
            documents=False,
            binary=False,
            tokenized=False,
            labels=label_list(labels),
            classes=tuple(classes),
            halves=False,
            phrases_taught=False,
        )
        return cls(vocabulary, settings)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> TreeProcessor:
        """The processor that `save_pretrained` wrote into a folder."""
        path = Path(folder) / PROCESSOR
        if not path.is_file():
            raise ValueError(f"{folder}: no {PROCESSOR} there, expected the folder of a trained model")
        check_folder(Path(folder))
        return cls(load_vocabulary(Path(folder)), ProcessorSettings.load_json(path), Path(folder))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``processor.json``, ``tokenizer.json`` and the tokenizer of an encoder that was trained."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        tokenizer = self._encoder_tokenizer.to_str() if self._has_own_encoder else None
        with replaced(Path(folder), (TOKENIZER, PROCESSOR, ENCODER_TOKENIZER)):
            self.vocabulary.save(Path(folder))
            write_json(Path(folder) / PROCESSOR, self.settings.model_dump())
            if tokenizer is not None:
                write_file(Path(folder) / ENCODER_TOKENIZER, tokenizer.encode())

    def with_encoder(self, source: str, *, inside: bool) -> TreeProcessor:
        """This processor for a model over the encoder in another folder, or one that is part of the model.

        Args:
            source: the name of the encoder, or its folder.
            inside: the model includes the encoder, so that `save_pretrained` writes its tokenizer, too.
        """
        assert self.settings.encoder is not None
        facts = self.settings.encoder.model_copy(update={"source": source, "inside": inside})
        settings = self.settings.model_copy(update={"encoder": facts})
        processor = TreeProcessor(self.vocabulary, settings, self._folder)
        processor._encoder_tokenizer = self._encoder_tokenizer
        return processor

    def for_language(self, language: str) -> TreeProcessor:
        """This processor for texts in another language, which the embedded parser of that language reads.

        Labels of nodes that the model has not seen are unknown to it.
        """
        if language not in LANGUAGES:
            raise ValueError(f"language: expected one of {', '.join(LANGUAGES)}, got {language!r}")
        changes = {"language": language, "parser": "embedded"}
        return TreeProcessor(self.vocabulary, self.settings.model_copy(update=changes), self._folder)

    def for_model(self, *, phrases_taught: bool) -> TreeProcessor:
        """This processor for a model that learns from labels of phrases, or of whole texts alone."""
        processor = copy.copy(self)
        processor.settings = self.settings.model_copy(update={"phrases_taught": phrases_taught})
        return processor

    @property
    def _has_own_encoder(self) -> bool:
        return self.settings.encoder is not None and self.settings.encoder.inside

    @cached_property
    def _encoder_tokenizer(self) -> Tokenizer:
        """The tokenizer of the encoder, loaded on first use."""
        assert self.settings.encoder is not None
        return self.settings.encoder.tokenizer(self._folder)

    @cached_property
    def _linker(self) -> Linker | None:
        """Links words with the pieces of the encoder, if there is one."""
        facts = self.settings.encoder
        if facts is None:
            return None
        tokenizer = self._encoder_tokenizer
        try:
            return facts.linker(tokenizer)
        except ValueError as error:
            place = PROCESSOR if self._folder is None else self._folder / PROCESSOR
            raise ValueError(f"{place}: encoder: {error}") from error

    @property
    def vocab_size(self) -> int:
        """The number of rows for tokens."""
        return self.vocabulary.rows

    @property
    def node_vocab_size(self) -> int:
        """The number of rows for labels of nodes."""
        return len(self.settings.labels)

    @cached_property
    def parser(self) -> Parser:
        """The parser for text, loaded on first use."""
        return load_parser(parser_name(self.settings.parser, self.settings.language))

    def __call__(self, inputs: Iterable[str | Tree], *, reads: Reads = "trees") -> dict[str, Tensor]:
        """Model inputs for texts or trees, one row each, padded to the longest: int64 tensors.

        ``reads="words"`` gives the inputs of plain models: the words alone, for translation with ``</s>``.
        """
        from treeformer.data.batching import input_tensors

        examples = [reading.example for reading in self.read_all(inputs)]
        if not examples:
            raise ValueError("inputs: expected at least one text or tree, got none")
        translates = self.settings.kind == "translation"
        return input_tensors(Columns.of(examples), reads=reads, translates=translates)

    def read_all(self, inputs: Iterable[str | Tree]) -> list[Reading]:
        """The readings of texts or trees; a text without words is an error."""
        readings = []
        for number, reading in enumerate(self.read(inputs), start=1):
            if reading is None:
                raise ValueError(f"inputs: expected words in every text, got none in text {number}")
            readings.append(reading)
        return readings

    def read(self, inputs: Iterable[str | Tree]) -> list[Reading | None]:
        """The reading of each text or tree, None for a text without words.

        Texts are parsed; several sentences are joined under one root ``DOC``.
        """
        inputs = _checked_inputs(inputs)
        texts = [item for item in inputs if isinstance(item, str)]
        parsed = dict(zip(texts, self.parse(texts), strict=True))
        readings: list[Reading | None] = []
        for item in inputs:
            if isinstance(item, Tree):
                readings.append(self.reading(sentences(item)))
            else:
                trees, failures = parsed[item]
                readings.append(self.reading(trees, text=item, failures=failures) if trees else None)
        return readings

    def parse(self, texts: Sequence[str]) -> list[Parsed]:
        """The trees of the sentences of each text, and the sentences that the parser failed on."""
        if not texts:
            return []
        if self.settings.tokenized:
            texts = [unescape(text) for text in texts]
        return self._line_parser.parse(texts)

    @cached_property
    def _line_parser(self) -> LineParser:
        """Parses lines of text with `parser`."""
        return LineParser(lambda: self.parser, tokenized=self.settings.tokenized)

    def reading(
        self,
        parsed: Iterable[Tree],
        *,
        text: str | None = None,
        failures: Iterable[Failure] = (),
        exact: bool = False,
    ) -> Reading:
        """The reading of one or more parsed sentences.

        Args:
            parsed: trees of the sentences, at least one.
            text: the text that was parsed; by default the words of the trees.
            failures: sentences that the parser failed on.
            exact: do not binarise: the trees already have the training format.
        """
        shaped = [self._shape(tree, exact=exact) for tree in parsed]
        tree = join(shaped) if self.settings.documents else document(shaped)
        ids = [self.vocabulary.ids(word) for word in tree.words]
        starts = tuple(accumulate(map(len, ids), initial=0))
        labels, spans, parts = [], [], []
        for label, (start, end), part in self._nodes_over_pieces(tree, starts):
            labels.append(self._label_ids.get(label, self._label_ids[UNKNOWN_LABEL]))
            spans.append((starts[start], starts[end]))
            parts.append(part)
        example = Example(
            integers([number for pieces in ids for number in pieces]), integers(labels), integers(spans)
        )
        if self._linker is not None:
            example = example._replace(**self._linker.link(tree.words)._asdict())
        text = " ".join(tree.words) if text is None else text
        return Reading(text, tree, example, starts, tuple(parts), tuple(failures))

    def hide(self, reading: Reading, words: Collection[int]) -> Example:
        """The example of a reading in which these words are unknown; the tree and its labels stay."""
        if self._linker is not None:
            return reading.example._replace(**self._linker.link(reading.tree.words, hidden=words)._asdict())
        ids = reading.example.input_ids.copy()
        for word in words:
            ids[reading.piece_starts[word] : reading.piece_starts[word + 1]] = UNKNOWN
        return reading.example._replace(input_ids=ids)

    def _shape(self, tree: Tree, *, exact: bool) -> Tree:
        """The tree of one sentence as models read it, over whole words."""
        if self.settings.binary and not exact:
            tree = binary_as_sst(tree)
        if self.settings.trees != "parsed":
            tree = _control_tree(tree, self.settings.trees)
        return collapse(tree) if self.settings.unary == "collapse" else tree

    def _nodes_over_pieces(self, tree: Tree, starts: Sequence[int]) -> Iterator[tuple[str, Span, int]]:
        """Label, span of words and part of each node that a model reads, in post-order.

        A word of several pieces has a node below all others over it, labelled with its tag. In collapsed
        trees it replaces a node over that word alone, but not the root of a document.
        """
        words = len(tree.words)
        word = 0
        for node, (label, (start, end)) in enumerate(zip(tree.labels, tree.spans, strict=True)):
            while word < end:
                if starts[word + 1] - starts[word] > 1:
                    yield tree.tags[word], (word, word + 1), word
                word += 1
            is_document = label == DOCUMENT and node == len(tree) - 1
            split_word = end - start == 1 and starts[end] - starts[start] > 1
            if is_document or not split_word or self.settings.unary == "keep":
                yield label, (start, end), words + node

    def words(self, ids: Iterable[int]) -> list[str]:
        """The words that ids stand for, without special tokens."""
        return self.vocabulary.words(ids)

    def text(self, ids: Iterable[int]) -> str:
        """Ids of a translation as running text."""
        return detokenize(self.words(ids), self.settings.target_language or self.settings.language)


def _checked_inputs(inputs: Iterable[str | Tree]) -> list[str | Tree]:
    """The texts and trees; ``ValueError`` names the position of anything else."""
    inputs = text_column(inputs)
    if isinstance(inputs, (str, bytes, Tree)):
        raise ValueError(f"inputs: expected a list of texts or trees, got one {type(inputs).__name__}")
    items: list[Any] = [item if isinstance(item, (str, Tree)) else _plain_input(item) for item in inputs]
    for number, item in enumerate(items, start=1):
        if not isinstance(item, (str, Tree)):
            kind = type(item).__name__
            raise ValueError(f"inputs: expected texts or trees, got {item!r:.40} ({kind}) as text {number}")
    return items


def _plain_input(item: Any) -> Any:
    """A text of Arrow as a string, a ``Doc`` of spaCy as its tree or text, anything else as it is."""
    if hasattr(item, "as_py"):
        return item.as_py()
    if type(item).__module__.startswith("spacy.tokens"):
        from treeformer.integrations.spacy import tree_or_text

        return tree_or_text(item)
    return item


def label_list(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of nodes, in the order of their ids."""
    return (UNKNOWN_LABEL, DOCUMENT, *sorted(set(labels) - {UNKNOWN_LABEL, DOCUMENT}))


def _control_tree(tree: Tree, kind: TreeKind) -> Tree:
    """A control tree over the words of a tree."""
    match kind:
        case "shuffled":
            return shuffled_labels(tree, _seed_of(tree))
        case "balanced":
            return balanced(tree.words)
        case "left":
            return left_branching(tree.words)
        case "right":
            return right_branching(tree.words)
        case "random":
            return random_tree(tree.words, _seed_of(tree))
    return tree


def _seed_of(tree: Tree) -> int:
    """A seed that depends on the words alone, so that a sentence always gets the same control tree."""
    return zlib.crc32(" ".join(tree.words).encode("utf-8"))
