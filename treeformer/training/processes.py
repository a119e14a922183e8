"""The processes that train together: started by torchrun, joined by accelerate; and signals to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather_object
from torch import Tensor

from treeformer.machine import chosen_device

T = TypeVar("T")


class Processes:
    """All processes of a run; without torchrun this process alone.

    Args:
        device: ``cpu``, ``cuda``, or None for a GPU where there is one. Each process uses a different GPU.
    """

    def __init__(self, device: str | None = None) -> None:
        chosen = chosen_device(device)
        self._state = PartialState(cpu=chosen.type == "cpu")
        self.device = chosen if chosen.type == "cpu" else torch.device(self._state.device)
        self.count = self._state.num_processes
        self.rank = self._state.process_index

    @property
    def first(self) -> bool:
        """Whether this is rank 0, the process that writes files and logs."""
        return self.rank == 0

    def sum(self, tensor: Tensor) -> Tensor:
        """Sum a tensor over all processes, in place."""
        if self.count > 1:
            torch.distributed.all_reduce(tensor)
        return tensor

    def gather(self, values: list[T]) -> list[T]:
        """The small objects of all processes in one list."""
        return gather_object(values) if self.count > 1 else values

    def broadcast(self, value: T) -> T:
        """``value`` as rank 0 has it, on all processes."""
        return broadcast_object_list([value])[0] if self.count > 1 else value

    def wait(self) -> None:
        """Barrier: wait for all processes."""
        self._state.wait_for_everyone()

    def random_states(self) -> dict[str, Tensor]:
        """State of the random number generators of all processes. Every process must call this."""
        states = {f"cpu.{self.rank}": torch.get_rng_state()}
        if self.device.type == "cuda":
            states[f"cuda.{self.rank}"] = torch.cuda.get_rng_state(self.device)
        return {name: state for gathered in self.gather([states]) for name, state in gathered.items()}

    def set_random_states(self, states: Mapping[str, Tensor]) -> None:
        """Restore the generators of this process, if it took part when the states were saved."""
        if f"cpu.{self.rank}" in states:
            torch.set_rng_state(states[f"cpu.{self.rank}"])
        if self.device.type == "cuda" and f"cuda.{self.rank}" in states:
            torch.cuda.set_rng_state(states[f"cuda.{self.rank}"], self.device)


def leave() -> None:
    """Leave the process group, if torchrun created one."""
    PartialState().destroy_process_group()


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or SIGTERM into an event; a second one ends the program as usual."""
    requested = threading.Event()
    handlers: dict[int, Any] = {}

    def request(number: int, frame: FrameType | None) -> None:
        requested.set()
        signal.signal(number, handlers[number])

    # signal handlers can only be set in the main thread
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handlers[number] = signal.getsignal(number)
            signal.signal(number, request)
    try:
        yield requested
    finally:
        for handled, handler in handlers.items():
            signal.signal(handled, handler)
