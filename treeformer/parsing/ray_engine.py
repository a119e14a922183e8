"""Whole files through parsers on a Ray cluster."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from treeformer.parsing.corpus import TreeLine, line_chunks, parse_chunk
from treeformer.parsing.line_parser import LineParser


def parse_lines_with_ray(
    lines: Iterable[str], line_parser: LineParser, *, workers: int = 1
) -> Iterator[TreeLine]:
    """The trees of each line as text, in order, by workers on the Ray cluster in ``RAY_ADDRESS``.

    Without that variable a local cluster is started.
    The lines go through Ray's object store, which spills to disk.
    """
    ray = _connected_ray(workers)
    try:
        import pyarrow

        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        blocks = [ray.put(pyarrow.table({"lines": [chunk]})) for chunk in line_chunks(lines)]
        if not blocks:
            return
        actors = ray.data.ActorPoolStrategy(size=workers)
        parsed = ray.data.from_arrow_refs(blocks).map(
            _Actor, fn_constructor_args=(line_parser,), compute=actors
        )
        for row in parsed.iter_rows():
            result = pickle.loads(row["parsed"])
            if isinstance(result, Exception):
                raise result
            yield from result
    finally:
        ray.shutdown()


class _Actor:
    """A worker for Ray Data: rows in, rows out, errors pickled as they were raised."""

    def __init__(self, line_parser: LineParser) -> None:
        self._line_parser = line_parser

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        try:
            parsed: list[TreeLine] | Exception = parse_chunk(list(row["lines"]), self._line_parser)
        except Exception as error:
            parsed = error
        return {"parsed": pickle.dumps(parsed)}


def _connected_ray(workers: int) -> Any:
    """The module ``ray``, connected to the cluster or to one it starts here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError(
            "ray is not installed; install it with: pip install '.[ray]' in the clone"
        ) from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    place: dict[str, Any] = (
        {} if "RAY_ADDRESS" in os.environ else {"address": "local", "num_cpus": workers + 1}
    )
    ray.init(**place, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    return ray
