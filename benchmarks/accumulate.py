"""One tree self-attention, forward and backward: the fast forms against the paper's literal steps.

python -m benchmarks.accumulate --device cuda
"""

from __future__ import annotations

import argparse
import random

import torch

from benchmarks.common import parse_like, peak_bytes, print_machine, seconds
from treeformer import TreeBatch
from treeformer.nn import TreeAttention


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--leaves", type=int, default=128)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    options = parser.parse_args()
    print_machine(options.device)
    chance = random.Random(1)
    trees = [parse_like(options.leaves, chance) for _ in range(options.batch)]
    states = torch.randn(
        options.batch, options.leaves + max(map(len, trees)), options.width, device=options.device
    )
    results = {}
    for name in ("auto", "matrix", "naive"):
        torch.manual_seed(1)
        attention = TreeAttention(options.width, options.heads, implementation=name).to(options.device)

        def step(attention: TreeAttention = attention) -> None:
            batch = TreeBatch.from_trees(trees).to(options.device)
            attention.zero_grad()
            attention(states.requires_grad_(), batch).sum().backward()

        time = seconds(step, options.device, repeat=5, warm_up=2)
        memory = peak_bytes(step) if options.device == "cuda" else float("nan")
        results[name] = time, memory
        print(f"{name:8} {time * 1e3:9.2f} ms   {memory / 2**20:9.1f} MiB")
    slow, large = results["naive"]
    for name in ("auto", "matrix"):
        fast, small = results[name]
        print(f"naive / {name}: time {slow / fast:.1f}, memory {large / small:.1f}")


if __name__ == "__main__":
    main()
