"""The HTTP application: routes, refusals and the OpenAPI description."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import treeformer
from treeformer.inference.answers import to_json
from treeformer.serving import schema
from treeformer.serving.guard import SECURED_PATHS, Guard, refusal_response
from treeformer.serving.limits import Limits, RefusedError, invalid
from treeformer.serving.metrics import CONTENT_TYPE, Metrics
from treeformer.serving.service import Service

_log = logging.getLogger("treeformer.serving")
_PAGE = Path(__file__).parent / "page"
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": schema.Problem, "description": "The body is not JSON, or the host is not this machine."},
    401: {"model": schema.Problem, "description": "The token is missing or wrong."},
    408: {"model": schema.Problem, "description": "The body did not arrive in time."},
    413: {"model": schema.Problem, "description": "The body is too large."},
    422: {"model": schema.Problem, "description": "The body does not fit its schema, or exceeds a limit."},
    503: {
        "model": schema.Problem,
        "description": "Too many requests, no answer in time, or the model process ended: try again.",
        "headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}},
    },
}
_ABOUT = """Text or trees in, answers of a trained model out. A refused request gets a JSON object with
`error`, a sentence, and `limit`, the name of the limit that was exceeded, if any."""


def application(
    service: Service, metrics: Metrics, *, token: str | None = None, hosts: frozenset[str] | None = None
) -> Guard:
    """The guarded application around a service."""
    app = FastAPI(
        title="treeformer",
        version=treeformer.__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        routes=[
            Route("/", _page_file("index.html")),
            Route("/docs", _page_file("interface.html")),
            Mount("/page", StaticFiles(directory=_PAGE)),
        ],
    )
    _add_model_routes(app, service)
    _add_status_routes(app, service, metrics)
    _add_error_handlers(app)
    _complete_description(app, service.limits, secured=token is not None)
    counted = frozenset(getattr(route, "path", "") for route in app.routes)
    return Guard(app, service.limits, metrics, token=token, hosts=hosts, counted=counted)


def _page_file(name: str) -> Any:
    async def send(request: Request) -> Response:
        return FileResponse(_PAGE / name)

    return send


def _add_model_routes(app: FastAPI, service: Service) -> None:
    post = partial(app.post, responses=_PROBLEMS, tags=["models"])

    @post("/v1/parse", response_model=schema.ParseResponse)
    async def parse(request: schema.ParseRequest) -> Response:
        """Parse texts."""
        return _json(await service.answer(request))

    @post("/v1/classify", response_model=schema.ClassifyResponse)
    async def classify(request: schema.ClassifyRequest) -> Response:
        """Classify texts or trees, and each of their phrases."""
        return _json(await service.answer(request))

    @post("/v1/translate", response_model=schema.TranslateResponse)
    async def translate(request: schema.TranslateRequest) -> Response:
        """Translate texts or trees; needs a translation model."""
        return _json(await service.answer(request))

    @post("/v1/attention", response_model=schema.AttentionResponse)
    async def attention(request: schema.AttentionRequest) -> Response:
        """Show what a word or phrase attends to, and what accumulation adds up in it."""
        return _json(await service.answer(request))


def _add_status_routes(app: FastAPI, service: Service, metrics: Metrics) -> None:
    get = partial(app.get, tags=["status"])

    @get("/v1/models", response_model=schema.ModelsResponse, responses=_PROBLEMS)
    async def models() -> Response:
        """List the models and parsers that are loaded, and the limits."""
        return _json(to_json(service.description()))

    @get("/healthz", response_model=schema.Health, responses={400: _PROBLEMS[400]})
    async def healthz() -> Response:
        """Report that the service is up."""
        return _json(to_json(schema.Health("ok", treeformer.__version__)))

    @get(
        "/metrics",
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
            400: _PROBLEMS[400],
            401: _PROBLEMS[401],
        },
    )
    async def prometheus() -> Response:
        """Report counts and times in the format of Prometheus."""
        return Response(metrics.text(), media_type=CONTENT_TYPE)


def _json(content: bytes) -> Response:
    """A response that FastAPI does not validate again."""
    return Response(content, media_type="application/json")


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(RefusedError)
    async def refused(request: Request, error: RefusedError) -> Response:
        return refusal_response(error)

    @app.exception_handler(RequestValidationError)
    async def invalid_body(request: Request, error: RequestValidationError) -> Response:
        problem = error.errors()[0]
        if problem["type"] == "json_invalid":
            message = f"body: expected JSON, got something else at character {problem['loc'][-1]}"
            return refusal_response(RefusedError(400, message))
        place = ".".join(str(part) for part in problem["loc"] if part != "body")
        return refusal_response(invalid(f"{place or 'body'}: {problem['msg']}"))

    @app.exception_handler(HTTPException)
    async def not_served(request: Request, error: HTTPException) -> Response:
        response = refusal_response(RefusedError(error.status_code, str(error.detail)))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return refusal_response(RefusedError(500, "an error of the service, which has been logged"))


def _complete_description(app: FastAPI, limits: Limits, *, secured: bool) -> None:
    """Add the limits and the token to the OpenAPI description, which FastAPI keeps."""
    description = app.openapi()
    for name, properties in description["components"]["schemas"].items():
        if name.endswith("Request"):
            _add_limits(properties["properties"], limits)
    if secured:
        description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, methods in description["paths"].items():
            if path.startswith(SECURED_PATHS):
                for method in methods.values():
                    method["security"] = [{"token": []}]


def _add_limits(properties: dict[str, Any], limits: Limits) -> None:
    """Add the limits to the texts of a request."""
    text = {"minLength": 1, "maxLength": limits.characters}
    if "inputs" in properties:
        properties["inputs"]["maxItems"] = limits.inputs
        properties["inputs"]["items"].update(text)
    if "input" in properties:
        properties["input"].update(text)
