"""Milliseconds for one sentence: a classifier by torch, by its graph of ONNX in onnxruntime, side by side.

    python -m benchmarks.export

Models have the sizes of the recipe labelled and random weights. Sentences have 20 words and one core. The
largest difference of logits is printed, too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import onnxruntime
import torch

from treeformer import TreeProcessor
from treeformer.inference.export import OUTPUTS, export_onnx
from treeformer.models.systems import build, system_named
from treeformer.training.recipe import Recipe
from treeformer.trees import random_tree

LABELS = ("S", "NP", "VP", "PP")


def main() -> None:
    """Print a row for each system."""
    parser = argparse.ArgumentParser(description="Latency of one sentence, torch against onnxruntime.")
    parser.add_argument("--words", type=int, default=20, help="words of a sentence (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=100, help="the median counts (default: %(default)s)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"one sentence of {arguments.words} words, one core; torch {torch.__version__}, onnxruntime "
        f"{onnxruntime.__version__}"
    )
    print(
        f"{'system':28}{'torch, ms':>11}{'onnxruntime, ms':>17}{'ratio':>8}{'file, MB':>10}{'difference':>12}"
    )
    for system in Recipe.load("labelled").systems:
        try:
            print(row(system, arguments.words, arguments.repeats), flush=True)
        except ValueError as error:  # a system that cannot be written as ONNX
            print(f"{system:28}{error}", flush=True)


def row(name: str, words: int, repeats: int) -> str:
    """Times of one system, and how far its two outputs are apart."""
    trees = [random_tree([f"w{number}" for number in range(words)], seed=seed) for seed in range(5)]
    processor = TreeProcessor.from_trees(trees, classes=["bad", "good"])
    with tempfile.TemporaryDirectory() as folder:
        model = random_model(name, processor)
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
        file = Path(folder) / "model.onnx"
        export_onnx(folder, file)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(file, options)
        size = file.stat().st_size / 1e6
    reads = system_named(name).reads
    inputs = processor(trees[:1], reads=reads)
    arrays = {key: value.numpy() for key, value in inputs.items()}
    with torch.inference_mode():
        logits = model(**inputs).logits
        [other] = session.run(OUTPUTS[reads][:1], arrays)
        eager = milliseconds(lambda: model(**inputs), repeats)
    runtime = milliseconds(lambda: session.run(None, arrays), repeats)
    difference = (logits - torch.from_numpy(other)).abs().max().item()
    return f"{name:28}{eager:11.2f}{runtime:17.2f}{eager / runtime:8.1f}{size:6.1f}{difference:12.1e}"


def random_model(name: str, processor: TreeProcessor) -> Any:
    """A classifier of a system, with the sizes of the recipe and random weights."""
    sizes = Recipe.load("labelled").systems[name].sizes
    rows = {"vocab_size": processor.vocab_size, "node_vocab_size": processor.node_vocab_size}
    model: Any = build(
        system_named(name), "classification", sizes, **rows, classes=processor.settings.classes
    )
    return model.eval()


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    """Median time of a call."""
    for _ in range(5):
        call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * median(times)


if __name__ == "__main__":
    main()
