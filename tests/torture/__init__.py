"""The standing campaign against the project: ``make torture``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.torture.campaigns import Campaign
    from tests.torture.fixtures import Fixtures
    from tests.torture.kills import Command


def all_campaigns(fixtures: Fixtures, commands: Mapping[str, Command]) -> list[list[Campaign]]:
    """All campaigns, in two lanes that run at the same time: against commands; and against readers."""
    from tests.torture import damage, disks, files, kills, reading, service

    against_commands: list[Campaign] = [
        kills.Kills(commands),
        kills.Signals(commands),
        kills.Writers(commands),
        disks.FullDisk(commands),
        disks.LargestFile(commands),
        damage.Damage(fixtures),
        damage.Memory(fixtures),
    ]
    against_readers: list[Campaign] = [
        service.Service(),
        reading.Trees(),
        reading.Brackets(),
        reading.Conllu(),
        reading.Archives(),
        reading.Scores(),
        reading.Tokens(),
        reading.Parses(fixtures),
        files.Tables(),
        files.Recipes(),
        files.Overrides(),
        files.Jsons(fixtures),
        files.Splits(fixtures),
        files.Weights(fixtures),
    ]
    return [against_commands, against_readers]
