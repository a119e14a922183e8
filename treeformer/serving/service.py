"""``Service``: checks questions and queues them, for the processes with models or for another parser."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pydantic_core import to_json

from treeformer.serving.errors import bad, busy
from treeformer.serving.jobs import JobQueue, Worker
from treeformer.serving.limits import Limits
from treeformer.serving.metrics import Metrics
from treeformer.serving.model_process import Asked, ModelProcess
from treeformer.serving.parsers import ParserEngine, long_texts, parsed_answer, too_large
from treeformer.serving.questions import (
    AttentionQuestion,
    ClassifyQuestion,
    ParseQuestion,
    TranslateQuestion,
)
from treeformer.trees import Tree, document
from treeformer.trees.tree import lone_surrogate

EMBEDDED = "embedded"
_GRACE = 5.0  # seconds that work may take after the time limit of its requests, when the service ends


class Service:
    """Answers questions with JSON.

    Args:
        processes: with the models, all the same.
        about: what they have loaded.
        parsers: for texts, beside the one of each model, by name.
        limits: of the service.
        metrics: that count.
    """

    def __init__(
        self,
        processes: Sequence[ModelProcess],
        about: dict[str, Any],
        parsers: dict[str, ParserEngine],
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self.limits = limits
        self._about = about
        self._processes = processes
        self._parsers = parsers
        self._tell = metrics.batches.observe
        self._queue = self._new_queue("models", processes)
        self._parser_queues = {name: self._new_queue(name, [parser]) for name, parser in parsers.items()}

    def start(self) -> None:
        for queue in (self._queue, *self._parser_queues.values()):
            queue.start()

    def finish(self) -> None:
        """Finish what was accepted; no more is."""
        for queue in (self._queue, *self._parser_queues.values()):
            queue.close(self.limits.seconds + _GRACE)

    def close(self) -> None:
        """End the processes and the parsers."""
        for process in self._processes:
            process.close()
        for parser in self._parsers.values():
            parser.close()

    def about(self) -> dict[str, Any]:
        """What a page needs to know about the service."""
        return {
            "models": self._about["models"],
            "parsers": [EMBEDDED, *self._parsers],
            "translation": self._about["translation"],
            "limits": asdict(self.limits),
        }

    async def parse(self, question: ParseQuestion) -> bytes:
        self._check(question.inputs)
        if question.parser == EMBEDDED:
            return await self._ask(("parse",), Asked(question), len(question.inputs))
        return to_json(parsed_answer(question, await self._parsed(question)))

    async def classify(self, question: ClassifyQuestion) -> bytes:
        self._check(question.inputs)
        self._check_model(question.model)
        parsed = None
        if question.parser != EMBEDDED and not question.trees:
            parsed = [_joined(own, at) for at, own in enumerate(await self._parsed(question))]
        kind = ("classify", question.model)
        return await self._ask(kind, Asked(question, parsed), len(question.inputs))

    async def translate(self, question: TranslateQuestion) -> bytes:
        if self._about["translation"] is None:
            raise bad("no translation model is loaded: treeformer serve --translation RUN")
        self._check(question.inputs)
        return await self._ask(("translate", question.attention), Asked(question), len(question.inputs))

    async def attention(self, question: AttentionQuestion) -> bytes:
        self._check([question.input], "input")
        self._check_model(question.model)
        return await self._ask(("attention", question.model), Asked(question), 1)

    def _check_model(self, name: str) -> None:
        names = [own["name"] for own in self._about["models"]]
        if name not in names:
            raise bad(f"model: expected one of {', '.join(names)}")

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

    async def _parsed(self, question: ParseQuestion | ClassifyQuestion) -> Sequence[list[Tree]]:
        """The trees of another parser than that of the model, none too large."""
        if question.parser not in self._parsers:
            raise bad(f"parser: expected one of {', '.join([EMBEDDED, *self._parsers])}")
        queue, texts = self._parser_queues[question.parser], question.inputs
        if refused := await asyncio.to_thread(long_texts, texts, self._about["language"], self.limits):
            raise refused
        found = await self._answered(queue, ("parse",), texts, len(texts))
        if refused := too_large(found, self.limits):
            raise refused
        return found

    async def _ask(self, kind: tuple[Any, ...], asked: Asked, size: int) -> bytes:
        return await self._answered(self._queue, kind, asked, size)

    async def _answered(self, queue: JobQueue, kind: tuple[Any, ...], asked: Any, size: int) -> Any:
        seconds = self.limits.seconds
        try:
            return await queue.ask(kind, asked, size=size, seconds=seconds)
        except TimeoutError:
            raise busy(f"no answer within {seconds:g} seconds, try again later", "seconds") from None

    def _new_queue(self, name: str, workers: Sequence[Worker]) -> JobQueue:
        return JobQueue(name, workers, batch=self.limits.batch, window=self.limits.window, tell=self._tell)


def _joined(trees: Sequence[Tree], number: int) -> Tree:
    if not trees:
        raise bad(f"inputs[{number}]: expected words, got none")
    return document(trees)
