"""The files of the page, read once: no path of a request ever names a file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_PAGES = {"index.html": "/", "interface.html": "/docs"}


def page_routes() -> list[Route]:
    """One route for each file of the page."""
    routes = []
    for file in sorted(files("treeformer.serving").joinpath("page").iterdir(), key=lambda file: file.name):
        ending = file.name.rpartition(".")[2]
        if ending in _TYPES:
            path = _PAGES.get(file.name, f"/page/{file.name}")
            routes.append(Route(path, _sender(file.read_bytes(), _TYPES[ending]), methods=["GET"]))
    return routes


def _sender(content: bytes, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def send(request: Request) -> Response:
        return Response(content, media_type=media_type, headers={"Cache-Control": "no-cache"})

    return send
