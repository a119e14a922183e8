"""Torture the project for some minutes: ``make torture MINUTES=60 SEED=1``.

Prints a table of campaigns; the exit status is 1 if anything failed. A failure is saved with its inputs and
the command that runs it again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

os.environ |= {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}

from tests.torture import all_campaigns
from tests.torture.campaigns import Campaign, Case, Lane, Outcome, problem_of
from tests.torture.fixtures import make
from tests.torture.kills import measured_commands
from tests.torture.victims import import_everything


def main() -> int:
    """Run the campaigns, print the table, return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="NAME", help="campaigns; default: all")
    parser.add_argument("--case", metavar="NAME:NUMBER", help="run one case again")
    parser.add_argument("--failures", type=Path, default=Path(".cache/torture"), help="where they are saved")
    options = parser.parse_args()
    import_everything()
    memory = Path("/dev/shm")
    work = Path(tempfile.mkdtemp(prefix="torture-", dir=memory if memory.is_dir() else None))
    try:
        fixtures = make(work / "fixtures")
        lanes = all_campaigns(fixtures, measured_commands(fixtures, work))
        if options.case:
            return _again(options.case, options.seed, [*lanes[0], *lanes[1]], work, options.failures)
        shutil.rmtree(options.failures, ignore_errors=True)
        only = options.only
        chosen = [[one for one in lane if not only or one.name in only] for lane in lanes]
        outcomes = _run(chosen, options, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"\n{options.minutes:g} minutes, seed {options.seed}\n")
    print("\n".join(_table(outcomes)))
    failed = sum(outcome.failures for outcome in outcomes)
    if failed:
        print(f"\n{failed} failures, see {options.failures}")
    return int(failed > 0)


def _run(lanes: Sequence[Sequence[Campaign]], options: argparse.Namespace, work: Path) -> list[Outcome]:
    """Run the lanes at the same time."""
    seconds = options.minutes * 60
    running = [Lane(lane, options.seed, seconds, work, options.failures) for lane in lanes]
    counts = [0 for _ in running]
    try:
        while any([lane.poll() for lane in running]):
            for lane, shown in zip(running, counts, strict=True):
                for one in lane.outcomes[shown:]:
                    print(f"{one.name}: {one.cases:,} cases, {one.failures:,} failures", file=sys.stderr)
            counts = [len(lane.outcomes) for lane in running]
            time.sleep(0.05)
    finally:
        for lane in running:
            lane.kill()
    return [outcome for lane in running for outcome in lane.outcomes]


def _again(name: str, seed: int, campaigns: Sequence[Campaign], work: Path, failures: Path) -> int:
    """Run one case again, in this process."""
    name, _, number = name.rpartition(":")
    [campaign] = [one for one in campaigns if one.name == name]
    folder = work / "again"
    folder.mkdir()
    campaign.set_up(folder)
    try:
        failures.mkdir(parents=True, exist_ok=True)
        case = Case(name, seed, int(number), failures, replay=True)
        problem = problem_of(campaign, case)
    finally:
        campaign.tear_down()
    print(problem or "no failure")
    return int(problem is not None)


def _table(outcomes: list[Outcome]) -> list[str]:
    """The rows of the table, in Markdown."""
    rows = [f"| {'campaign':24} | {'cases':>10} | {'failures':>8} | {'seconds':>7} |"]
    rows.append(f"| {'-' * 24} | {'-' * 9}: | {'-' * 7}: | {'-' * 6}: |")
    for one in outcomes:
        name = f"{one.name} (skipped: {one.skipped})" if one.skipped else one.name
        rows.append(f"| {name:24} | {one.cases:>10,} | {one.failures:>8,} | {one.seconds:>7.0f} |")
    if len(outcomes) > 1:
        cases, failed = sum(one.cases for one in outcomes), sum(one.failures for one in outcomes)
        rows.append(f"| {'all':24} | {cases:>10,} | {failed:>8,} | {'':>7} |")
    return rows


if __name__ == "__main__":
    sys.exit(main())
