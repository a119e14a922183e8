"""Damaged files in every folder that commands read, and the memory of long runs."""

from __future__ import annotations

import gzip
import os
import shutil
import time
from pathlib import Path
from random import Random

from tests.torture.campaigns import Campaign, Case, Skip
from tests.torture.fixtures import Fixtures, sentence
from tests.torture.victims import Victim, check_refusal, run

TREES = "(S (NP (DT the) (NN film)) (VBZ is))\n(NP (DT the) (JJ great) (NN story))\n(S (NN film) (JJ bad))\n"


class Damage(Campaign):
    """One flipped bit, or a file cut short: one line that names the file, or the identical answer."""

    name = "damaged files"
    share = 12.0

    def __init__(self, fixtures: Fixtures) -> None:
        self.fixtures = fixtures

    def set_up(self, folder: Path) -> None:
        self.folder = folder
        self.kinds = ["prepared", "resume", "run", "parser", "files"]
        self.kinds += ["states", "encoder", "frozen", "trained"]  # of a pretrained encoder
        self.expected: dict[str, bytes] = {}
        self.files: dict[str, list[str]] = {}  # only those that the command opens
        for kind in self.kinds:
            copy = self._copy(kind, f"{kind}-whole")
            files = [path for path in sorted(self._source(kind, copy).rglob("*")) if path.is_file()]
            for path in files:
                os.utime(path, (0, path.stat().st_mtime))
            victim, self.expected[kind] = self._answer(kind, copy)
            if victim.wait() or not self.expected[kind]:
                raise RuntimeError(f"{kind}: {victim}: {victim.errors}")
            opened = [path for path in files if path.exists() and path.stat().st_atime > 0]
            self.files[kind] = [str(path.relative_to(copy)) for path in opened]
            if not self.files[kind]:
                raise Skip(f"the file system of {folder} keeps no times of access")

    def run(self, case: Case) -> None:
        kind = self.kinds[case.number % len(self.kinds)]
        copy = self._copy(kind, f"{kind}-{case.number}")
        path = copy / case.random.choice(self.files[kind])
        what = _damage(case.random, path)
        case.keep("what", f"{path.relative_to(copy)}: {what}\n")
        case.keep(path.name, path.read_bytes())
        victim, answer = self._answer(kind, copy)
        if victim.wait():
            is_of_folder = kind == "encoder" or "state" in path.parts  # a checksum of several files
            check_refusal(victim, path.name, *([f"{path.parent}: "] if is_of_folder else []))
        else:
            case.check("Traceback" not in victim.errors, f"{victim}: {victim.errors[-2000:]}")
            same = answer == self.expected[kind]
            case.check(same, f"{victim}: another answer after {path.relative_to(copy)}: {what}")
        victim.clean()
        shutil.rmtree(copy, ignore_errors=True)

    def _copy(self, kind: str, name: str) -> Path:
        """A folder with a copy of what a command reads."""
        copy = self.folder / name
        fixtures = self.fixtures
        match kind:
            case "prepared":
                shutil.copytree(fixtures.prepared, copy / kind)
            case "states":
                shutil.copytree(fixtures.with_states, copy / kind)
            case "encoder":
                shutil.copytree(fixtures.encoder, copy / kind)
                shutil.copytree(fixtures.frozen, copy / "run")
                _read_encoder_from(copy / "run", str(fixtures.encoder), str(copy / kind))
            case "files":  # compressed, so that damage can be told from another text
                (copy / kind).mkdir(parents=True)
                content = (fixtures.files / "dev.phrases").read_bytes()
                (copy / kind / "dev.phrases.gz").write_bytes(gzip.compress(content, mtime=0))
            case "parser":
                shutil.copytree(fixtures.parser, copy / "parser")
            case _:
                runs = {"resume": fixtures.stopped, "frozen": fixtures.frozen, "trained": fixtures.trained}
                shutil.copytree(runs.get(kind, fixtures.run), copy / "run")
        return copy

    def _source(self, kind: str, copy: Path) -> Path:
        """The folder whose files are damaged."""
        return copy / ("run" if kind in ("resume", "frozen", "trained") else kind)

    def _answer(self, kind: str, copy: Path) -> tuple[Victim, bytes]:
        """A command that has ended, and its answer."""
        fixtures, output = self.fixtures, copy / "output"
        training = ["train", fixtures.recipe, "--device", "cpu"]
        match kind:
            case "prepared":
                victim = run([*training, "--data", copy / "prepared", "--output", output], self.folder)
                return victim, _bytes(output / "model.safetensors")
            case "states":
                options = [*fixtures.encoder_options, "--data", copy / "states", "--output", output]
                victim = run([*training, *options], self.folder)
                return victim, _bytes(output / "model.safetensors")
            case "resume":
                output = copy / "run"
                victim = run([*training, "--data", fixtures.prepared, "--output", output], self.folder)
                return victim, _bytes(output / "model.safetensors")
            case "run" | "encoder" | "frozen" | "trained":
                arguments = ["classify", "--trees", "--json", "--model", copy / "run", "--device", "cpu"]
                victim = run(arguments, self.folder, text=TREES.encode())
                return victim, victim.output
            case "parser":
                victim = run(
                    ["parse", "--parser", copy / "parser"], self.folder, text=b"The film is bad. Great!\n"
                )
                return victim, victim.output
        gold = copy / "files" / "dev.phrases.gz"
        victim = run(["score", gold, fixtures.files / "dev.phrases", "--json"], self.folder)
        return victim, victim.output


def _read_encoder_from(run: Path, before: str, now: str) -> None:
    """Change the folder from which a run reads its encoder."""
    for path in (run / "config.json", run / "processor.json"):
        path.write_text(path.read_text().replace(before, now))
    (run / "checksums.json").unlink()


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _damage(generator: Random, path: Path) -> str:
    """Damage a file; returns what was done."""
    content = bytearray(path.read_bytes())
    if not content:
        return "nothing, it is empty"
    if generator.random() < 0.25:
        size = generator.randrange(len(content))
        path.write_bytes(content[:size])
        return f"cut from {len(content)} to {size} bytes"
    place, bit = generator.randrange(len(content)), generator.randrange(8)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {place} flipped"


class Memory(Campaign):
    """Long runs: memory does not grow from the second quarter to the last."""

    name = "memory"
    share = 2.0
    GROWTH = 24 << 20  #: bytes

    def __init__(self, fixtures: Fixtures) -> None:
        self.fixtures = fixtures

    def set_up(self, folder: Path) -> None:
        self.folder = folder

    def run(self, case: Case) -> None:
        lines = case.random.choice([20_000, 40_000])
        text = "".join(f"{sentence(case.random)}\n" for _ in range(lines)).encode()
        trees = TREES.encode() * (lines // 3)
        name, arguments, text = [
            ("parse", ["parse", "--parser", self.fixtures.parser], text),
            ("draw", ["draw"], trees),
            ("classify", ["classify", "--trees", "--json", "--model", self.fixtures.run], trees),
        ][case.number % 3]
        victim = Victim(arguments, self.folder, text=text)
        sizes: list[int] = []
        while victim.poll() is None:
            sizes.append(_resident(victim.pid))
            time.sleep(0.02)
        case.check(victim.wait() == 0, f"{victim}: {victim.errors[-2000:]}")
        quarter = len(sizes) // 4
        if quarter > 5:
            before, after = max(sizes[quarter : 2 * quarter]), max(sizes[3 * quarter : -1])
            case.check(
                after - before < self.GROWTH,
                f"{name}, {lines} lines: from {before >> 20} to {after >> 20} MiB",
            )
        victim.clean()


def _resident(pid: int) -> int:
    """Bytes of memory that a process holds alone or with others."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0
