"""Honest clients of the service beside ten times as many hostile ones.

python -m benchmarks.hostile [--honest 50] [--hostile 500] [--seconds 60]

Everything runs on this machine: hostile clients come from some addresses of 127.0.0.0/8, honest ones from
127.0.0.1. First the honest clients are alone, then with the hostile ones, which send heads and bodies byte by
byte, do not read large answers, close their sockets while they are answered, and send as much work as a
request may hold. Then the service gets SIGTERM while all of them go on. Other options go to treeformer serve.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import signal
import socket
import statistics
import threading
import time
from collections import Counter
from contextlib import suppress
from multiprocessing.synchronize import Event
from urllib.parse import urlsplit

import psutil

from benchmarks.serving import Counts, load, some_texts
from tests.serving.process import serving
from treeformer.serving.limits import Limits

_KINDS = ("slow head", "slow body", "unread answers", "closed socket", "costly request", "wrong items")
_LONG = "this is a long and winding film that never ends , " * 30
_ADDRESSES = 6  # of hostile clients


def question(text: str, count: int) -> bytes:
    """A request to classify copies of a text."""
    return post(json.dumps({"inputs": [text] * count}).encode())


def post(body: bytes, length: int | None = None) -> bytes:
    """A request with this body, which may be shorter than its length."""
    head = "POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {length or len(body)}\r\n\r\n".encode() + body


async def attack(kind: str, address: str, source: str, done: Counter[str]) -> None:
    """One hostile connection."""
    place = urlsplit(address)
    opened = socket.socket()
    opened.setblocking(False)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.bind((source, 0))
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_connect(opened, (place.hostname, place.port))
        done[kind] += 1
        match kind:
            case "slow head":
                await loop.sock_sendall(opened, b"POST /v1/classify HTTP/1.1\r\nX: ")
                await _trickle(opened)
            case "slow body":
                await loop.sock_sendall(opened, post(b'{"inputs": ["', 100_000))
                await _trickle(opened)
            case "unread answers":
                await loop.sock_sendall(opened, question("a long film " * 20, 32) * 4)
                await asyncio.sleep(30)
            case "closed socket":
                await loop.sock_sendall(opened, question(_LONG, 8))
                await asyncio.sleep(random.random())
            case "costly request":
                await loop.sock_sendall(opened, question(_LONG, 32))
                await loop.sock_recv(opened, 1)
            case "wrong items":
                await loop.sock_sendall(opened, post(b'{"inputs": [' + b"1," * 500_000 + b"1]}"))
                await loop.sock_recv(opened, 1)
    finally:
        opened.close()


async def _trickle(opened: socket.socket) -> None:
    while True:
        await asyncio.sleep(0.5)
        await asyncio.get_running_loop().sock_sendall(opened, b"a")


async def attack_again(number: int, address: str, done: Counter[str]) -> None:
    """One hostile client after another."""
    while True:
        with suppress(OSError):
            async with asyncio.timeout(40):
                await attack(
                    _KINDS[number % len(_KINDS)], address, f"127.0.1.{1 + number % _ADDRESSES}", done
                )
        await asyncio.sleep(0.2 + random.random())


def attackers(address: str, count: int, seconds: float, ready: Event, enough: Event) -> None:
    """A process of hostile clients, which ends when it is enough, or after some seconds."""

    async def all_of_them() -> None:
        done: Counter[str] = Counter()
        tasks = [asyncio.create_task(attack_again(number, address, done)) for number in range(count)]
        ready.set()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not enough.is_set():
            await asyncio.sleep(0.5)
        for task in tasks:
            task.cancel()
        print("hostile connections:", ", ".join(f"{done[kind]:,} {kind}" for kind in _KINDS), flush=True)

    asyncio.run(all_of_them())


class Memory:
    """Resident memory of a process and its children in MiB, sampled every second."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.samples: list[float] = []
        threading.Thread(target=self._sample, daemon=True).start()

    def _sample(self) -> None:
        with suppress(psutil.Error):
            while True:
                processes = (self._process, *self._process.children(recursive=True))
                self.samples.append(sum(one.memory_info().rss for one in processes) / 2**20)
                time.sleep(1)


def row(name: str, counts: Counts, seconds: float) -> None:
    """Print one row of the table."""
    cuts = statistics.quantiles(counts.seconds, n=100)
    statuses = ", ".join(f"{status}: {number:,}" for status, number in sorted(counts.statuses.items()))
    rate, slowest = len(counts.seconds) / seconds, max(counts.seconds)
    print(f"| {name} | {rate:.1f} | {cuts[49]:.2f} s | {cuts[98]:.2f} s | {slowest:.2f} s | {statuses} |")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--honest", type=int, default=50)
    arguments.add_argument("--hostile", type=int, default=500)
    arguments.add_argument("--seconds", type=float, default=60.0)
    options, rest = arguments.parse_known_args()
    texts = some_texts(None, 512)
    spawn = multiprocessing.get_context("spawn")
    with serving(*rest) as service:
        address, ready, enough = service.address, spawn.Event(), spawn.Event()
        load(address, texts, options.honest, 5.0)
        memory = Memory(service.process.pid)
        alone = load(address, texts, options.honest, options.seconds / 2)
        before = len(memory.samples)
        lasting = options.seconds + 120
        hostile = spawn.Process(target=attackers, args=(address, options.hostile, lasting, ready, enough))
        hostile.start()
        ready.wait()
        beside = load(address, texts, options.honest, options.seconds)
        ended = service.metric("treeformer_processes_ended_total")
        start = time.monotonic()
        service.stop(signal.SIGTERM)
        seconds_to_end = time.monotonic() - start
        errors = service.errors.replace("treeformer: stopping …\n", "")
        enough.set()
        hostile.join()
    print("| honest clients | answers/s | p50 | p99 | slowest | statuses |")
    print("| --- | --- | --- | --- | --- | --- |")
    row(f"{options.honest} alone", alone, options.seconds / 2)
    row(f"{options.honest} beside {options.hostile} hostile ones", beside, options.seconds)
    print(f"time limit: {Limits().seconds:g} s; model processes that ended: {ended:g}")
    print(f"memory alone: at most {max(memory.samples[:before]):.0f} MiB; beside hostile clients:", end=" ")
    print(f"at most {max(memory.samples[before:]):.0f} MiB, at the end {memory.samples[-2]:.0f} MiB")
    print("MiB every ten seconds:", *(f"{sample:.0f}" for sample in memory.samples[::10]))
    print(f"SIGTERM: ended after {seconds_to_end:.1f} s; lines of errors: {len(errors.splitlines())}")
    print(errors[:2000])


if __name__ == "__main__":
    main()
