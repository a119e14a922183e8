"""One update: the gradients of a batch, part by part and process by process, then one step of Adam."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from treeformer.training.graphs import GraphedBatches, GraphedStep, Recorder
from treeformer.training.losses import loss_sum
from treeformer.training.recipe import TrainingRecipe

BETAS, EPSILON = (0.9, 0.98), 1e-8
_ALIGNED = 32  # numbers: gradients start at multiples of 128 bytes, as fused kernels like it


class Totals(NamedTuple):
    """Sums over updates: of losses, numbers of targets, norms of gradients, and of 1."""

    loss: float
    targets: float
    norm: float
    updates: float


class Updater:
    """Weights that learn.

    The loss of an update is the sum over its targets divided by their number, over all parts and processes:
    parts add up gradients of sums, and the step divides them. So any number of processes and parts makes
    the same update. All gradients lie in one tensor, which is summed over the processes in one piece.

    Args:
        model: on its device; its parameters are all of one dtype.
        training: the settings.
        processes: over how many processes gradients are summed.
    """

    def __init__(self, model: nn.Module, training: TrainingRecipe, *, processes: int = 1) -> None:
        self.model = model
        self.training = training
        self.processes = processes
        self.device = next(model.parameters()).device
        self.gradients = _flat_gradients(model)
        self.rate = torch.zeros((), device=self.device)
        graphs = training.graphs and self.device.type == "cuda"
        self.optimizer = _adam(model, self.rate, training.weight_decay, capturable=graphs)
        self.sums = torch.zeros(2, dtype=torch.float64, device=self.device)  # loss, targets of this update
        self.totals = torch.zeros(4, dtype=torch.float64, device=self.device)  # see Totals; since last taken
        self._add: Callable[[Mapping[str, Tensor]], None] = self._add_eagerly
        self._step: Callable[[], None] = self._step_eagerly
        if graphs:
            recorder = Recorder(self.device)
            self._add = GraphedBatches(self._add_part, (self.gradients, self.sums), recorder)
            self._step = GraphedStep(self._step_eagerly, recorder)

    def add(self, batch: Mapping[str, Tensor]) -> None:
        """Add the gradients of a part of the update."""
        self._add(batch)

    def step(self, rate: float) -> None:
        """Change the weights with this learning rate, and forget the gradients."""
        self.rate.fill_(rate)
        if self.processes > 1:
            torch.distributed.all_reduce(self.gradients)
            torch.distributed.all_reduce(self.sums)
        self._step()

    def take_totals(self) -> Totals:
        """What happened since this was last asked. On a GPU this waits for the work to be done."""
        totals = Totals(*self.totals.tolist())
        self.totals.zero_()
        return totals

    def _add_eagerly(self, batch: Mapping[str, Tensor]) -> None:
        self._add_part({name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()})

    def _add_part(self, batch: Mapping[str, Tensor]) -> None:
        training = self.training
        with torch.autocast(
            self.device.type, torch.bfloat16, enabled=training.bf16, cache_enabled=False
        ):  # a cache of casts would outlive the recording of a graph
            loss, count = loss_sum(
                self.model,
                batch,
                smoothing=training.label_smoothing,
                r_drop=training.r_drop,
                word_dropout=training.word_dropout,
            )
        loss.backward()
        self.sums += torch.stack([loss.detach().double(), count.double()])

    def _step_eagerly(self) -> None:
        gradients, (loss, count) = self.gradients, self.sums.unbind()
        gradients.div_(count.clamp(min=1).to(gradients.dtype))
        norm = torch.linalg.vector_norm(gradients)
        if self.training.clip:
            gradients.mul_((self.training.clip / (norm + 1e-6)).clamp(max=1))
        self.optimizer.step()
        gradients.zero_()
        self.totals += torch.stack([loss, count, norm.double(), torch.ones_like(loss)])
        self.sums.zero_()


def _flat_gradients(model: nn.Module) -> Tensor:
    """One tensor of zeros that holds the gradients of all parameters, as their ``grad``."""
    parameters = list(model.parameters())
    starts = [0]
    for parameter in parameters:
        starts.append(starts[-1] + -(-parameter.numel() // _ALIGNED) * _ALIGNED)
    flat = torch.zeros(starts[-1], dtype=parameters[0].dtype, device=parameters[0].device)
    for parameter, start in zip(parameters, starts, strict=False):
        parameter.grad = flat[start : start + parameter.numel()].view_as(parameter)
    return flat


def _adam(model: nn.Module, rate: Tensor, decay: float, *, capturable: bool) -> torch.optim.AdamW:
    """Adam with decoupled decay of the matrices of linear maps, not of biases, norms and embeddings."""
    decayed = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    parameters = list(model.parameters())
    groups = [
        {"params": [one for one in parameters if id(one) in decayed], "weight_decay": decay},
        {"params": [one for one in parameters if id(one) not in decayed], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=rate,
        betas=BETAS,
        eps=EPSILON,
        fused=True,
        capturable=capturable,
    )
    for parameter in parameters:  # now, not at the first step: a graph and a resumed run need it before
        optimizer.state[parameter] = {
            "step": torch.zeros((), dtype=torch.float32, device=parameter.device),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    return optimizer
