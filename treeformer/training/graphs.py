"""CUDA graphs: work on the GPU that is recorded once and then started as a whole.

Small models wait for the launch of their kernels; a graph has one launch. It is bound to its shapes and to
the memory that it was recorded with, so there is one for each shape, which reads batches from own buffers.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

Batch = Mapping[str, Tensor]
Shapes = tuple[torch.Size, ...]

LIMIT = 64  #: graphs at most; batches of further shapes are worked on without


class _Graph(NamedTuple):
    buffers: dict[str, Tensor]
    graph: torch.cuda.CUDAGraph


class Recorder:
    """Records work on one GPU; all graphs share their memory, since nothing in it outlives a replay."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device)
        self.pool = torch.cuda.graph_pool_handle()

    @contextmanager
    def chance_unchanged(self) -> Iterator[None]:
        """What is done within it leaves the generator of random numbers where it was."""
        state = torch.cuda.get_rng_state(self.device)
        yield
        torch.cuda.set_rng_state(state, self.device)

    def rehearse(self, work: Callable[[], None]) -> None:
        """Do the work on the stream of the recordings, so that what is made on first use is there."""
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.stream):
            work()
        torch.cuda.current_stream(self.device).wait_stream(self.stream)

    def record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """The work as a graph; it is not done. Threads that load data may go on meanwhile."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            work()
        return graph


class GraphedBatches:
    """Work on batches, as a graph from the second time that a shape comes.

    Random numbers are drawn as without graphs: dropout differs from replay to replay, and recording a graph
    leaves the generator where it was.

    Args:
        work: what to do with a batch on the GPU. It may change ``changed`` and nothing else.
        changed: what the work changes, and recording must not.
        recorder: where to record.
    """

    def __init__(self, work: Callable[[Batch], None], changed: Sequence[Tensor], recorder: Recorder) -> None:
        self._work = work
        self._changed = changed
        self._recorder = recorder
        self._seen: Counter[Shapes] = Counter()
        self._graphs: dict[Shapes, _Graph] = {}

    def __len__(self) -> int:
        """The number of graphs."""
        return len(self._graphs)

    def __call__(self, batch: Batch) -> None:
        """Do the work on a batch that may lie in the memory of the host."""
        shapes = tuple(tensor.shape for tensor in batch.values())
        found = self._graphs.get(shapes)
        if found is None:
            device = self._recorder.device
            batch = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
            self._seen[shapes] += 1
            if self._seen[shapes] < 2 or len(self._graphs) >= LIMIT:
                self._work(batch)
                return
            found = self._graphs[shapes] = self._record(batch)
        else:
            for name, buffer in found.buffers.items():
                buffer.copy_(batch[name], non_blocking=True)
        found.graph.replay()

    def _record(self, batch: Batch) -> _Graph:
        buffers = {name: tensor.clone() for name, tensor in batch.items()}
        before = [tensor.clone() for tensor in self._changed]
        with self._recorder.chance_unchanged():
            self._recorder.rehearse(lambda: self._work(buffers))
            graph = self._recorder.record(lambda: self._work(buffers))
        for tensor, value in zip(self._changed, before, strict=True):
            tensor.copy_(value)
        return _Graph(buffers, graph)


class GraphedStep:
    """Work without inputs, as a graph from the second time on."""

    def __init__(self, work: Callable[[], None], recorder: Recorder) -> None:
        self._work = work
        self._recorder = recorder
        self._done = False
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        """Do the work."""
        if not self._done:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an optimiser made for graphs wonders where the graph is
                self._work()
            self._done = True
            return
        if self._graph is None:
            self._graph = self._recorder.record(self._work)
        self._graph.replay()
