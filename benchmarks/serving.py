"""The service under load, beside the offline classifier on the same texts.

python -m benchmarks.serving [--texts sst/test.txt] [--clients 50] [--seconds 60]

The service runs in another process; each client sends one text after another. Prints times and rates, also
for ten times the clients, and the time of a single sentence. Other options go to treeformer serve.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import re
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from tests.serving.process import serving
from treeformer.trees import read_trees

_WORDS = (
    "the a this film story plot is was seems dull great awful gorgeous and but with of in on slow moving",
    "acting music jokes never always really quite , who that makes it its hero they",
)
_SENTENCE = (
    "The film is a warm, funny and quietly moving story about two brothers "
    "who never learned to talk to each other."
)


@dataclass
class Counts:
    """Seconds of the answers, and the number of responses by status."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)


def some_texts(path: Path | None, count: int) -> list[str]:
    """Texts of mixed lengths, from trees of SST or random words."""
    chance = random.Random(1)
    if path is not None:
        texts = [" ".join(tree.words) for tree in read_trees(path)]
        return chance.sample(texts, min(count, len(texts)))
    words = " ".join(_WORDS).split()
    return [
        " ".join(chance.choices(words, k=round(chance.triangular(3, 50, 16)))) + " ." for _ in range(count)
    ]


async def client(address: str, texts: list[str], first: int, end: float, counts: Counts) -> None:
    """Send one text after another on one connection until the time is over."""
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    number = first
    while time.monotonic() < end:
        body = json.dumps({"inputs": [texts[number % len(texts)]]}).encode()
        head = f"POST /v1/classify HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        start = time.perf_counter()
        try:
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            status, pause = await answer(reader)
        except (OSError, asyncio.IncompleteReadError):
            counts.statuses["no answer"] += 1
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            continue
        counts.statuses[status] += 1
        if status == "200":
            counts.seconds.append(time.perf_counter() - start)
            number += 1
        await asyncio.sleep(pause)
    writer.close()


async def answer(reader: asyncio.StreamReader) -> tuple[str, float]:
    """The status of an answer, and how long to wait before the next question."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = re.search(r"(?i)content-length: (\d+)", head)
    await reader.readexactly(int(length[1]) if length else 0)
    retry = re.search(r"(?i)retry-after: (\d+)", head)
    return head.split(" ", 2)[1], float(retry[1]) if retry else 0.0


def load(address: str, texts: list[str], clients: int, seconds: float) -> Counts:
    """Counts of many clients that run for some time."""

    async def all_clients() -> Counts:
        counts = Counts()
        end = time.monotonic() + seconds
        await asyncio.gather(*(client(address, texts, 7 * number, end, counts) for number in range(clients)))
        return counts

    return asyncio.run(all_clients())


def report(name: str, counts: Counts, seconds: float) -> float:
    """Print rate, times and statuses; returns answers per second."""
    rate = len(counts.seconds) / seconds
    cuts = statistics.quantiles(counts.seconds, n=100)
    print(
        f"{name}: {rate:.1f} answers/s, p50 {1000 * cuts[49]:.0f} ms, p99 {1000 * cuts[98]:.0f} ms,", end=" "
    )
    print("statuses", dict(sorted(counts.statuses.items())))
    return rate


def offline_rate(texts: list[str], seconds: float) -> tuple[float, float]:
    """Texts a second of `Classifier` in this process, and milliseconds of CPU a text."""
    from treeformer.inference import Classifier

    classifier = Classifier.from_pretrained()
    classifier(texts[:64])
    done, start, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        done += len(classifier(texts))
    return done / (time.perf_counter() - start), 1000 * (time.process_time() - cpu) / done


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its children."""
    first = psutil.Process(pid)
    return float(sum(sum(process.cpu_times()[:2]) for process in (first, *first.children(recursive=True))))


def first_answers(address: str) -> list[float]:
    """Milliseconds from a question of 20 words to the whole answer, one at a time."""

    async def ask() -> list[float]:
        times = []
        for _ in range(20):
            counts = Counts()
            await client(address, [_SENTENCE], 0, time.monotonic() + 1e-3, counts)
            times += [1000 * seconds for seconds in counts.seconds[:1]]
        return times

    return asyncio.run(ask())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument(
        "--texts", type=Path, help="trees whose words are the texts; default: random words"
    )
    arguments.add_argument("--count", type=int, default=512)
    arguments.add_argument("--clients", type=int, default=50)
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--offline-seconds", type=float, default=20.0)
    options, rest = arguments.parse_known_args()
    texts = some_texts(options.texts, options.count)
    words = [len(text.split()) for text in texts]
    print(
        f"{len(texts)} texts of {min(words)} to {max(words)} words, {sum(words) / len(words):.1f} on average"
    )
    print(f"cores: {os.cpu_count()}, OMP_NUM_THREADS: {os.environ.get('OMP_NUM_THREADS', 'not set')}")
    pool = multiprocessing.get_context("spawn").Pool(1)
    first = pool.apply(offline_rate, (texts, options.offline_seconds))
    with serving(*rest) as service:
        address, pid = service.address, service.process.pid
        load(address, texts, options.clients, 3.0)
        spent = cpu_seconds(pid)
        counts = load(address, texts, options.clients, options.seconds)
        cpu = 1000 * (cpu_seconds(pid) - spent) / len(counts.seconds)
        rate = report(f"{options.clients} clients", counts, options.seconds)
        crowd = load(address, texts, 10 * options.clients, options.seconds / 2)
        report(f"{10 * options.clients} clients", crowd, options.seconds / 2)
        times = first_answers(address)
        print(f"20 words alone: median {statistics.median(times):.0f} ms, slowest {max(times):.0f} ms")
    last = pool.apply(offline_rate, (texts, options.offline_seconds))
    pool.close()
    (before, offline_cpu), (after, _) = first, last
    share = 2 * rate / (before + after)
    print(f"offline: {before:.1f} texts/s before, {after:.1f} after; the service has {share:.0%} of it")
    print(f"CPU a text: {offline_cpu:.2f} ms offline, {cpu:.2f} ms in the service, all of it counted")


if __name__ == "__main__":
    main()
