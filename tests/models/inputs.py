"""Small models and their inputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from treeformer import Tree, TreeBatch, TreeTransformerConfig
from treeformer.trees import balanced, join, left_branching, random_tree, right_branching

SIZES = {
    "vocab_size": 40,
    "d_model": 16,
    "encoder_layers": 2,
    "attention_heads": 2,
    "ffn_dim": 24,
    "dropout": 0.0,
}


def tree_config(**changes: object) -> TreeTransformerConfig:
    return TreeTransformerConfig(**{**SIZES, "node_vocab_size": 6, "decoder_layers": 2, **changes})


def examples() -> list[Tree]:
    """Trees of different shapes and sizes, one of them a document."""
    words = [f"w{k}" for k in range(9)]
    return [
        balanced(words[:6]),
        right_branching(words[:3]),
        join([left_branching(words[:4]), balanced(words[:1]), random_tree(words[:4], seed=3)]),
        balanced(words[:1]),
    ]


def inputs_of(trees: list[Tree], *, seed: int = 0) -> dict[str, Tensor]:
    """Inputs of a tree model, with random tokens and labels that depend on the place in the batch alone."""
    batch = TreeBatch.from_trees(trees)
    input_ids, node_ids = (
        torch.zeros_like(batch.leaf_mask, dtype=torch.long),
        torch.zeros_like(batch.spans[..., 0]),
    )
    for index, tree in enumerate(trees):
        chance = torch.Generator().manual_seed(seed + index)
        input_ids[index, : len(tree.words)] = torch.randint(4, 40, (len(tree.words),), generator=chance)
        node_ids[index, : len(tree)] = torch.randint(6, (len(tree),), generator=chance)
    return {
        "input_ids": input_ids,
        "attention_mask": batch.leaf_mask.long(),
        "node_ids": node_ids,
        "node_mask": batch.node_mask.long(),
        "node_spans": batch.spans,
    }


def plain(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Inputs of a plain model: tokens and mask alone."""
    return {name: inputs[name] for name in ("input_ids", "attention_mask")}


def one(inputs: dict[str, Tensor], index: int) -> dict[str, Tensor]:
    """One example of a batch, without padding."""
    n, m = inputs["attention_mask"][index].sum(), inputs["node_mask"][index].sum()
    return {name: tensor[[index], : m if name.startswith("node") else n] for name, tensor in inputs.items()}


def learns_to_copy(model: Any) -> None:
    """A translator that reads words gives them back after a little training."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    source = torch.randint(4, 40, (8, 3))
    labels = torch.cat([source, torch.full((8, 1), 2)], dim=1)
    for _ in range(150):
        optimizer.zero_grad()
        model(input_ids=source, labels=labels).loss.backward()
        optimizer.step()
    copied = model.eval().generate(source, num_beams=3, max_new_tokens=6)
    assert torch.equal(copied[:, 1:5], labels)
