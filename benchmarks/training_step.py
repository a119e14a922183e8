"""One training step of the Tree Transformer beside the plain Transformer and transformers' Marian, same size.

    python -m benchmarks.training_step --trees trees.en.xz

Forward, backward and optimiser in bf16, about 4,096 leaves a batch, 6 + 6 layers, width 512. All systems run
in turn over the same sentences, eagerly and as CUDA graphs (one a shape); the ratios are of one run.

    python -m benchmarks.training_step --classifiers --device cpu

Small tree classifiers instead, in float32, about 2,000 leaves and nodes a batch. First systems of one size
(width 64, 2 layers): the paper's Tree Transformer, with composed nodes, and a Tree-LSTM. Then the tree
systems of recipes/sst5.yaml, on trees made binary, with the losses of the recipe; R-Drop reads each batch
twice.

    python -m benchmarks.training_step --lengths 20 50 100 --device cpu --cpu-time

The classifiers of results/speed.md, training and inference, on batches of 32 sentences of one length. Without
``--trees`` they are generated in the shape of parses.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.common import (
    batches_of,
    parse_like,
    peak_bytes,
    print_machine,
    seconds,
    some_trees,
    synchronize,
    tree_inputs,
    trees_argument,
)
from treeformer import (
    TransformerConfig,
    TransformerForConditionalGeneration,
    Tree,
    TreeLstmConfig,
    TreeLstmForSequenceClassification,
    TreeTransformerConfig,
    TreeTransformerForConditionalGeneration,
    TreeTransformerForSequenceClassification,
)
from treeformer.analysis import costs
from treeformer.models.systems import build
from treeformer.training.losses import loss_sum
from treeformer.training.recipe import Recipe
from treeformer.trees import binarise

SST5 = Path("recipes/sst5.yaml")
VOCABULARY, LABELS = 34288, 104  # multiples of 8: other sizes make the output product slower
Inputs = dict[str, Tensor]
Step = Callable[[], object]


def models(*, ffn_dim: int, heads: int) -> dict[str, nn.Module]:
    """Three translators of the same size, with the usual dropout."""
    sizes = {"d_model": 512, "ffn_dim": ffn_dim, "attention_heads": heads, "dropout": 0.1}
    marian = transformers.MarianConfig(
        vocab_size=VOCABULARY + LABELS,
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=ffn_dim,
        decoder_ffn_dim=ffn_dim,
        dropout=0.1,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
    )
    return {
        "marian": transformers.MarianMTModel(marian),
        "plain": TransformerForConditionalGeneration(
            TransformerConfig(vocab_size=VOCABULARY + LABELS, **sizes)
        ),
        "tree": TreeTransformerForConditionalGeneration(
            TreeTransformerConfig(vocab_size=VOCABULARY, node_vocab_size=LABELS, **sizes)
        ),
    }


def inputs_for(name: str, trees: list[Tree], device: str) -> Inputs:
    """Inputs of a system for these sentences, with targets as long as the sources.

    Plain systems also read an end token.
    """
    torch.manual_seed(1)
    inputs = tree_inputs(trees, VOCABULARY, LABELS)
    inputs["labels"] = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)
    if name != "tree":
        full = int(inputs["attention_mask"].sum(1).max()) % 8 == 0  # no room for the end token
        extra = 8 if full else 0
        padded = {key: F.pad(inputs[key], (0, extra)) for key in ("input_ids", "attention_mask")}
        ends = padded["attention_mask"].sum(1, keepdim=True)
        inputs = {
            "input_ids": padded["input_ids"].scatter(1, ends, 2),
            "attention_mask": padded["attention_mask"].scatter(1, ends, 1),
            "labels": inputs["labels"],
        }
    return {key: tensor.to(device) for key, tensor in inputs.items()}


def training_step(
    model: nn.Module, optimizer: torch.optim.Optimizer | None, inputs: Inputs, *, bf16: bool
) -> Step:
    """A training step in bf16 or float32; without an optimiser forward and backward alone."""
    device = inputs["input_ids"].device.type

    def step() -> None:
        model.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=bf16, cache_enabled=False):
            loss = model(**inputs).loss
        loss.backward()
        if optimizer is not None:
            optimizer.step()

    return step


def graphed(step: Step, pool: tuple[int, int]) -> Step:
    """The step as one CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        step()
    return graph.replay


def compare(
    name: str,
    steps: dict[str, list[Step]],
    device: str,
    rounds: int,
    base: str = "plain",
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Print the time of each system over all its batches, also as a multiple of the time of ``base``."""
    times: dict[str, list[float]] = {system: [] for system in steps}
    for _ in range(rounds):
        for system, batches in steps.items():
            start = 0.0
            for _ in ("warm-up", "timed"):
                synchronize(device)
                start = clock()
                for step in batches:
                    step()
                synchronize(device)
            times[system].append((clock() - start) / len(batches))
    for system, measured in times.items():
        ratios = [one / other for one, other in zip(measured, times[base], strict=True)]
        print(
            f"{name:6} {system:25} {statistics.median(measured) * 1e3:8.2f} ms/step   "
            f"{statistics.median(ratios):.2f} x {base} (rounds {min(ratios):.2f} … {max(ratios):.2f})"
        )


def compare_classifiers(trees: list[Tree], device: str, rounds: int, clock: Callable[[], float]) -> None:
    """Print the time of a training step of small tree classifiers, with losses of all words and phrases."""
    sizes = {"vocab_size": 8000, "d_model": 64, "dropout": 0.5, "num_labels": 5}
    layers = {"encoder_layers": 2, "attention_heads": 4, "ffn_dim": 128, "node_vocab_size": LABELS}
    models: dict[str, nn.Module] = {
        "paper": TreeTransformerForSequenceClassification(TreeTransformerConfig(**sizes, **layers)),
        "composed": TreeTransformerForSequenceClassification(
            TreeTransformerConfig(**sizes, **layers, node_inputs="composed")
        ),
        "tree-lstm": TreeLstmForSequenceClassification(TreeLstmConfig(**sizes)),
    }
    print("one size: width 64, 2 layers")
    steps = {name: phrase_steps(model, trees, device) for name, model in models.items()}
    compare("eager", steps, device, rounds, "paper", clock)


def compare_lengths(
    trees: list[Tree], lengths: list[int], device: str, rounds: int, clock: Callable[[], float]
) -> None:
    """Print times of training and inference of classifiers at each length, and on a CPU peak memory."""
    candidates = {name: costs.Candidate(name, device, graphs=False) for name in costs.SYSTEMS}
    plain = costs.SYSTEMS[0]
    for length in lengths:
        batch = tree_inputs(costs.sentences_of(trees, length, 32), costs.VOCABULARY, costs.LABELS, multiple=1)
        batch["labels"] = torch.randint(costs.CLASSES, (32,))
        inputs = {name: one.inputs(batch) for name, one in candidates.items()}
        updates = {name: partial(one.update, inputs[name]) for name, one in candidates.items()}
        answers = {name: partial(one.answer, inputs[name]) for name, one in candidates.items()}
        print(f"{length} words")
        compare("train", {name: [step] for name, step in updates.items()}, device, rounds, plain, clock)
        compare("answer", {name: [step] for name, step in answers.items()}, device, rounds, plain, clock)
        if device == "cpu":
            peaks = {name: peak_bytes_on_cpu(step) for name, step in updates.items()}
            for name, peak in peaks.items():
                print(f"peak   {name:25} {peak / 2**20:8.1f} MiB       {peak / peaks[plain]:.2f} x {plain}")


def peak_bytes_on_cpu(run: Step) -> int:
    """Peak memory of tensors of ``run`` above the memory in use before."""
    run()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as all_:
        run()
    assert all_.profiler is not None
    events = [event for event in all_.profiler.kineto_results.events() if event.name() == "[memory]"]
    changes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    return max(accumulate(changes))


def compare_recipe(trees: list[Tree], device: str, rounds: int, clock: Callable[[], float]) -> None:
    """Print the time of a training step of the tree systems of ``recipes/sst5.yaml``."""
    binary = [binarise(tree, "left") for tree in trees]
    steps = {}
    print(f"as in {SST5}")
    for name in ("tree-transformer", "composed-tree-transformer", "tree-lstm"):
        recipe = Recipe.load(SST5, [f"model={name}"]).resolved()
        model = build(
            recipe.system,
            "classification",
            recipe.system_recipe.sizes,
            vocab_size=8000,
            node_vocab_size=LABELS,
            classes=[str(number) for number in range(5)],
        )
        training = recipe.training
        steps[name] = phrase_steps(
            model, binary, device, r_drop=training.r_drop, word_dropout=training.word_dropout
        )
    compare("eager", steps, device, rounds, "tree-transformer", clock)


def phrase_steps(
    model: nn.Module, trees: list[Tree], device: str, *, r_drop: float = 0.0, word_dropout: float = 0.0
) -> list[Step]:
    """Steps of a tree classifier in float32, one for each batch, with targets on all words and phrases."""
    model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step_on(inputs: Inputs) -> Step:
        def step() -> None:
            model.zero_grad(set_to_none=True)
            total, targets = loss_sum(model, inputs, r_drop=r_drop, word_dropout=word_dropout)
            (total / targets).backward()
            optimizer.step()

        return step

    steps = []
    for batch in batches_of(trees, 1200, 8):  # 0.7 nodes a leaf: 2,000 of both
        inputs = {key: tensor.to(device) for key, tensor in tree_inputs(batch, 8000, LABELS).items()}
        inputs["leaf_targets"] = inputs["input_ids"] % 5
        inputs["node_targets"] = inputs["node_ids"] % 5
        steps.append(step_on(inputs))
    return steps


def released_shape(device: str) -> None:
    """The shape for which the authors' released code was measured: fp32, no optimiser, ffn 1024, 4 heads."""
    chance = random.Random(1)
    trees = [parse_like(32, chance) for _ in range(128)]
    print("128 sentences of 32 leaves, fp32, no optimiser (the authors' released code: 133.8 ms, 7.4 GiB)")
    for name, model in models(ffn_dim=1024, heads=4).items():
        step = training_step(model.to(device).train(), None, inputs_for(name, trees, device), bf16=False)
        time = seconds(step, device)
        memory = f"{peak_bytes(step) / 2**30:.2f} GiB" if device == "cuda" else ""
        print(f"       {name:7} {time * 1e3:8.2f} ms   {memory}")
        model.cpu()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    trees_argument(parser)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--leaves", type=int, default=4096, help="leaves a batch")
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--classifiers", action="store_true", help="compare small tree classifiers")
    parser.add_argument(
        "--cpu-time", action="store_true", help="of classifiers the CPU time: for a CPU that others use, too"
    )
    parser.add_argument("--lengths", type=int, nargs="+", help="compare classifiers at these lengths")
    options = parser.parse_args()
    device = options.device
    print_machine(device)
    if options.lengths:
        if options.trees:
            trees = some_trees(options.trees, 20000, leaves=(min(options.lengths), 1000))
        else:
            chance = random.Random(1)
            trees = [parse_like(length, chance) for length in options.lengths for _ in range(32)]
        clock = time.process_time if options.cpu_time else time.perf_counter
        compare_lengths(trees, options.lengths, device, options.rounds, clock)
        return
    if options.classifiers:
        trees = some_trees(options.trees, 2000)
        clock = time.process_time if options.cpu_time else time.perf_counter
        compare_classifiers(trees, device, options.rounds, clock)
        compare_recipe(trees, device, options.rounds, clock)
        return
    print(f"transformers {transformers.__version__}")
    trees = some_trees(options.trees, 20000 if device == "cuda" else 500)
    batches = batches_of(trees, options.leaves, options.batches)
    leaves = sum(len(tree.words) for batch in batches for tree in batch)
    nodes = sum(len(tree) for batch in batches for tree in batch)
    print(f"{sum(map(len, batches))} sentences, {leaves} leaves, {nodes / leaves:.2f} nodes a leaf")
    steps: dict[str, list[Step]] = {}
    memory: dict[str, int] = {}
    for name, model in models(ffn_dim=2048, heads=8).items():
        model.to(device).train()
        optimizer = torch.optim.AdamW(
            model.parameters(), lr=1e-4, fused=device == "cuda", capturable=device == "cuda"
        )
        steps[name] = [
            training_step(model, optimizer, inputs_for(name, batch, device), bf16=True) for batch in batches
        ]
        if device == "cuda":
            memory[name] = max(map(peak_bytes, steps[name]))
            print(
                f"{name:7} peak {memory[name] / 2**30:.2f} GiB above weights and optimiser"
                + (f", {memory[name] / memory['plain']:.2f} x plain" if "plain" in memory else "")
            )
    compare("eager", steps, device, options.rounds)
    if device == "cuda":
        pool = torch.cuda.graph_pool_handle()
        graphs = {}
        for name, eager in steps.items():
            try:
                graphs[name] = [graphed(step, pool) for step in eager]
            except RuntimeError as error:
                print(f"{name}: no CUDA graph ({str(error).splitlines()[0]})")
        compare("graph", graphs, device, options.rounds)
    del steps
    released_shape(device)


if __name__ == "__main__":
    main()
