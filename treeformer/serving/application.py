"""The HTTP application: paths, what they take and give, and how errors are told."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic_core import to_json
from starlette.exceptions import HTTPException

import treeformer
from treeformer.serving import answers, questions
from treeformer.serving.errors import Problem, RefusedError, bad, first_problem
from treeformer.serving.files import page_routes
from treeformer.serving.guard import Guard
from treeformer.serving.limits import Limits
from treeformer.serving.metrics import CONTENT_TYPE, Metrics
from treeformer.serving.service import Service

_log = logging.getLogger("treeformer.serving")
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The body is no JSON, or the host is not this machine."},
    401: {"model": Problem, "description": "The token is missing or wrong."},
    408: {"model": Problem, "description": "The body did not arrive in time."},
    413: {"model": Problem, "description": "The body is too large."},
    422: {"model": Problem, "description": "The body is not what was expected, or exceeds a limit."},
    503: {
        "model": Problem,
        "description": "Too many requests wait, this one took too long, or its process ended: try again.",
        "headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}},
    },
}
_ABOUT = """Text or trees in, answers of a trained model out. Every refusal is a JSON object with `error`,
a sentence, and `limit`, the name of the limit that was met, if it was one."""


def application(
    service: Service, metrics: Metrics, *, token: str | None = None, hosts: frozenset[str] | None = None
) -> Guard:
    """The guarded application around a service, which it starts and finishes."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        service.finish()

    app = FastAPI(
        title="treeformer",
        version=treeformer.__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        routes=list(page_routes()),
    )
    _add_questions(app, service)
    _add_facts(app, service, metrics)
    _add_errors(app)
    _add_description(app, service.limits, secured=token is not None)
    counted = frozenset(getattr(route, "path", "") for route in app.routes)
    return Guard(app, service.limits, metrics, token=token, hosts=hosts, counted=counted)


def _add_questions(app: FastAPI, service: Service) -> None:
    @app.post("/v1/parse", response_model=answers.ParseAnswer, responses=_PROBLEMS, tags=["questions"])
    async def parse(question: questions.ParseQuestion) -> Response:
        """Text to trees."""
        return _answer(await service.parse(question))

    @app.post("/v1/classify", response_model=answers.ClassifyAnswer, responses=_PROBLEMS, tags=["questions"])
    async def classify(question: questions.ClassifyQuestion) -> Response:
        """Text or trees to labels, phrase by phrase."""
        return _answer(await service.classify(question))

    @app.post(
        "/v1/translate", response_model=answers.TranslateAnswer, responses=_PROBLEMS, tags=["questions"]
    )
    async def translate(question: questions.TranslateQuestion) -> Response:
        """Text or trees to text in another language; needs a translation model."""
        return _answer(await service.translate(question))

    @app.post(
        "/v1/attention", response_model=answers.AttentionAnswer, responses=_PROBLEMS, tags=["questions"]
    )
    async def attention(question: questions.AttentionQuestion) -> Response:
        """What a word or phrase attends to, and what flows into it by accumulation."""
        return _answer(await service.attention(question))


def _add_facts(app: FastAPI, service: Service, metrics: Metrics) -> None:
    @app.get("/v1/models", response_model=answers.ModelsAnswer, responses=_PROBLEMS, tags=["facts"])
    async def models() -> Response:
        """The models and parsers that are loaded, and the limits."""
        return _json(service.about())

    @app.get("/healthz", response_model=answers.Health, responses={400: _PROBLEMS[400]}, tags=["facts"])
    async def healthz() -> Response:
        """That the service is up."""
        return _json({"status": "ok", "version": treeformer.__version__})

    @app.get(
        "/metrics",
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
            400: _PROBLEMS[400],
            401: _PROBLEMS[401],
        },
        tags=["facts"],
    )
    async def prometheus() -> Response:
        """Counts and times, as Prometheus reads them."""
        return Response(metrics.text(), media_type=CONTENT_TYPE)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RefusedError)
    async def refused(request: Request, error: RefusedError) -> Response:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        problems = list(error.errors())
        if problems[0]["type"] == "json_invalid":
            message = f"body: expected JSON, got something else at character {problems[0]['loc'][-1]}"
            return RefusedError(400, message).response()
        return bad(first_problem(problems)).response()

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        return RefusedError(error.status_code, str(error.detail)).response(error.headers)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return RefusedError(500, "an error of the service, which has been logged").response()


def _add_description(app: FastAPI, limits: Limits, *, secured: bool) -> None:
    """The description of the interface, with the limits of this service in it."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            for name, schema in found["components"]["schemas"].items():
                if name.endswith("Question"):
                    _limit(schema["properties"], limits)
            if secured:
                found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
                for path, methods in found["paths"].items():
                    for method in methods.values() if path.startswith(("/v1/", "/metrics")) else ():
                        method["security"] = [{"token": []}]
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def _limit(properties: dict[str, Any], limits: Limits) -> None:
    """Add the limits to the inputs of a question."""
    text = {"minLength": 1, "maxLength": limits.characters}
    if "inputs" in properties:
        properties["inputs"]["maxItems"] = limits.inputs
        properties["inputs"]["items"].update(text)
    if "input" in properties:
        properties["input"].update(text)


def _answer(content: bytes) -> Response:
    """JSON as it is: what this service made needs no validation."""
    return Response(content, media_type="application/json")


def _json(content: dict[str, Any]) -> Response:
    return _answer(to_json(content))
