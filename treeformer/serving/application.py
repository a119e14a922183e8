"""The HTTP application: routes, refusals and the OpenAPI description."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import treeformer
from treeformer.inference.answers import to_json
from treeformer.serving import schema
from treeformer.serving.bodies import BodyReader
from treeformer.serving.guard import SECURED_PATHS, Guard, refusal_response
from treeformer.serving.limits import Limits, RefusedError
from treeformer.serving.metrics import CONTENT_TYPE, Metrics
from treeformer.serving.peers import peer_of
from treeformer.serving.service import Service

_log = logging.getLogger("treeformer.serving")
_PAGE = Path(__file__).parent / "page"
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": schema.Problem, "description": "The body is not JSON, or the host is not this machine."},
    401: {"model": schema.Problem, "description": "The token is missing or wrong."},
    408: {"model": schema.Problem, "description": "The body did not arrive in time."},
    413: {"model": schema.Problem, "description": "The body is too large."},
    415: {"model": schema.Problem, "description": "The body does not call itself application/json."},
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
    service: Service, metrics: Metrics, *, token: str | None = None, local: bool = False
) -> Guard:
    """The guarded application around a service; a ``local`` one answers to names of this machine only."""
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
    return Guard(app, service.limits, metrics, token=token, local=local, counted=counted)


def _page_file(name: str) -> Any:
    async def send(request: Request) -> Response:
        return FileResponse(_PAGE / name)

    return send


def _add_model_routes(app: FastAPI, service: Service) -> None:
    """Add the routes of models. FastAPI only describes them; `_answering_routes` has what they do."""
    app.router.route_class = _answering_routes(service)
    post = partial(app.post, responses=_PROBLEMS, tags=["models"])

    @post("/v1/parse", response_model=schema.ParseResponse)
    async def parse(request: schema.ParseRequest) -> None:
        """Parse texts."""

    @post("/v1/classify", response_model=schema.ClassifyResponse)
    async def classify(request: schema.ClassifyRequest) -> None:
        """Classify texts or trees, and each of their phrases."""

    @post("/v1/translate", response_model=schema.TranslateResponse)
    async def translate(request: schema.TranslateRequest) -> None:
        """Translate texts or trees; needs a translation model."""

    @post("/v1/language", response_model=schema.LanguageResponse)
    async def language(request: schema.LanguageRequest) -> None:
        """Detect the language of texts."""

    @post("/v1/attention", response_model=schema.AttentionResponse)
    async def attention(request: schema.AttentionRequest) -> None:
        """Show what a word or phrase attends to, and what accumulation adds up in it."""


def _answering_routes(service: Service) -> type[APIRoute]:
    """Routes whose body is read by `BodyReader` and answered by the service."""
    reader = BodyReader(service.limits)

    class AnsweringRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            if self.body_field is None:
                return super().get_route_handler()
            kind: Any = self.body_field.field_info.annotation

            async def answer(request: Request) -> Response:
                content = await reader.read(kind, await request.body())
                return _json(await service.answer(content, peer_of(request.scope)))

            return answer

    return AnsweringRoute


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
