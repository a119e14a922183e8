"""When a training run does what: its length, the learning rate of each update, evaluations, checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass

from treeformer.training.recipe import EVALUATE_EVERY, Schedule, TrainingRecipe


@dataclass(frozen=True)
class Timetable:
    """The length of a run and its settings in updates.

    updates: number of updates.
    warm_up: updates until the learning rate is highest.
    evaluate_every, save_every: updates between two evaluations on dev, and between two checkpoints.
    learning_rate: the highest.
    schedule: how it falls.
    """

    updates: int
    warm_up: int
    evaluate_every: int
    save_every: int
    learning_rate: float
    schedule: Schedule

    @classmethod
    def of(cls, training: TrainingRecipe, epoch: int) -> Timetable:
        """The timetable of a run with this many updates in an epoch."""
        limits = [training.updates, None if training.epochs is None else training.epochs * epoch]
        updates = min(limit for limit in limits if limit is not None)
        warm_up = training.warm_up
        if warm_up > updates:
            raise ValueError(
                f"training.warm_up: expected at most {updates}, the number of updates, got {warm_up}: the "
                "learning rate would not reach its height; set training.warm_up=0.1, a share of all updates"
            )
        evaluate_every = training.evaluate_every
        if evaluate_every is None:
            evaluate_every = EVALUATE_EVERY if training.epochs is None else epoch
        return cls(
            updates,
            warm_up if isinstance(warm_up, int) else round(warm_up * updates),
            evaluate_every,
            training.save_every or evaluate_every,
            training.learning_rate,
            training.schedule,
        )

    def rate(self, update: int) -> float:
        """Learning rate of an update, counted from 1.

        It rises linearly and is highest at update ``warm_up``. Then it falls with the inverse square root
        of the update, or along half a cosine to 0 at the last update, or stays constant.

        >>> training = TrainingRecipe(updates=99, tokens=1, learning_rate=1.0, warm_up=4)
        >>> [Timetable.of(training, 1).rate(update) for update in (1, 4, 16)]
        [0.25, 1.0, 0.5]
        """
        if update < self.warm_up:
            return self.learning_rate * update / self.warm_up
        if self.schedule == "inverse-square-root":
            return self.learning_rate * math.sqrt(max(self.warm_up, 1) / update)
        if self.schedule == "cosine":
            done = (update - self.warm_up) / max(self.updates - self.warm_up, 1)
            return self.learning_rate * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
        return self.learning_rate
