"""Whole files on a Ray cluster: the same lines through the same worker, as an actor on many machines."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from treeformer.parsing.corpus import LineParser, chunks, tree_lines
from treeformer.parsing.failures import TreeLine


def parse_lines_with_ray(
    lines: Iterable[str], line_parser: LineParser, *, workers: int = 1
) -> Iterator[TreeLine]:
    """As `parse_lines`, with the ``workers`` on the cluster that ``RAY_ADDRESS`` names, else on this machine.

    The lines go through Ray's object store, which keeps on disk what does not fit its memory.
    """
    ray = _started(workers)
    try:
        import pyarrow

        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        blocks = [ray.put(pyarrow.table({"lines": [chunk]})) for chunk in chunks(lines)]
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
    """A worker for Ray Data: rows in, rows out, and errors as they were raised."""

    def __init__(self, line_parser: LineParser) -> None:
        self._line_parser = line_parser

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        try:
            parsed: list[TreeLine] | Exception = tree_lines(self._line_parser, list(row["lines"]))
        except Exception as error:
            parsed = error
        return {"parsed": pickle.dumps(parsed)}


def _started(workers: int) -> Any:
    """Ray, connected to its cluster, or with a small one of its own."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError("ray is not installed; install it with: pip install treeformer[ray]") from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    place: dict[str, Any] = (
        {} if "RAY_ADDRESS" in os.environ else {"address": "local", "num_cpus": workers + 1}
    )
    ray.init(**place, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    return ray
