"""Exported classifiers: milliseconds for one sentence by torch and by onnxruntime, and how far logits differ.

    python -m benchmarks.export

Models have the sizes of the recipe labelled and random weights; the last is the included one. Sentences are
random words under random trees in the shape of parses. One core computes; the least processor time of many
calls counts, so other work on the machine matters little. Differences are those of all logits over random
batches of one to four sentences of 1 to 80 words.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import torch
from torch import Tensor

from benchmarks.common import parse_like
from treeformer import Tree, TreeProcessor
from treeformer.data.batching import Reads
from treeformer.inference.export import OUTPUTS, export_onnx
from treeformer.inference.loading import load_run
from treeformer.inference.shipped import SHIPPED
from treeformer.models.systems import build, system_named
from treeformer.training.recipe import Recipe
from treeformer.trees import random_tree

SIZES: dict[str, Any] = {name: system.sizes for name, system in Recipe.load("labelled").systems.items()}
SIZES["dynamic-conv"] = SIZES["transformer"]
SIZES["linear"] = {"d_model": 128, "hidden": True}
INCLUDED = "included-model"


def main() -> None:
    """Print a row for each system, as a table of Markdown."""
    parser = argparse.ArgumentParser(description="Latency of one sentence, torch against onnxruntime.")
    parser.add_argument(
        "--words", type=int, nargs="+", default=[10, 20, 40, 80], help="of a sentence (default: %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=100, help="the fastest counts (default: %(default)s)")
    parser.add_argument("--batches", type=int, default=100, help="to compare (default: %(default)s)")
    names = [*SIZES, INCLUDED]
    parser.add_argument("--systems", nargs="+", choices=names, default=names, metavar="SYSTEM")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, onnxruntime {onnxruntime.__version__}; ms by torch → by onnxruntime\n")
    columns = ["system", *(f"{words} words" for words in options.words), "file, MB", "largest difference"]
    print_row(columns)
    print_row(["---"] * len(columns))
    for name in options.systems:
        with tempfile.TemporaryDirectory() as folder:
            run = SHIPPED if name == INCLUDED else save_random_model(name, Path(folder))
            print_row([name, *measured(run, options)])


def print_row(cells: list[str]) -> None:
    """Print a row of the table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def save_random_model(system: str, folder: Path) -> Path:
    """The folder, in which is a run with a classifier of a system, with random weights."""
    words = [f"w{number}" for number in range(80)]
    trees = [random_tree(words, seed=seed) for seed in range(5)]
    processor = TreeProcessor.from_trees(trees, classes=["bad", "good"])
    rows = {"vocab_size": processor.vocab_size, "node_vocab_size": processor.node_vocab_size}
    classes = processor.settings.classes
    model = build(system_named(system), "classification", SIZES[system], **rows, classes=classes)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def measured(run: Path, options: argparse.Namespace) -> list[str]:
    """Times for each number of words, the size of the file, and the largest difference of a logit."""
    loaded = load_run(run, "classification", device="cpu")
    model: Any = loaded.model.eval()
    names = OUTPUTS[loaded.system.reads]
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        export_onnx(run, file)
        session = onnxruntime.InferenceSession(file, settings)
        size = file.stat().st_size / 1e6

    def inputs_of(sizes: list[int], seed: int) -> dict[str, Tensor]:
        """Inputs of trees of these numbers of words."""
        chance = random.Random(seed)
        trees = [parse_like(words, chance) for words in sizes]
        return random_inputs(trees, loaded.processor, loaded.system.reads, seed)

    times = []
    for words in options.words:
        inputs = inputs_of([words], seed=words)
        arrays = {name: value.numpy() for name, value in inputs.items()}
        with torch.inference_mode():
            eager = milliseconds(lambda inputs=inputs: model(**inputs), options.repeats)
        runtime = milliseconds(lambda arrays=arrays: session.run(None, arrays), options.repeats)
        times.append(f"{eager:.2f} → {runtime:.2f}")
    largest = 0.0
    for seed in range(options.batches):
        chance = random.Random(seed)
        inputs = inputs_of([chance.randint(1, 80) for _ in range(chance.randint(1, 4))], seed)
        with torch.inference_mode():
            expected = model(**inputs)
        logits = session.run(names, {name: value.numpy() for name, value in inputs.items()})
        for name, values in zip(names, logits, strict=True):
            largest = max(largest, (torch.from_numpy(values) - expected[name]).abs().max().item())
    return [*times, f"{size:.1f}", f"{largest:.1e}"]


def random_inputs(trees: list[Tree], processor: TreeProcessor, reads: Reads, seed: int) -> dict[str, Tensor]:
    """Inputs of these trees with random words and labels of the vocabulary."""
    inputs = dict(processor(trees, reads=reads))
    chance = torch.Generator().manual_seed(seed)
    for name, mask, rows in (
        ("input_ids", "attention_mask", processor.vocab_size),
        ("node_ids", "node_mask", processor.node_vocab_size),
    ):
        if name in inputs:
            numbers = torch.randint(rows, inputs[name].shape, generator=chance)
            inputs[name] = torch.where(inputs[mask].bool(), numbers, inputs[name])
    return inputs


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    """The least processor time of a call."""
    for _ in range(5):
        call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return 1000 * min(times)


if __name__ == "__main__":
    main()
