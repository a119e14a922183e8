"""CUDA graphs: GPU work that is recorded once and then launched as a whole.

Small models spend their time launching kernels; a graph is one launch. A graph is bound to the shapes and
the memory it was recorded with, so each shape of a batch has a graph with input buffers.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

Tensors = Mapping[str, Tensor]
Shapes = tuple[tuple[int, ...], ...]

LIMIT = 64  #: number of graphs; batches of further shapes run without one
CONSTANT = "limits"  #: name of a tensor that stays in host memory; its values count as part of the shape


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
    def random_state_unchanged(self) -> Iterator[None]:
        """Restore the random number generator afterwards."""
        state = torch.cuda.get_rng_state(self.device)
        yield
        torch.cuda.set_rng_state(state, self.device)

    def rehearse(self, work: Callable[[], None]) -> None:
        """Run the work on the recording stream, so that everything allocated on first use exists."""
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.stream):
            work()
        torch.cuda.current_stream(self.device).wait_stream(self.stream)

    def record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """Record the work without running it. Threads that load data may continue meanwhile."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            work()
        return graph


class GraphedBatches:
    """Work on batches that is replayed as a graph from the second batch of each shape.

    Random numbers are drawn as without graphs: dropout differs from replay to replay, and recording leaves
    the generator unchanged.

    Args:
        work: moves a batch to the GPU and works on it. It may change ``changed`` and nothing else.
        changed: tensors that the work changes, which recording must restore.
        recorder: where to record.
    """

    def __init__(
        self, work: Callable[[Tensors], None], changed: Sequence[Tensor], recorder: Recorder
    ) -> None:
        self._work = work
        self._changed = changed
        self._recorder = recorder
        self._seen: Counter[Shapes] = Counter()
        self._graphs: dict[Shapes, _Graph] = {}

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self._graphs)

    def __call__(self, batch: Tensors) -> None:
        """Do the work on a batch, which may be in host memory."""
        shapes = tuple(
            tuple(tensor.tolist() if name == CONSTANT else tensor.shape) for name, tensor in batch.items()
        )
        self._seen[shapes] += 1
        if shapes not in self._graphs:
            if self._seen[shapes] == 1 or len(self._graphs) >= LIMIT:
                self._work(batch)
                return
            self._graphs[shapes] = self._record(batch)
        buffers, graph = self._graphs[shapes]
        for name, buffer in buffers.items():
            if name != CONSTANT:
                buffer.copy_(batch[name], non_blocking=True)
        graph.replay()

    def _record(self, batch: Tensors) -> _Graph:
        device = self._recorder.device
        buffers = {
            name: tensor if name == CONSTANT else tensor.to(device, copy=True)
            for name, tensor in batch.items()
        }
        before = [tensor.clone() for tensor in self._changed]
        with self._recorder.random_state_unchanged():
            self._recorder.rehearse(lambda: self._work(buffers))
            graph = self._recorder.record(lambda: self._work(buffers))
        for tensor, value in zip(self._changed, before, strict=True):
            tensor.copy_(value)
        return _Graph(buffers, graph)


class GraphedStep:
    """Work without inputs that is replayed as a graph from the second call."""

    def __init__(self, work: Callable[[], None], recorder: Recorder) -> None:
        self._work = work
        self._recorder = recorder
        self._called = False
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        """Do the work."""
        if not self._called:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a capturable optimiser warns when it runs outside a graph
                self._work()
            self._called = True
            return
        if self._graph is None:
            self._graph = self._recorder.record(self._work)
        self._graph.replay()
