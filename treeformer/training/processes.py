"""The processes that train together: started by torchrun, joined by accelerate."""

from __future__ import annotations

from typing import TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather_object
from torch import Tensor

from treeformer.machine import chosen_device

T = TypeVar("T")


class Processes:
    """All processes of a run; without torchrun there is this one alone.

    Args:
        device: ``cpu``, ``cuda``, or None for the GPU where there is one. Each process has a GPU of its own.
    """

    def __init__(self, device: str | None = None) -> None:
        chosen = chosen_device(device)
        self._state = PartialState(cpu=chosen.type == "cpu")
        self.device = chosen if chosen.type == "cpu" else torch.device(self._state.device)
        self.count = self._state.num_processes
        self.rank = self._state.process_index

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and reports."""
        return self.rank == 0

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.count > 1:
            torch.distributed.all_reduce(tensor)
        return tensor

    def gather(self, things: list[T]) -> list[T]:
        """The small things of all processes in one list."""
        return gather_object(things) if self.count > 1 else things

    def agree(self, value: int | None) -> int | None:
        """The value of the first process."""
        return broadcast_object_list([value])[0] if self.count > 1 else value

    def wait(self) -> None:
        """Wait until all processes are here."""
        self._state.wait_for_everyone()


def leave() -> None:
    """Leave the group of processes, if torchrun made one."""
    PartialState().destroy_process_group()
