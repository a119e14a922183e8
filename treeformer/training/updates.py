"""One update of the weights: gradients, summed over all shards and processes, then Adam."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from treeformer.model_folder import check_tensors
from treeformer.models.pretrained_words import pretrained_part
from treeformer.ops.levels import Limits, known_limits
from treeformer.training.graphs import CONSTANT, GraphedBatches, GraphedStep, Recorder
from treeformer.training.losses import loss_sum
from treeformer.training.recipe import TrainingRecipe

BETAS, EPSILON = (0.9, 0.98), 1e-8
_ALIGNMENT = 32  # numbers: each gradient starts at a multiple of 128 bytes, which fused kernels prefer


class Totals(NamedTuple):
    """Sums over updates: losses, numbers of targets, norms of gradients, and the number of updates."""

    loss: float
    targets: float
    norm: float
    updates: float


class Updater:
    """A model and its optimiser. An update is one `add` for each shard, then one `step`.

    The loss of an update is the sum over its targets divided by their number, over all shards and processes.
    Shards add up gradients of sums, and the step divides by the number of targets. So the update does not
    depend on the number of shards or processes. All gradients lie in one tensor, which is summed over the
    processes at once.

    Args:
        model: the model, on its device; its parameters are all of one dtype.
        training: the settings.
        process_count: number of processes over which gradients are summed.
        recorder: records CUDA graphs; by default there is one on a GPU if the settings ask for graphs.
        encoder_rate: highest learning rate of a pretrained encoder that is trained; it follows that of the
            other weights. None for the same rate.
    """

    def __init__(
        self,
        model: nn.Module,
        training: TrainingRecipe,
        *,
        process_count: int = 1,
        recorder: Recorder | None = None,
        encoder_rate: float | None = None,
    ) -> None:
        self.model = model
        self.training = training
        self.process_count = process_count
        self.device = next(model.parameters()).device
        on_gpu = self.device.type == "cuda"
        if recorder is None and training.graphs and on_gpu:
            recorder = Recorder(self.device)
        self.gradients = _flat_gradients(model)
        self.rate, self.encoder_rate = torch.zeros(2, device=self.device).unbind()
        self._encoder_share = 1.0 if encoder_rate is None else encoder_rate / training.learning_rate
        capturable = recorder is not None and on_gpu
        rates = (self.rate, self.encoder_rate)
        self.optimizer = _adam(model, rates, training.weight_decay, capturable=capturable)
        self.sums = torch.zeros(2, dtype=torch.float64, device=self.device)  # loss and targets of this update
        self.totals = torch.zeros(4, dtype=torch.float64, device=self.device)  # see Totals; since last taken
        self._graphed_batches = self._graphed_step = None
        if recorder is not None:
            changed = (self.gradients, self.sums)
            self._graphed_batches = GraphedBatches(self._add_gradients, changed, recorder)
            self._graphed_step = GraphedStep(self._apply_gradients, recorder)

    def add(self, batch: Mapping[str, Tensor]) -> None:
        """Add the gradients of one shard of an update."""
        if self._graphed_batches is None:
            self._add_gradients(batch)
        else:
            self._graphed_batches(batch)

    def step(self, rate: float) -> None:
        """Change the weights with this learning rate and reset the gradients."""
        self.rate.fill_(rate)
        self.encoder_rate.fill_(rate * self._encoder_share)
        if self.process_count > 1:
            torch.distributed.all_reduce(self.gradients)
            torch.distributed.all_reduce(self.sums)
        if self._graphed_step is None:
            self._apply_gradients()
        else:
            self._graphed_step()

    def take_totals(self) -> Totals:
        """Totals since the last call. On a GPU this waits until its work is done."""
        totals = Totals(*self.totals.tolist())
        self.totals.zero_()
        return totals

    @property
    def graph_count(self) -> int:
        """Number of CUDA graphs of batches recorded so far."""
        return 0 if self._graphed_batches is None else len(self._graphed_batches)

    def state(self) -> dict[str, dict[str, Tensor]]:
        """All tensors that the next update depends on, in groups, except random numbers."""
        moments = {
            f"{name}.{key}": value
            for name, parameter in self.model.named_parameters()
            for key, value in self.optimizer.state[parameter].items()
        }
        return {
            "model": dict(self.model.state_dict()),
            "optimizer": moments,
            "totals": {"totals": self.totals},
        }

    def load_state(self, groups: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Restore what `state` returned; ``ValueError`` if a tensor is missing or has another shape."""
        for group, tensors in self.state().items():
            check_tensors(f"{group}.safetensors", _shapes(groups.get(group, {})), _shapes(tensors))
        self.load_weights(groups["model"])
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state[parameter].items():
                value.copy_(groups["optimizer"][f"{name}.{key}"])
        self.totals.copy_(groups["totals"]["totals"])

    @torch.no_grad()
    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Copy weights into the model in place, because CUDA graphs hold the addresses."""
        for name, tensor in self.model.state_dict().items():
            tensor.copy_(weights[name])

    def _add_gradients(self, batch: Mapping[str, Tensor]) -> None:
        training = self.training
        limits = Limits(*batch[CONSTANT].tolist()) if CONSTANT in batch else None
        inputs = {
            name: tensor.to(self.device, non_blocking=True)
            for name, tensor in batch.items()
            if name != CONSTANT
        }
        with (
            known_limits(limits),
            # a cache of casts would outlive the recording of a graph
            torch.autocast(self.device.type, torch.bfloat16, enabled=training.bf16, cache_enabled=False),
        ):
            loss, count = loss_sum(
                self.model,
                inputs,
                smoothing=training.label_smoothing,
                r_drop=training.r_drop,
                word_dropout=training.word_dropout,
                sentences=training.targets == "text",
            )
        loss.backward()
        self.sums += torch.stack([loss.detach().double(), count.double()])

    def _apply_gradients(self) -> None:
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
        starts.append(starts[-1] + -(-parameter.numel() // _ALIGNMENT) * _ALIGNMENT)
    flat = torch.zeros(starts[-1], dtype=parameters[0].dtype, device=parameters[0].device)
    for parameter, start in zip(parameters, starts, strict=False):
        parameter.grad = flat[start : start + parameter.numel()].view_as(parameter)
    return flat


def _adam(
    model: nn.Module, rates: tuple[Tensor, Tensor], decay: float, *, capturable: bool
) -> torch.optim.AdamW:
    """AdamW that decays the weights of linear layers, not biases, norms and embeddings.

    The second rate is that of a pretrained encoder that is part of the model.
    """
    decayed = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    pretrained = pretrained_part(model)
    network = None if pretrained is None else pretrained.network
    inside = set() if network is None else {id(parameter) for parameter in network.parameters()}
    parameters = list(model.parameters())
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for parameter in parameters:
        groups.setdefault((id(parameter) in inside, id(parameter) in decayed), []).append(parameter)
    optimizer = torch.optim.AdamW(
        [
            {"params": group, "lr": rates[in_encoder], "weight_decay": decay if is_decayed else 0.0}
            for (in_encoder, is_decayed), group in groups.items()
        ],
        betas=BETAS,
        eps=EPSILON,
        fused=True,
        capturable=capturable,
    )
    for parameter in parameters:  # before the first step: a graph and a resumed run need the state earlier
        optimizer.state[parameter] = {
            "step": torch.zeros((), dtype=torch.float32, device=parameter.device),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    return optimizer


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}
