"""The share of attention on nodes, against a slow literal twin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from treeformer.analysis.attention_share import attention_share, node_shares
from treeformer.data.corpus import PreparedCorpus
from treeformer.data.examples import Example
from treeformer.data.vocabulary import END
from treeformer.inference.loading import load_run
from treeformer.models.pretrained import PreTrained


def literal_shares(model: PreTrained, example: Example) -> list[float]:
    """For each layer the mean, over heads and target tokens, of what one sentence alone gives its nodes."""
    assert example.target_ids is not None
    targets = [*example.target_ids.tolist(), END]
    output = model(
        input_ids=torch.tensor([example.input_ids.tolist()]),
        node_ids=torch.tensor([example.node_ids.tolist()]),
        node_mask=torch.ones(1, len(example.node_ids), dtype=torch.long),
        node_spans=torch.tensor([example.node_spans.tolist()]),
        decoder_input_ids=torch.tensor([[model.config.decoder_start_token_id, *targets[:-1]]]),
        output_attentions=True,
        use_cache=False,
    )
    shares = []
    for weights in output.cross_attentions:
        head_shares = []
        for head in range(weights.shape[1]):
            for place in range(len(targets)):
                total = sum(weights[0, head, place].tolist())
                on_nodes = sum(weights[0, head, place, len(example.input_ids) :].tolist())
                head_shares.append(on_nodes / total)
        shares.append(sum(head_shares) / len(head_shares))
    return shares


def test_shares_are_those_of_each_sentence_alone(runs: Path) -> None:
    loaded = load_run(runs / "translation-tree-transformer", device="cpu")
    examples = PreparedCorpus.open(runs / "translation" / "prepared")["dev"]
    measured = node_shares(loaded.model, examples)
    literal = [literal_shares(loaded.model, examples[number]) for number in range(len(examples))]
    np.testing.assert_allclose(measured, np.array(literal).T, atol=1e-5)
    assert measured.std() > 0.01


def test_means_and_quantiles_are_over_sentences(runs: Path) -> None:
    run = runs / "translation-tree-transformer"
    measured = attention_share(run, "dev", device="cpu")
    examples = PreparedCorpus.open(runs / "translation" / "prepared")["dev"]
    shares = node_shares(load_run(run, device="cpu").model, examples)
    nodes = [len(examples[number].node_ids) for number in range(len(examples))]
    leaves = [len(examples[number].input_ids) for number in range(len(examples))]
    positions = np.array([m / (n + m) for n, m in zip(leaves, nodes, strict=True)])
    assert measured.examples == len(examples)
    assert measured.positions.mean == pytest.approx(100 * positions.mean())
    assert measured.layers[0].quantiles["50"] == pytest.approx(100 * np.median(shares[0]))
    assert measured.above == pytest.approx(100 * np.mean(shares.mean(0) > positions))


def test_a_system_that_reads_words_has_no_nodes_to_attend_to(runs: Path) -> None:
    with pytest.raises(ValueError, match="a transformer reads no trees"):
        attention_share(runs / "translation-transformer", "dev", device="cpu")
