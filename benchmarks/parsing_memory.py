"""Peak memory of ``treeformer parse`` over files of growing length: it must not grow with them.

python -m benchmarks.parsing_memory --lines 2000 20000 200000 --workers 1 2
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LINE = "The committee that met in the old town hall on Tuesday could not agree on what to do next.\n"
FLAT = "import sys\nfor line in sys.stdin: print('(X', *(f'(Y {w})' for w in line.split()), end=')\\n')"


def parse(text: Path, folder: Path, arguments: list[str]) -> tuple[int, float]:
    """Largest resident size in bytes of the command and of each process under it, and the seconds."""
    output = folder / "trees"
    command = [sys.executable, "-m", "treeformer", "parse", str(text), "--output", str(output), *arguments]
    start = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)} ended with status {process.returncode}")
    return usage.ru_maxrss * 1024, time.perf_counter() - start


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--lines", nargs="+", type=int, default=[2_000, 20_000], help="lengths of files")
    arguments.add_argument("--workers", nargs="+", type=int, default=[1, 2], help="numbers of processes")
    arguments.add_argument("--embedded", action="store_true", help="with the embedded parser, too")
    options = arguments.parse_args()
    parsers = {"a program": ["--parser-command", shlex.join([sys.executable, "-c", FLAT])]}
    if options.embedded:
        parsers["embedded"] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for parser, chosen in parsers.items():
            for workers in options.workers:
                for lines in options.lines:
                    text = folder / "text"
                    text.write_text(LINE * lines)
                    peak, seconds = parse(text, folder, [*chosen, "--workers", str(workers)])
                    run = f"{parser:10} {workers} workers {lines:8} lines"
                    print(f"{run} {peak / 2**20:6.0f} MiB {seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
