"""``Service``: the models, the threads that own them, and the questions they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from treeformer.inference.pictures import marks_of
from treeformer.serving.engine import (
    ClassifierEngine,
    Item,
    Look,
    ParserEngine,
    TranslatorEngine,
    over_limits,
    tree_of,
)
from treeformer.serving.errors import bad, busy
from treeformer.serving.limits import Limits
from treeformer.serving.metrics import Metrics
from treeformer.serving.questions import (
    AttentionQuestion,
    ClassifyQuestion,
    ParseQuestion,
    TranslateQuestion,
)
from treeformer.serving.worker import Work, Worker
from treeformer.trees import Tree, join
from treeformer.trees.tree import lone_surrogate

EMBEDDED = "embedded"


class Service:
    """Answers questions; each model is used by one thread alone.

    Args:
        models: classifiers by name; ``main`` is one of them.
        translation: a translator, if there is one.
        parsers: for texts, beside the one of each model, by name.
        limits: of the service.
        metrics: that count.
    """

    def __init__(
        self,
        models: dict[str, ClassifierEngine],
        translation: TranslatorEngine | None,
        parsers: dict[str, ParserEngine],
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self.models = models
        self.translation = translation
        self.limits = limits
        main = models["main"].classifier.processor
        self.parsers = {EMBEDDED: ParserEngine(main.settings.parser, main.parser)} | parsers
        self._worker = self._new_worker("model", metrics)
        self._parser_workers = {name: self._new_worker(name, metrics) for name in parsers}

    def start(self) -> None:
        for worker in (self._worker, *self._parser_workers.values()):
            worker.start()

    def close(self) -> None:
        """Finish what was accepted."""
        for worker in (self._worker, *self._parser_workers.values()):
            worker.close()
        for name in self._parser_workers:
            self.parsers[name].close()

    def about(self) -> dict[str, Any]:
        """What a page needs to know about the service."""
        return {
            "models": [self._about(name, engine) for name, engine in self.models.items()],
            "parsers": list(self.parsers),
            "translation": None if self.translation is None else self.translation.title,
            "limits": asdict(self.limits),
        }

    def _about(self, name: str, engine: ClassifierEngine) -> dict[str, Any]:
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

    async def parse(self, question: ParseQuestion) -> dict[str, Any]:
        self._check(question.inputs)
        found = await self._parsed(question.inputs, question.parser)
        pairs = zip(question.inputs, found, strict=True)
        answers = [{"text": text, "trees": [str(tree) for tree in trees]} for text, trees in pairs]
        return {"parser": question.parser, "answers": answers}

    async def classify(self, question: ClassifyQuestion) -> dict[str, Any]:
        self._check(question.inputs)
        engine = self._model(question.model)
        inputs = await self._inputs(question.inputs, question.trees, question.parser)
        items = [
            Item(f"inputs[{number}]", own, question.exact, question.shape, question.seed)
            for number, own in enumerate(inputs)
        ]
        found = await self._ask(self._worker, engine.classify, items)
        pairs = zip(question.inputs, found, strict=True)
        return {"model": question.model, "answers": [{**own.as_json(), "text": text} for text, own in pairs]}

    async def translate(self, question: TranslateQuestion) -> dict[str, Any]:
        if self.translation is None:
            raise bad("no translation model is loaded: treeformer serve --translation RUN")
        self._check(question.inputs)
        inputs = await self._inputs(question.inputs, question.trees, EMBEDDED)
        items = [Item(f"inputs[{number}]", own) for number, own in enumerate(inputs)]
        if not question.attention:
            plain = await self._ask(self._worker, self.translation.translate, items)
            return {"answers": [own._asdict() for own in plain]}
        found = await self._ask(self._worker, self.translation.align, items)
        return {
            "answers": [
                {
                    **own.translation._asdict(),
                    "tree": str(own.tree),
                    "words": [asdict(word) for word in own.words],
                }
                for own in found
            ]
        }

    async def attention(self, question: AttentionQuestion) -> dict[str, Any]:
        self._check([question.input], "input")
        engine = self._model(question.model)
        given: str | Tree = question.input
        if question.trees:
            given = tree_of(question.input, "input")
        look = Look(Item("input", given, question.exact), question.part, question.hierarchical_embeddings)
        ((tree, part, found),) = await self._ask(self._worker, engine.attention, [look])
        return {
            "model": question.model,
            "tree": str(tree),
            "part": part.model_dump(),
            **asdict(found),
        }

    def _model(self, name: str) -> ClassifierEngine:
        if name not in self.models:
            raise bad(f"model: expected one of {', '.join(self.models)}")
        return self.models[name]

    def _check(self, inputs: Sequence[str], place: str | None = None) -> None:
        """Refuse more than the limits allow, and what is no text."""
        if len(inputs) > self.limits.inputs:
            raise bad(f"inputs: expected at most {self.limits.inputs}, got {len(inputs)}", "inputs")
        most = self.limits.characters
        for number, text in enumerate(inputs):
            where = place or f"inputs[{number}]"
            if len(text) > most:
                raise bad(f"{where}: expected at most {most:,} characters, got {len(text):,}", "characters")
            if lone_surrogate(text) >= 0:
                raise bad(f"{where}: expected text, got a lone surrogate, which is no character")
            if not text.strip():
                raise bad(f"{where}: expected words, got none")

    async def _inputs(self, inputs: Sequence[str], trees: bool, parser: str) -> Sequence[str | Tree]:
        """The texts or trees; what another parser than that of the model shall parse is parsed."""
        if trees:
            return [tree_of(text, f"inputs[{number}]") for number, text in enumerate(inputs)]
        if parser == EMBEDDED:
            return inputs
        found = []
        for number, own in enumerate(await self._parsed(inputs, parser)):
            if not own:
                raise bad(f"inputs[{number}]: expected words, got none")
            found.append(own[0] if len(own) == 1 else join(own))
        return found

    async def _parsed(self, texts: Sequence[str], parser: str) -> Sequence[list[Tree]]:
        if parser not in self.parsers:
            raise bad(f"parser: expected one of {', '.join(self.parsers)}")
        worker = self._parser_workers.get(parser, self._worker)
        found = await self._ask(worker, self.parsers[parser].parse, texts)
        for number, trees in enumerate(found):
            if not trees:
                continue
            place, limits = f"inputs[{number}]", self.limits
            if refused := over_limits(place, join(trees), limits.words, limits.sentences):
                raise refused
        return found

    async def _ask(self, worker: Worker, work: Work, items: Sequence[Any]) -> Sequence[Any]:
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await worker.ask(work, items)
        except TimeoutError:
            raise busy(
                f"no answer within {self.limits.seconds:g} seconds, try again later", "seconds"
            ) from None

    def _new_worker(self, name: str, metrics: Metrics) -> Worker:
        return Worker(name, batch=self.limits.batch, window=self.limits.window, tell=metrics.batches.observe)
