"""Schedules against their closed forms."""

from __future__ import annotations

import math

import pytest

from treeformer.training.recipe import Schedule, TrainingRecipe

UPDATES = 1000


def rates(schedule: Schedule, warm_up: int) -> list[float]:
    training = TrainingRecipe(
        updates=UPDATES, tokens=1, learning_rate=0.5, schedule=schedule, warm_up=warm_up
    )
    return [training.rate(update) for update in range(1, UPDATES + 1)]


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
