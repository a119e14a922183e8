"""Commands on a disk that is full, or that may not write large files."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.torture.campaigns import Case, Failure, Skip
from tests.torture.kills import Command, OfCommands, remove
from tests.torture.victims import Victim, check_refusal
from treeformer.storage import WorkFolder


class FullDisk(OfCommands):
    """A small tmpfs: status 1 and one line, or the whole output; with more space the run resumes."""

    name = "full disk"
    share = 2.0

    def __init__(self, known: Mapping[str, Command]) -> None:
        super().__init__(known)
        self.mount: Path | None = None

    def set_up(self, folder: Path) -> None:
        super().set_up(folder)
        mount = folder / "disk"
        mount.mkdir()
        result = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise Skip(f"mount is refused: {result.stderr.strip()}")
        self.mount = mount

    def run(self, case: Case) -> None:
        assert self.mount is not None
        command, _ = self.chosen(case)
        output = self.mount / "output"
        self._resize(case.random.choice([4, 8, 16, 32, 64, 128, 256, 512]))
        try:
            victim = Victim(command.arguments(output), self.folder)
            if victim.wait():
                check_refusal(victim, str(self.mount))
            victim.clean()
            self._resize(1 << 16)
            self.resume(case, command, output)
        finally:
            remove(output)

    def tear_down(self) -> None:
        if self.mount is not None:
            subprocess.run(["umount", "--lazy", str(self.mount)], check=False)

    def _resize(self, kilobytes: int) -> None:
        result = subprocess.run(
            ["mount", "-o", f"remount,size={kilobytes}k", str(self.mount)], capture_output=True, check=False
        )
        if result.returncode:
            raise Failure(f"the disk of the test could not be resized: {result.stderr!r}")


class LargestFile(OfCommands):
    """A limit on the size of files: status 1 and one line, or the whole output; then the run resumes."""

    name = "limited files"
    share = 2.0

    def run(self, case: Case) -> None:
        command, output = self.chosen(case)
        size = int(10 ** case.random.uniform(0.5, 5.5))
        victim = Victim(command.arguments(output), self.folder, largest_file=size)
        if victim.wait():
            case.check("Traceback" not in victim.errors, f"{victim}, {size} bytes: {victim.errors[-3000:]}")
            if victim.errors:  # its standard error is limited, too
                names = (str(output), str(WorkFolder(output).path))
                check_refusal(victim, *names) if size > 1000 else None
        victim.clean()
        self.resume(case, command, output)
        remove(output)
