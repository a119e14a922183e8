"""``Service``: checks requests and queues them for model processes, or first for another parser."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable, Sequence
from typing import Any

from treeformer.inference.answers import to_json
from treeformer.parsing.failures import Parsed
from treeformer.parsing.tokenizer import LANGUAGES
from treeformer.serving import schema
from treeformer.serving.languages import language_of
from treeformer.serving.limits import Limits, invalid, unavailable
from treeformer.serving.metrics import Metrics
from treeformer.serving.model_process import LoadedModels, ModelProcess, ModelRequest
from treeformer.serving.request_queue import BatchWorker, RequestQueue
from treeformer.serving.text_parser import ParserWorker
from treeformer.trees.tree import lone_surrogate

_CLOSING = 4.0  # seconds for all processes together to end, before they are killed


class Service:
    """Answers requests with model processes, which have all ``loaded`` the same models.

    ``parsers`` are parsers outside these processes that a request may choose instead of the model's; the
    embedded parsers of other languages are in the processes.
    """

    def __init__(
        self,
        processes: Sequence[ModelProcess],
        loaded: LoadedModels,
        parsers: dict[str, ParserWorker],
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self.limits = limits
        self._loaded = loaded
        self._workers: list[ModelProcess | ParserWorker] = [*processes, *parsers.values()]
        self._record_batch = metrics.batches.observe
        self._model_queue = self._new_queue("models", processes)
        self._parser_queues = {name: self._new_queue(name, [parser]) for name, parser in parsers.items()}
        self._other_languages = tuple(name for name in LANGUAGES if name != loaded.language)
        self._parser_names = (schema.EMBEDDED, *self._other_languages, *self._parser_queues)

    def _new_queue(self, name: str, workers: Sequence[BatchWorker]) -> RequestQueue:
        limits = self.limits
        return RequestQueue(
            name, workers, batch=limits.batch, window=limits.window, record_batch=self._record_batch
        )

    def close(self) -> None:
        """End the processes and the parsers; requests that still wait are not answered."""
        end = time.monotonic() + _CLOSING
        for queue in (*self._parser_queues.values(), self._model_queue):
            queue.close(0.0)
        for worker in self._workers:
            worker.ask_to_end()
        for worker in self._workers:
            worker.close(max(0.0, end - time.monotonic()))

    def description(self) -> schema.ModelsResponse:
        """Models, parsers and limits."""
        loaded = self._loaded
        return schema.ModelsResponse(
            models=loaded.models,
            parsers=self._parser_names,
            languages={loaded.language: schema.EMBEDDED} | {name: name for name in self._other_languages},
            translation=loaded.translation,
            translated_language=loaded.translated_language,
            limits=self.limits,
        )

    async def answer(self, request: schema.ServiceRequest | schema.LanguageRequest, peer: str) -> bytes:
        """The response to a request of a peer as JSON; RefusedError where there is none."""
        self._check_texts(request)
        if isinstance(request, schema.LanguageRequest):
            return await asyncio.to_thread(self._languages, request.inputs)
        self._check_names(request)
        parsed: list[Parsed] | None = None
        queue = self._parser_queues.get(_parser_of(request))
        if queue is not None:
            parsed = await self._ask(queue, schema.ParseRequest, request, request, peer)
        content = ModelRequest(request, parsed)
        return bytes(await self._ask(self._model_queue, schema.batch_key(request), content, request, peer))

    def _languages(self, texts: Sequence[str]) -> bytes:
        """The response with the language of each text."""
        usual = self._loaded.language
        return to_json(schema.LanguageResponse(tuple(language_of(text, usual=usual) for text in texts)))

    def _check_names(self, request: schema.ServiceRequest) -> None:
        """Refuse a model or parser that is not loaded."""
        if isinstance(request, schema.TranslateRequest) and self._loaded.translation is None:
            raise invalid("no translation model is loaded: treeformer serve --translation RUN")
        if isinstance(request, schema.ClassifyRequest | schema.AttentionRequest):
            names = [model.name for model in self._loaded.models]
            if request.model not in names:
                raise invalid(f"model: expected one of {', '.join(names)}")
        if _parser_of(request) not in self._parser_names:
            raise invalid(f"parser: expected one of {', '.join(self._parser_names)}")

    def _check_texts(self, request: schema.ServiceRequest | schema.LanguageRequest) -> None:
        """Refuse texts that exceed the limits, and what is not text."""
        texts, most = request.located_texts(), self.limits.characters
        if len(texts) > self.limits.inputs:
            raise invalid(f"inputs: expected at most {self.limits.inputs}, got {len(texts)}", "inputs")
        for place, text in texts:
            if len(text) > most:
                message = f"{place}: expected at most {most:,} characters, got {len(text):,}"
                raise invalid(message, "characters")
            if lone_surrogate(text) >= 0:
                raise invalid(f"{place}: expected text, got a lone surrogate, which is no character")
            if not text.strip():
                raise invalid(f"{place}: expected words, got none")

    async def _ask(
        self, queue: RequestQueue, key: Hashable, content: Any, request: schema.ServiceRequest, peer: str
    ) -> Any:
        """The answer of a queue."""
        seconds, texts = self.limits.seconds, [text for _, text in request.located_texts()]
        cost = sum(map(len, texts))
        try:
            return await queue.ask(key, content, size=len(texts), cost=cost, peer=peer, seconds=seconds)
        except TimeoutError:
            raise unavailable(f"no answer within {seconds:g} seconds, try again later", "seconds") from None


def _parser_of(request: schema.ServiceRequest) -> str:
    """The parser that a request names for its texts, by default that of the model."""
    if isinstance(request, schema.ParseRequest) or (
        isinstance(request, schema.ClassifyRequest) and not request.trees
    ):
        return request.parser
    return schema.EMBEDDED
