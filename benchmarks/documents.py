"""Cost of long documents: a tiny Tree Transformer classifier trained on one document of 32 … 3,000 leaves.

python -m benchmarks.documents --device cuda
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource

import torch

from benchmarks.common import parse_like, peak_bytes, print_machine, seconds, tree_inputs
from treeformer import Tree, TreeTransformerConfig, TreeTransformerForSequenceClassification
from treeformer.trees import join, right_branching


def document(leaves: int, shape: str) -> Tree:
    """A document of sentences of about 25 words, or one right-branching tree, the worst case."""
    if shape == "right":
        return right_branching(["word"] * leaves)
    chance = random.Random(1)
    sizes = [25] * (leaves // 25)
    if leaves % 25 > 1:
        sizes.append(leaves % 25)
    return join([parse_like(size, chance) for size in sizes])


def measure(leaves: int, shape: str, device: str) -> tuple[int, float, float]:
    """Leaves, seconds a training step and bytes at its peak (on a CPU: of the whole process)."""
    inputs = {
        name: tensor.to(device) for name, tensor in tree_inputs([document(leaves, shape)], 1000, 50).items()
    }
    config = TreeTransformerConfig(
        vocab_size=1000, node_vocab_size=50, d_model=64, ffn_dim=128, attention_heads=4, encoder_layers=2
    )
    model = TreeTransformerForSequenceClassification(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    labels = torch.ones(1, dtype=torch.long, device=device)

    def step() -> None:
        optimizer.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        optimizer.step()

    time = seconds(step, device, repeat=3, warm_up=1)
    if device == "cuda":
        return leaves, time, peak_bytes(step)
    return leaves, time, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--shapes", nargs="*", default=["document", "right"], choices=["document", "right"])
    options = parser.parse_args()
    print_machine(options.device)
    for shape in options.shapes:
        print(f"{shape:10} leaves    ms/step      MiB")
        for leaves in (32, 100, 300, 1000, 3000):
            # a process each, so that one peak does not hide the next
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                _, time, memory = pool.apply(measure, (leaves, shape, options.device))
            print(f"{'':10} {leaves:6} {time * 1e3:10.1f} {memory / 2**20:8.0f}")


if __name__ == "__main__":
    main()
