"""The body of a request as one of the requests of `schema`; reading stops at the first error."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from treeformer.serving.limits import Limits, RefusedError, invalid

Request = TypeVar("Request", bound=BaseModel)
_LARGE = 16 << 10  # bytes of a body that is not read in the event loop
_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


class BodyReader:
    """Reads bodies: large ones one at a time, in a thread."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._thread = ThreadPoolExecutor(1, "bodies")

    async def read(self, kind: type[Request], body: bytes) -> Request:
        """The request in a body; RefusedError if it is none."""
        if len(body) <= _LARGE:
            return read_body(kind, body, self._limits)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, read_body, kind, body, self._limits)


def read_body(kind: type[Request], body: bytes, limits: Limits) -> Request:
    """The request in a body; RefusedError if it is none.

    Keys, number and types of the inputs are checked before pydantic sees them, which reports every error of
    a list, however long.
    """
    content = _json(body)
    if not isinstance(content, dict):
        raise invalid(f"body: expected an object, got {_name(content)}")
    for key in content:
        if key not in kind.model_fields:
            known = ", ".join(kind.model_fields)
            raise invalid(f"{key[:100]!r}: no such key, expected {known}")
    if "inputs" in content:
        _check_inputs(content["inputs"], limits)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part)[:100] for part in problem["loc"])
        raise invalid(f"{place or 'body'}: {problem['msg']}") from None


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        message = f"body: expected JSON, got something else at character {error.pos}"
        raise RefusedError(400, message) from None
    except RecursionError:
        raise RefusedError(400, "body: expected JSON, got too many brackets in each other") from None
    except ValueError as error:  # no UTF-8, or a number of thousands of digits
        raise RefusedError(400, f"body: expected JSON, got something else: {str(error)[:200]}") from None


def _check_inputs(inputs: Any, limits: Limits) -> None:
    """Refuse what is not a list of texts, and a list that is too long."""
    if not isinstance(inputs, list):
        raise invalid(f"inputs: expected a list of texts, got {_name(inputs)}")
    if len(inputs) > limits.inputs:
        raise invalid(f"inputs: expected at most {limits.inputs}, got {len(inputs)}", "inputs")
    for number, text in enumerate(inputs):
        if not isinstance(text, str):
            raise invalid(f"inputs[{number}]: expected a text, got {_name(text)}")


def _name(value: Any) -> str:
    """What a value of JSON is, in words."""
    return _NAMES.get(type(value), "a number")
