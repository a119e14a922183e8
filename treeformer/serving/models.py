"""All models of a service, in a process of their own: questions in, answers as JSON out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pydantic_core import to_json

from treeformer.inference.answers import as_json
from treeformer.inference.pictures import marks_of
from treeformer.serving.engine import (
    ClassifierEngine,
    Item,
    Look,
    TranslatorEngine,
    load_classifier,
    load_translator,
)
from treeformer.serving.errors import RefusedError, busy
from treeformer.serving.limits import Limits
from treeformer.serving.model_process import Asked, Runs
from treeformer.serving.parsers import ParserEngine, long_texts, parsed_answer, too_large, tree_of
from treeformer.serving.questions import (
    AttentionQuestion,
    ClassifyQuestion,
    ParseQuestion,
    Question,
    TranslateQuestion,
)

Answer = dict[str, Any] | RefusedError


class Models:
    """Classifiers, a translator and a parser that answer questions which arrived together.

    Args:
        classifiers: by name; ``main`` is one of them, and its parser is the one that is asked to parse.
        translator: if there is one.
        limits: of the service.
    """

    def __init__(
        self, classifiers: dict[str, ClassifierEngine], translator: TranslatorEngine | None, limits: Limits
    ) -> None:
        self._classifiers = classifiers
        self._translator = translator
        self._limits = limits
        main = classifiers["main"].classifier.processor
        self._language = main.settings.language
        self._parser = ParserEngine(main.settings.parser, main.parser)
        self._answer: dict[type[Question], Callable[[Sequence[Asked], float], list[Answer]]] = {
            ParseQuestion: self._parse,
            ClassifyQuestion: self._classify,
            TranslateQuestion: self._translate,
            AttentionQuestion: self._attention,
        }

    def about(self) -> dict[str, Any]:
        """What is loaded."""
        return {
            "language": self._language,
            "models": [_about(name, engine) for name, engine in self._classifiers.items()],
            "translation": None if self._translator is None else self._translator.title,
        }

    def __call__(self, asked: Sequence[Asked], seconds: float) -> list[bytes | RefusedError]:
        """For each question its answer, or why there is none.

        Args:
            asked: questions of one kind to the same model.
            seconds: after that time nobody waits for the answers.
        """
        try:
            found = self._answer[type(asked[0].question)](asked, seconds)
        except TimeoutError:
            found = [busy("no answer in time, try again later", "seconds")] * len(asked)
        return [own if isinstance(own, RefusedError) else to_json(own) for own in found]

    def _parse(self, asked: Sequence[Asked], seconds: float) -> list[Answer]:
        questions = [own.question for own in asked]
        long = [long_texts(own.inputs, self._language, self._limits) for own in questions]
        short = [own.inputs for own, refused in zip(questions, long, strict=True) if refused is None]
        found = iter(self._parser(short, seconds))
        return [
            refused or too_large(trees := next(found), self._limits) or parsed_answer(own, trees)
            for own, refused in zip(questions, long, strict=True)
        ]

    def _classify(self, asked: Sequence[Asked], seconds: float) -> list[Answer]:
        engine = self._classifiers[asked[0].question.model]

        def answer(question: Any, found: list[Any]) -> dict[str, Any]:
            pairs = zip(question.inputs, found, strict=True)
            answers = [{**as_json(own), "text": text} for text, own in pairs]
            return {"model": question.model, "answers": answers}

        return _together(asked, _items, partial(engine.classify, seconds=seconds), answer)

    def _translate(self, asked: Sequence[Asked], seconds: float) -> list[Answer]:
        assert self._translator is not None
        if not asked[0].question.attention:
            translate = partial(self._translator.translate, seconds=seconds)
            return _together(asked, _items, translate, _translated)
        align = partial(self._translator.align, seconds=seconds)
        return _together(asked, _items, align, _translated)

    def _attention(self, asked: Sequence[Asked], seconds: float) -> list[Answer]:
        engine = self._classifiers[asked[0].question.model]

        def answer(question: Any, found: list[Any]) -> dict[str, Any]:
            ((tree, part, attended),) = found
            return {
                "model": question.model,
                "tree": str(tree),
                "part": part.model_dump(),
                **as_json(attended),
            }

        return _together(asked, _looks, partial(engine.attention, seconds=seconds), answer)


def load_models(runs: Runs) -> Models:
    """The models of these runs."""
    classifiers = {"main": load_classifier(runs.model, runs.limits, runs.device)}
    if runs.other_model is not None:
        classifiers["other"] = load_classifier(runs.other_model, runs.limits, runs.device)
    translator = None
    if runs.translation is not None:
        translator = load_translator(runs.translation, runs.limits, runs.device)
    return Models(classifiers, translator, runs.limits)


def _about(name: str, engine: ClassifierEngine) -> dict[str, Any]:
    classes, config = engine.classifier.classes, engine.classifier.model.config
    marks = zip(classes, marks_of(classes), strict=True)
    accumulates = getattr(config, "accumulate", False)
    return {
        "name": name,
        "title": engine.title,
        "system": engine.classifier.system.name,
        "classes": [{"name": own, "mark": mark, "colour": colour} for own, (mark, colour) in marks],
        "labels": list(engine.classifier.processor.settings.labels),
        "attention": engine.classifier.system.name in ("tree-transformer", "transformer"),
        "hierarchical_embeddings": accumulates and getattr(config, "hierarchical_embeddings", False),
    }


def _together(
    asked: Sequence[Asked],
    items_of: Callable[[Asked], list[Any]],
    work: Callable[[list[Any]], Sequence[Any]],
    answer: Callable[[Any, list[Any]], dict[str, Any]],
) -> list[Answer]:
    """The answers to questions whose items are worked on together; a question with a bad item is refused."""
    items = [_or_refused(items_of, own) for own in asked]
    found = iter(work([item for own in items if isinstance(own, list) for item in own]))
    answers: list[Answer] = []
    for (question, _), own in zip(asked, items, strict=True):
        done = [next(found) for _ in own] if isinstance(own, list) else [own]
        refused = next((item for item in done if isinstance(item, RefusedError)), None)
        answers.append(refused or answer(question, done))
    return answers


def _or_refused(items_of: Callable[[Asked], list[Any]], asked: Asked) -> list[Any] | RefusedError:
    try:
        return items_of(asked)
    except RefusedError as error:
        return error


def _items(asked: Asked) -> list[Item]:
    """The inputs of a question, with what is to be done to them."""
    question, inputs = asked.question, asked.parsed
    if inputs is None and question.trees:
        inputs = [tree_of(text, f"inputs[{number}]") for number, text in enumerate(question.inputs)]
    given = {name: getattr(question, name) for name in ("exact", "shape", "seed") if hasattr(question, name)}
    return [
        Item(f"inputs[{number}]", own, **given)
        for number, own in enumerate(question.inputs if inputs is None else inputs)
    ]


def _looks(asked: Asked) -> list[Look]:
    question = asked.question
    given = tree_of(question.input, "input") if question.trees else question.input
    return [Look(Item("input", given, question.exact), question.part, question.hierarchical_embeddings)]


def _translated(question: Any, answers: list[Any]) -> dict[str, Any]:
    return {"answers": [as_json(answer) for answer in answers]}
