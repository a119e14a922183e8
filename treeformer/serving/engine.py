"""``Engine``: the models of a service, in a separate process. Requests in, responses as JSON out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from treeformer.data.processor import TreeProcessor
from treeformer.data.reading import Reading
from treeformer.inference.alignment import aligned_translations
from treeformer.inference.answers import Translation, to_json
from treeformer.inference.attention import part_attention
from treeformer.inference.classifier import Classifier
from treeformer.inference.effects import explained
from treeformer.inference.loading import trained_on
from treeformer.inference.pictures import marks_of
from treeformer.inference.shipped import default_model
from treeformer.inference.translator import Translator
from treeformer.parsing.embedded import EmbeddedParser
from treeformer.parsing.failures import Parsed
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.loading import load_parser
from treeformer.parsing.tokenizer import LANGUAGES
from treeformer.serving import schema
from treeformer.serving.limits import Deadline, Limits, RefusedError, invalid, unavailable
from treeformer.serving.model_process import LoadedModels, ModelRequest, ProcessSettings
from treeformer.serving.text_parser import (
    Input,
    inputs_of,
    parse_inputs,
    work_in_groups,
    work_until,
)
from treeformer.trees import Tree, balanced, left_branching, random_tree, right_branching

Answer = TypeVar("Answer")
Response = (
    schema.ParseResponse | schema.ClassifyResponse | schema.TranslateResponse | schema.AttentionResponse
)
_WITH_ATTENTION = ("tree-transformer", "composed-tree-transformer", "transformer")
_PARSER_BATCH_WORDS = 350  # in larger batches, the few texts of mixed lengths would be mostly padding
_PARTS = 2_000  # words and nodes classified between two looks at the time
_CONTROL_TREES = {"balanced": balanced, "left": left_branching, "right": right_branching}


class Engine:
    """Loads classifiers and a translator, and answers requests that arrived together.

    The classifier ``main`` always exists. Its parser answers requests to parse.
    """

    def __init__(self, settings: ProcessSettings) -> None:
        self._settings = settings
        self._classifiers = {
            name: Classifier.from_pretrained(folder, device=settings.device)
            for name, folder in settings.classifiers.items()
        }
        models: list[Classifier | Translator] = list(self._classifiers.values())
        if settings.translation is not None:
            self._translator = Translator.from_pretrained(settings.translation, device=settings.device)
            models.append(self._translator)
        for model in models:
            _load_parser(model.processor)
        self._language = self._classifiers["main"].processor.settings.language
        self._line_parser = LineParser(lambda: self._classifiers["main"].processor.parser)
        self._parsers_by_language = {
            language: LineParser(partial(load_parser, language)) for language in LANGUAGES
        }

    def description(self) -> LoadedModels:
        """What is loaded."""
        folder = self._settings.translation
        return LoadedModels(
            language=self._language,
            models=tuple(
                _model_description(name, self._settings.classifiers[name], classifier)
                for name, classifier in self._classifiers.items()
            ),
            translation=None if folder is None else folder.name,
            translated_language=None if folder is None else self._translator.processor.settings.language,
        )

    def __call__(self, batch: Sequence[ModelRequest], deadline: Deadline) -> list[bytes | RefusedError]:
        """The response to each request as JSON, or its refusal.

        Args:
            batch: requests whose ``batch_key`` is equal.
            deadline: when all of the requests expire.
        """
        requests = [request for request, _ in batch]
        inputs = [inputs_of(request, parsed) for request, parsed in batch]
        try:
            responses = self._respond(requests, inputs, deadline)
        except TimeoutError:
            return [unavailable("no answer in time, try again later", "seconds")] * len(batch)
        return [self._json(response) for response in responses]

    def _json(self, response: Response | RefusedError) -> bytes | RefusedError:
        """A response as JSON; a refusal if it is too large."""
        if isinstance(response, RefusedError):
            return response
        content, most = to_json(response), self._settings.limits.answer
        if len(content) > most:
            message = f"the answer has {len(content):,} bytes, expected at most {most:,}: send less text"
            return invalid(message, "answer")
        return content

    def _respond(
        self,
        requests: Sequence[schema.ServiceRequest],
        inputs: Sequence[list[Input] | RefusedError],
        deadline: Deadline,
    ) -> Sequence[Response | RefusedError]:
        """The response to each request, or its refusal; TimeoutError after ``deadline``."""
        limits = self._settings.limits
        costly_limits = replace(limits, words=limits.costly)
        match requests[0]:
            case schema.ParseRequest(parser=parser):
                parsed = work_in_groups(inputs, lambda items: self._parse(items, parser, deadline))
                return _wrap(parsed, lambda answers: schema.ParseResponse(parser, answers))
            case schema.ClassifyRequest(model=model, effects=effects, parser=parser):
                classifier, answer = self._classifiers[model], _explain if effects else classify_readings
                most = costly_limits if effects else limits
                language_parser = self._parsers_by_language.get(parser)
                readings = _read_groups(inputs, classifier.processor, most, deadline, language_parser)
                classified = work_in_groups(readings, lambda items: answer(classifier, items, deadline))
                return _wrap(classified, lambda answers: schema.ClassifyResponse(model, answers))
            case schema.TranslateRequest(attention=aligned):
                processor = self._translator.processor
                readings = _read_groups(inputs, processor, costly_limits, deadline)
                translate = partial(self._translate, deadline=deadline, aligned=aligned)
                return _wrap(work_in_groups(readings, translate), schema.TranslateResponse)
            case schema.AttentionRequest(model=model):
                processor = self._classifiers[model].processor
                readings = _read_groups(inputs, processor, costly_limits, deadline)
                return [self._attention(*pair, deadline) for pair in zip(requests, readings, strict=True)]

    def _parse(
        self, inputs: Sequence[Input], parser: str, deadline: Deadline
    ) -> list[schema.ParsedText | RefusedError]:
        results = parse_inputs(
            inputs,
            self._parsers_by_language.get(parser, self._line_parser).parse,
            language=parser if parser in LANGUAGES else self._language,
            limits=self._settings.limits,
            deadline=deadline,
        )
        answers: list[schema.ParsedText | RefusedError] = []
        for item, parsed in zip(inputs, results, strict=True):
            if isinstance(parsed, RefusedError):
                answers.append(parsed)
            else:
                answers.append(schema.ParsedText(item.text, tuple(parsed.trees), tuple(parsed.failures)))
        return answers

    def _translate(
        self, readings: Sequence[Reading], deadline: Deadline, *, aligned: bool
    ) -> Sequence[Translation]:
        """The best translation of each reading, with alignment if asked for."""
        deadline.check()
        seconds = deadline.seconds()
        if aligned:
            return aligned_translations(self._translator, readings, seconds=seconds)
        return [translations[0] for translations in self._translator.translate(readings, seconds=seconds)]

    def _attention(
        self,
        request: schema.ServiceRequest,
        readings: list[Reading] | RefusedError,
        deadline: Deadline,
    ) -> schema.AttentionResponse | RefusedError:
        """The attention of the part that the request names, by default of the root."""
        if isinstance(readings, RefusedError):
            return readings
        deadline.check()
        assert isinstance(request, schema.AttentionRequest)
        classifier, (reading,) = self._classifiers[request.model], readings
        words, nodes = len(reading.tree.words), len(reading.tree)
        reference = request.part
        if reference is None and classifier.system.reads == "words":
            reference = schema.PartReference(kind="word", index=0)
        elif reference is None:
            reference = schema.PartReference(kind="node", index=nodes - 1)
        size, start = (words, 0) if reference.kind == "word" else (nodes, words)
        if reference.index >= size:
            message = f"this tree has {size} {reference.kind}s, expected less, got {reference.index}"
            return invalid(f"part.index: {message}")
        try:
            attention = part_attention(
                classifier,
                reading,
                start + reference.index,
                hierarchical_embeddings=request.hierarchical_embeddings,
            )
        except ValueError as error:
            return invalid(str(error))
        return schema.AttentionResponse(
            **vars(attention), model=request.model, tree=reading.tree, part=reference
        )


def classify_readings(
    classifier: Classifier, readings: Sequence[Reading], deadline: Deadline
) -> list[schema.ClassifiedText]:
    """The classification of each reading; TimeoutError after the deadline."""
    answers = work_until(
        deadline,
        readings,
        classifier.classify,
        size=lambda reading: len(reading.tree.words) + len(reading.tree),
        budget=_PARTS,
    )
    return [schema.ClassifiedText.of(answer) for answer in answers]


def _explain(
    classifier: Classifier, readings: Sequence[Reading], deadline: Deadline
) -> list[schema.ClassifiedText]:
    """The classification of each reading with its effects; TimeoutError after the deadline."""
    explain = partial(explained, classifier)
    answers = work_until(deadline, readings, explain, size=lambda reading: len(reading.tree), budget=1)
    return [schema.ClassifiedText.of(answer) for answer in answers]


def _read_groups(
    groups: Sequence[list[Input] | RefusedError],
    processor: TreeProcessor,
    limits: Limits,
    deadline: Deadline,
    parser: LineParser | None = None,
) -> list[list[Reading] | RefusedError]:
    """The readings of the inputs of each request, or its refusal."""
    return work_in_groups(groups, lambda inputs: read_inputs(inputs, processor, limits, deadline, parser))


def read_inputs(
    inputs: Sequence[Input],
    processor: TreeProcessor,
    limits: Limits,
    deadline: Deadline,
    parser: LineParser | None = None,
) -> list[Reading | RefusedError]:
    """The reading of each input within the limits, or its refusal; TimeoutError after ``deadline``.

    ``parser`` is the parser of another language than the model's; by default the model's own parses.
    """
    settings = processor.settings
    language = None if settings.tokenized else settings.language
    parse: Callable[[list[str]], Sequence[Parsed]] = processor.parse
    if parser is not None:
        parse, language = parser.parse, parser.load().language
    parsed = parse_inputs(inputs, parse, language=language, limits=limits, deadline=deadline)
    return [
        trees if isinstance(trees, RefusedError) else _reading(item, trees, processor, limits)
        for item, trees in zip(inputs, parsed, strict=True)
    ]


def _reading(item: Input, parsed: Parsed, processor: TreeProcessor, limits: Limits) -> Reading | RefusedError:
    if not parsed.trees:
        return invalid(f"{item.place}: expected words, got none")
    trees, exact = parsed.trees, item.exact
    if item.shape != "parsed":
        trees, exact = [_control_tree(tree, item.shape, item.seed) for tree in trees], True
    reading = processor.reading(trees, text=item.text, failures=parsed.failures, exact=exact)
    most = 2 * limits.words
    if reading.leaves > most:
        message = f"{item.place}: expected at most {most} pieces of words, got {reading.leaves}"
        return invalid(message, "words")
    return reading


def _load_parser(processor: TreeProcessor) -> None:
    """Load the parser of a model now, not with the first request; CoreNLP is a process that starts later."""
    if processor.settings.parser.startswith("corenlp"):
        return
    if isinstance(processor.parser, EmbeddedParser):
        processor.parser.batch_words = _PARSER_BATCH_WORDS


def _wrap(
    groups: Sequence[list[Answer] | RefusedError], response: Callable[[tuple[Answer, ...]], Response]
) -> list[Response | RefusedError]:
    """A response around the answers of each group; refusals stay."""
    return [group if isinstance(group, RefusedError) else response(tuple(group)) for group in groups]


def _model_description(name: str, folder: Path | None, classifier: Classifier) -> schema.ModelDescription:
    config, system = classifier.model.config, classifier.system.name
    settings = classifier.processor.settings
    accumulates = getattr(config, "accumulate", False)
    styles = zip(classifier.classes, marks_of(classifier.classes), strict=True)
    return schema.ModelDescription(
        name=name,
        title=f"sentiment model {classifier.name}" if folder is None else folder.name,
        system=system,
        language=settings.language,
        trained_on=trained_on(folder or default_model()),
        encoder=None if settings.encoder is None else Path(settings.encoder.source).name,
        classes=tuple(schema.ClassStyle(label, mark, colour) for label, (mark, colour) in styles),
        labels=settings.labels,
        attention=system in _WITH_ATTENTION,
        hierarchical_embeddings=accumulates and getattr(config, "hierarchical_embeddings", False),
        phrases_taught=classifier.phrases_taught,
    )


def _control_tree(tree: Tree, shape: schema.TreeShape, seed: int) -> Tree:
    """A control tree over the words of a sentence, with their tags."""
    if shape == "random":
        return random_tree(tree.words, seed, tags=tree.tags)
    return _CONTROL_TREES[shape](tree.words, tags=tree.tags)
