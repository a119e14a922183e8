"""Why a request is refused, as people and programs read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse

_HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},  # the rest of the request may still come
    503: {"Retry-After": "1"},
}


class RefusedError(Exception):
    """A request that is not answered.

    Args:
        status: of the answer.
        message: what was wrong, where, and what would be right.
        limit: the limit that was met, if it was one.
    """

    def __init__(self, status: int, message: str, limit: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.limit = limit

    def __reduce__(self) -> tuple[type, tuple[int, str, str | None]]:
        return RefusedError, (self.status, self.message, self.limit)

    def response(self, headers: Mapping[str, str] | None = None) -> JSONResponse:
        """What is sent: a `Problem`, with the headers that its status asks for."""
        problem = {"error": self.message, "limit": self.limit}
        return JSONResponse(problem, self.status, {**_HEADERS.get(self.status, {}), **(headers or {})})


class Problem(BaseModel):
    """Why there is no answer."""

    error: str = Field(description="What was wrong, where, and what would be right.")
    limit: str | None = Field(default=None, description="The limit that was met, if it was one.")


def bad(message: str, limit: str | None = None) -> RefusedError:
    """A request that can be read, but not answered."""
    return RefusedError(422, message, limit)


def busy(message: str, limit: str | None = None) -> RefusedError:
    """A request that may be answered later."""
    return RefusedError(503, message, limit)


def first_problem(errors: list[dict[str, Any]]) -> str:
    """The first of pydantic's errors in one line, without what was sent."""
    error = errors[0]
    place = ".".join(str(part) for part in error["loc"] if part != "body")
    return f"{place or 'body'}: {error['msg']}"
