"""Time of decoding from ready inputs, beside Marian of the same size as transformers has it.

    python -m benchmarks.translating [--trees FILE]

All systems decode the same sources in the same run: beam 5, batches of 64, every output of the same forced
length, so that all take the same number of steps. Ratios are to Marian, below 1 is faster. What the embedded
parser needs for the same sentences is printed apart.
"""

from __future__ import annotations

import argparse
import statistics
from functools import partial

import torch
import transformers
from torch import Tensor, nn

from benchmarks.common import print_machine, seconds, some_trees, synchronize, trees_argument
from benchmarks.training_step import inputs_for, models
from treeformer import Tree, load_parser

SYSTEMS = {"marian": "Marian", "plain": "Transformer", "tree": "Tree Transformer"}


def decode(model: nn.Module, batches: list[dict[str, Tensor]], beams: int, length: int) -> None:
    """Decode all batches; every output has ``length`` tokens."""
    for inputs in batches:
        found = model.generate(  # type: ignore[operator]
            **inputs, num_beams=beams, min_new_tokens=length, max_new_tokens=length
        )
        assert found.shape == (len(inputs["input_ids"]), length + 1)


def batches_for(name: str, trees: list[Tree], rows: int, device: str) -> list[dict[str, Tensor]]:
    """Inputs without targets, sentences of like length together."""
    ordered = sorted(trees, key=lambda tree: len(tree.words))
    parts = [ordered[start : start + rows] for start in range(0, len(ordered), rows)]
    found = [inputs_for(name, part, device) for part in parts]
    return [{key: tensor for key, tensor in inputs.items() if key != "labels"} for inputs in found]


def compare(trees: list[Tree], options: argparse.Namespace, dtype: torch.dtype) -> None:
    """Print the time of each system and what it is of Marian's, round by round."""
    runs = {}
    for name, model in models(ffn_dim=options.ffn, heads=8).items():
        ready = nn.Module.to(model, options.device, dtype).eval().requires_grad_(False)
        batches = batches_for(name, trees, options.rows, options.device)
        runs[name] = partial(decode, ready, batches, options.beams, options.length)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(options.rounds + 1):  # the first is for warming up
        for name, run in runs.items():
            time = seconds(run, options.device, repeat=1, warm_up=0)
            if round_:
                times[name].append(time)
    batches_count = -(-len(trees) // options.rows)
    print(f"{str(dtype).removeprefix('torch.')}: {options.length} steps, beam {options.beams}")
    for name, measured in times.items():
        ratios = [own / other for own, other in zip(measured, times["marian"], strict=True)]
        step = statistics.median(measured) / batches_count / options.length
        print(
            f"  {SYSTEMS[name]:16} {len(trees) / statistics.median(measured):8.1f} sentences/s "
            f"{step * 1e3:7.2f} ms/step   {statistics.median(ratios):.2f} x Marian "
            f"(rounds {min(ratios):.2f} … {max(ratios):.2f})"
        )


def parsing(trees: list[Tree], device: str) -> None:
    """Print what parsing the same sentences takes."""
    parser = load_parser("en", device=device)
    sentences = [tree.words for tree in trees]
    parser.parse_tokens(sentences[:8])
    synchronize(device)
    time = seconds(lambda: parser.parse_tokens(sentences), device, repeat=3, warm_up=0)
    print(f"parsing the same sentences, apart: {len(sentences) / time:.1f} sentences/s")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time of decoding beside Marian.")
    trees_argument(parser)
    cuda = torch.cuda.is_available()
    parser.add_argument("--device", default="cuda" if cuda else "cpu")
    parser.add_argument("--rows", type=int, default=64, help="sources of a batch (default: %(default)s)")
    parser.add_argument("--batches", type=int, default=4 if cuda else 1)
    parser.add_argument("--beams", type=int, default=5)
    parser.add_argument("--length", type=int, default=32 if cuda else 8, help="of outputs")
    parser.add_argument("--ffn", type=int, default=1024 if cuda else 512, help="width of feed-forward nets")
    parser.add_argument("--rounds", type=int, default=5 if cuda else 3)
    options = parser.parse_args()
    print_machine(options.device)
    print(f"transformers {transformers.__version__}")
    transformers.logging.set_verbosity_error()
    trees = some_trees(options.trees, options.rows * options.batches, leaves=(4, 60))
    leaves = sum(len(tree.words) for tree in trees)
    print(f"{len(trees)} sentences of {leaves / len(trees):.1f} leaves, batches of {options.rows}")
    with torch.inference_mode():
        for dtype in (torch.float32, torch.bfloat16) if options.device == "cuda" else (torch.float32,):
            compare(trees, options, dtype)
    parsing(trees, options.device)


if __name__ == "__main__":
    main()
