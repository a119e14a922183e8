"""Train in a process that is killed at random moments until training is finished.

    python -m tests.training.killed PREPARED RUN SEED CHANGES…

Prints the number of kills, and how many of them were during a save. The process that trains is a fork of
this one, which saves the time to import torch.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.training.corpora import experiment
from treeformer.data.corpus import PreparedCorpus
from treeformer.progress import Progress
from treeformer.training import checkpoints
from treeformer.training.loop import train


def wait_for_more(state: Path, child: int) -> None:
    """Wait for another checkpoint or the end of the process."""
    last = checkpoints.steps(state)[-1:]
    while checkpoints.steps(state)[-1:] == last:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.002)


def main(prepared: str, folder: str, seed: str, *changes: str) -> None:
    generator = random.Random(int(seed))
    kills = in_saves = 0
    corpus, state = PreparedCorpus.open(prepared), Path(folder) / "state"
    while True:
        child = os.fork()
        if child == 0:
            try:
                train(experiment(corpus, *changes), corpus, folder, device="cpu", progress=Progress())
            except BaseException as error:
                print(error, file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        if generator.random() < 0.75:  # else it may be killed before its first update
            wait_for_more(state, child)
        time.sleep(generator.uniform(0, 0.12))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            print(kills, in_saves)
            sys.exit(os.WEXITSTATUS(status))
        kills += 1
        in_saves += any(state.glob(".*.part"))
        for step in checkpoints.steps(state):
            checkpoints.load(state / str(step))  # fails if it is incomplete


if __name__ == "__main__":
    main(*sys.argv[1:])
