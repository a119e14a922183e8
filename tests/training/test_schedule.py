"""Schedules against their closed forms."""

from __future__ import annotations

import math
from typing import Any

import pytest

from treeformer.training.recipe import Schedule, TrainingRecipe
from treeformer.training.timetable import Timetable

UPDATES = 1000


def rates(schedule: Schedule, warm_up: int) -> list[float]:
    training = TrainingRecipe(
        updates=UPDATES, tokens=1, learning_rate=0.5, schedule=schedule, warm_up=warm_up
    )
    return [Timetable.of(training, 7).rate(update) for update in range(1, UPDATES + 1)]


@pytest.mark.parametrize("schedule", ["inverse-square-root", "cosine", "constant"])
@pytest.mark.parametrize("warm_up", [0, 1, 40])
def test_warm_up_is_linear_and_the_peak_is_never_exceeded(schedule: Schedule, warm_up: int) -> None:
    values = rates(schedule, warm_up)
    for n in range(1, warm_up + 1):
        assert values[n - 1] == pytest.approx(0.5 * n / warm_up)
    assert max(values) == pytest.approx(0.5, rel=1e-5)
    assert values[warm_up:] == sorted(values[warm_up:], reverse=True)


def test_the_inverse_square_root_halves_when_updates_quadruple() -> None:
    values = rates("inverse-square-root", 40)
    for n in range(40, UPDATES + 1):
        assert values[n - 1] == pytest.approx(0.5 * math.sqrt(40) * n**-0.5)
    assert values[160 - 1] == pytest.approx(0.25)
    assert rates("inverse-square-root", 0)[100 - 1] == pytest.approx(0.05)


def test_the_cosine_ends_at_zero_and_is_half_in_the_middle() -> None:
    values = rates("cosine", 100)
    assert values[550 - 1] == pytest.approx(0.25)
    assert values[-1] == pytest.approx(0, abs=1e-12)
    assert values[325 - 1] == pytest.approx(0.5 * math.cos(math.pi / 8) ** 2)


def test_the_constant_schedule_is_constant() -> None:
    assert set(rates("constant", 10)[9:]) == {0.5}


def timetable(epoch: int, **training: Any) -> Timetable:
    settings = {"tokens": 1, "learning_rate": 1.0, **training}
    return Timetable.of(TrainingRecipe.model_validate(settings), epoch)


def test_a_run_ends_after_its_updates_or_its_epochs() -> None:
    assert timetable(10, updates=25).updates == 25
    assert timetable(10, epochs=3).updates == 30
    assert timetable(10, epochs=3, updates=25).updates == 25
    assert timetable(10, epochs=2, updates=25).updates == 20
    with pytest.raises(ValueError, match="expected updates or epochs, got neither"):
        timetable(10)


def test_warm_up_may_be_a_share_of_all_updates() -> None:
    assert timetable(10, epochs=3, warm_up=0.1).warm_up == 3
    assert timetable(10, epochs=3, warm_up=7).warm_up == 7
    assert timetable(10, epochs=3).warm_up == 0
    for wrong in (-1, -0.5, 1.5):
        with pytest.raises(ValueError, match="warm_up"):
            timetable(10, epochs=3, warm_up=wrong)


def test_a_run_is_evaluated_and_saved_after_each_epoch_or_as_set() -> None:
    assert timetable(10, epochs=3).evaluate_every == timetable(10, epochs=3).save_every == 10
    assert timetable(10, updates=3).evaluate_every == timetable(10, updates=3).save_every == 500
    table = timetable(10, epochs=3, evaluate_every=7, save_every=2)
    assert (table.evaluate_every, table.save_every) == (7, 2)
