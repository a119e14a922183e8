"""Start-up and throughput of commands, beside an earlier version and beside a busy neighbour.

python -m benchmarks.flow TEXTS [--before FOLDER] [--count 2000]

FOLDER is a checkout of an earlier version; both run with this Python. Cold starts are processor seconds of
whole commands, the best of several, in turns. Throughput is texts a second of classifiers of the package's
small model, from text to answers, loaded and warm. A busy neighbour is an endless loop on one core. Wall time
says little on a machine that works for others; processor time says how much work there is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treeformer.trees.files import numbered_lines

HERE = Path(__file__).parents[1]
SMALL = "treeformer/inference/models/sst"
COMMANDS = {
    "parse": ["parse"],
    "classify": ["classify", "--device", "cpu", "--model", SMALL, "The plot is dull."],
    "--help": ["--help"],
}
WARM = f"""
import json, os, sys, time
try:
    from treeformer.inference.onnx_classifier import quick_classifier as load
except ImportError:
    from treeformer import Classifier
    load = Classifier.from_pretrained
texts = json.load(sys.stdin)
classifier = load("{SMALL}", device="cpu")
if sys.argv[1] == "parse":
    answer = classifier.processor.parser.parse_texts
else:
    answer = classifier
answer(texts[:200])
best = []
for _ in range(3):
    wall, cpu = time.perf_counter(), time.process_time()
    answer(texts)
    best.append((time.perf_counter() - wall, time.process_time() - cpu))
print(*min(best))
"""


def cpu_seconds(folder: Path, arguments: list[str]) -> float:
    """Processor seconds of one command of the version in this folder."""
    before = os.times()
    subprocess.run(
        [sys.executable, "-m", "treeformer", *arguments],
        input="The cat sleeps well.\n",
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def warm(folder: Path, kind: str, texts: list[str]) -> tuple[float, float]:
    """Wall and processor seconds for all texts, the fastest of three runs after a first one."""
    import json

    run = subprocess.run(
        [sys.executable, "-c", WARM, kind],
        input=json.dumps(texts),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    wall, cpu = map(float, run.stdout.split())
    return wall, cpu


@contextmanager
def busy_neighbour() -> Iterator[None]:
    """Another process keeps one core busy."""
    core = min(os.sched_getaffinity(0))
    script = f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", script])
    time.sleep(0.2)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("texts", type=Path, help="file with a text a line")
    parser.add_argument("--before", type=Path, help="checkout of an earlier version")
    parser.add_argument("--count", type=int, default=2000, help="number of texts")
    parser.add_argument("--rounds", type=int, default=5, help="starts of each command")
    options = parser.parse_args()
    texts = [line.strip() for _, line in numbered_lines(options.texts)][: options.count]
    versions = {"now": HERE} | ({"before": options.before.resolve()} if options.before else {})
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {len(texts):,} texts of {options.texts.name}"
    )
    for name, arguments in COMMANDS.items():
        runs = {version: list[float]() for version in versions}
        for _ in range(options.rounds):
            for version, folder in versions.items():
                runs[version].append(cpu_seconds(folder, arguments))
        print(f"cold {name}, processor seconds: " + ", ".join(f"{v} {min(r):.2f}" for v, r in runs.items()))
    for kind in ("parse", "classify"):
        rates = {}
        for version, folder in versions.items():
            wall, cpu = warm(folder, kind, texts)
            rates[version] = len(texts) / wall, len(texts) / cpu
        line = ", ".join(f"{v} {w:.0f} ({c:.0f} a processor second)" for v, (w, c) in rates.items())
        ratio = ""
        if "before" in rates:
            pairs = zip(rates["now"], rates["before"], strict=True)
            ratio = " = {:.1f} × and {:.1f} ×".format(*(now / before for now, before in pairs))
        print(f"{kind}, texts a second: {line}{ratio}")
        quiet, _ = warm(HERE, kind, texts)
        with busy_neighbour():
            busy, _ = warm(HERE, kind, texts)
        print(f"{kind} beside a busy neighbour: {busy / quiet:.1f} × slower than without")


if __name__ == "__main__":
    main()
