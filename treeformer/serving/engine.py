"""A classifier or a translator within the limits of the service: each item of a batch is read or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from treeformer.data.processor import TreeProcessor
from treeformer.data.reading import Reading, answer_each
from treeformer.inference.alignment import aligned_translations
from treeformer.inference.answers import AlignedTranslation, Classification, PartAttention, Translation
from treeformer.inference.attention import part_attention
from treeformer.inference.classifier import Classifier
from treeformer.inference.translator import Translator
from treeformer.parsing import load_parser
from treeformer.parsing.failures import Parsed
from treeformer.parsing.loading import parser_name
from treeformer.serving.errors import RefusedError, bad
from treeformer.serving.limits import Limits
from treeformer.serving.parsers import in_time, long_text, over_limits
from treeformer.serving.questions import Part, Shape
from treeformer.trees import (
    Tree,
    balanced,
    document,
    left_branching,
    random_tree,
    right_branching,
    sentences,
)

_Answer = TypeVar("_Answer")
_BATCH_WORDS = 350  # few texts of mixed lengths would be padding more than words in larger batches
_CONTROLS = {"balanced": balanced, "left": left_branching, "right": right_branching}


@dataclass(frozen=True)
class Item:
    """One input and what is to be done with it before the model reads it."""

    place: str  #: as errors name it
    input: str | Tree
    exact: bool = False
    shape: Shape = "parsed"
    seed: int = 1


@dataclass(frozen=True)
class Look:
    """One part of one input, whose attention is asked for."""

    item: Item
    part: Part | None
    hierarchical_embeddings: bool


class Reader:
    """Inputs to trees as one model reads them, within the limits."""

    def __init__(self, processor: TreeProcessor, limits: Limits) -> None:
        self.processor = processor
        self.limits = limits

    def read(
        self, items: Sequence[Item], seconds: float, *, costly: bool = False
    ) -> list[Reading | RefusedError]:
        """The reading of each item, or why it is refused; TimeoutError after ``seconds``."""
        words = self.limits.costly if costly else self.limits.words
        refused = [self._long(item, words) for item in items]
        texts = [
            item.input
            for item, own in zip(items, refused, strict=True)
            if isinstance(item.input, str) and not own
        ]
        parsed = iter(in_time(texts, self.processor.parse, seconds))
        readings: list[Reading | RefusedError] = []
        for item, refusal in zip(items, refused, strict=True):
            if refusal is not None:
                readings.append(refusal)
            elif isinstance(item.input, Tree):
                readings.append(self._reading(item, Parsed(list(sentences(item.input)), []), words))
            else:
                readings.append(self._reading(item, next(parsed), words))
        return readings

    def _long(self, item: Item, words: int) -> RefusedError | None:
        if isinstance(item.input, Tree):
            return None
        settings = self.processor.settings
        language = None if settings.tokenized else settings.language
        return long_text(item.place, item.input, language, words, self.limits.sentences)

    def _reading(self, item: Item, parsed: Parsed, words: int) -> Reading | RefusedError:
        if not parsed.trees:
            return bad(f"{item.place}: expected words, got none")
        trees, exact = parsed.trees, item.exact
        refusal = over_limits(item.place, document(trees), words, self.limits.sentences)
        if refusal is not None:
            return refusal
        if item.shape != "parsed":
            trees, exact = [_controlled(tree, item.shape, item.seed) for tree in trees], True
        text = item.input if isinstance(item.input, str) else None
        reading = self.processor.reading(trees, text=text, failures=parsed.failures, exact=exact)
        if reading.leaves > 2 * words:
            message = f"{item.place}: expected at most {2 * words} pieces of words, got {reading.leaves}"
            return bad(message, "words")
        return reading


class ClassifierEngine:
    """A classifier and what it does with items."""

    def __init__(self, classifier: Classifier, title: str, limits: Limits) -> None:
        self.classifier = classifier
        self.title = title
        self.reader = Reader(classifier.processor, limits)

    def classify(self, items: Sequence[Item], seconds: float) -> list[Classification | RefusedError]:
        """The class of each item and of its phrases."""
        return _answered(self.reader.read(items, seconds), self.classifier.classify)

    def attention(
        self, looks: Sequence[Look], seconds: float
    ) -> list[tuple[Tree, Part, PartAttention] | RefusedError]:
        """What the asked part of each item attends to."""
        return [self._attention(look, seconds) for look in looks]

    def _attention(self, look: Look, seconds: float) -> tuple[Tree, Part, PartAttention] | RefusedError:
        (reading,) = self.reader.read([look.item], seconds, costly=True)
        if isinstance(reading, RefusedError):
            return reading
        tree = reading.tree
        last_node = Part(kind="node", index=len(tree) - 1)
        words_alone = self.classifier.system.reads == "words"
        part = look.part or (Part(kind="word", index=0) if words_alone else last_node)
        size = len(tree.words) if part.kind == "word" else len(tree)
        if part.index >= size:
            return bad(f"part.index: this tree has {size} {part.kind}s, expected less, got {part.index}")
        place = part.index + (len(tree.words) if part.kind == "node" else 0)
        try:
            found = part_attention(
                self.classifier, reading, place, hierarchical_embeddings=look.hierarchical_embeddings
            )
        except ValueError as error:
            return bad(str(error))
        return tree, part, found


class TranslatorEngine:
    """A translator and what it does with items."""

    def __init__(self, translator: Translator, title: str, limits: Limits) -> None:
        self.translator = translator
        self.title = title
        self.reader = Reader(translator.processor, limits)

    def translate(self, items: Sequence[Item], seconds: float) -> list[Translation | RefusedError]:
        """The best translation of each item; TimeoutError when the time is over."""

        def translations(readings: Sequence[Reading]) -> list[Translation]:
            return [best for best, *_ in self.translator.translate(readings, seconds=seconds)]

        return _answered(self.reader.read(items, seconds, costly=True), translations)

    def align(self, items: Sequence[Item], seconds: float) -> list[AlignedTranslation | RefusedError]:
        """The same, and where the model looked."""
        align = partial(aligned_translations, self.translator, seconds=seconds)
        return _answered(self.reader.read(items, seconds, costly=True), align)


def _answered(
    readings: Sequence[Reading | RefusedError], answer: Callable[[list[Reading]], Sequence[_Answer]]
) -> list[_Answer | RefusedError]:
    """The answers to the readings, with refusals in their places."""
    present = [None if isinstance(reading, RefusedError) else reading for reading in readings]
    answers: list[_Answer | RefusedError] = []
    for reading, own in zip(readings, answer_each(present, answer), strict=True):
        if isinstance(reading, RefusedError):
            answers.append(reading)
        else:
            assert own is not None
            answers.append(own)
    return answers


def load_classifier(folder: Path | None, limits: Limits, device: str | None) -> ClassifierEngine:
    """The classifier of a run, or the one that comes with the package."""
    title = "shipped sentiment model" if folder is None else folder.name
    classifier = Classifier.from_pretrained(folder, device=device)
    _load_parser_of(classifier.processor)
    return ClassifierEngine(classifier, title, limits)


def load_translator(folder: Path, limits: Limits, device: str | None) -> TranslatorEngine:
    """The translator of a run."""
    translator = Translator.from_pretrained(folder, device=device)
    _load_parser_of(translator.processor)
    return TranslatorEngine(translator, folder.name, limits)


def _load_parser_of(processor: TreeProcessor) -> None:
    """Load the parser of a model now, not with the first request, and for few texts at a time."""
    name = parser_name(processor.settings.parser, processor.settings.language)
    if not name.startswith("corenlp"):
        processor.parser = load_parser(name, batch_words=_BATCH_WORDS)


def _controlled(tree: Tree, shape: Shape, seed: int) -> Tree:
    """A control tree over the words of a sentence, with their tags."""
    if shape == "random":
        return random_tree(tree.words, seed, tags=tree.tags)
    return _CONTROLS[shape](tree.words, tags=tree.tags)
