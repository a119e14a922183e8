"""Decoding: the cache changes nothing, and beams are what a plain beam search finds."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.models.inputs import SIZES, examples, inputs_of, one, plain, tree_config
from treeformer import (
    ConvSeq2SeqConfig,
    ConvSeq2SeqForConditionalGeneration,
    DynamicConvConfig,
    DynamicConvForConditionalGeneration,
    TransformerConfig,
    TransformerForConditionalGeneration,
    Tree2SeqConfig,
    Tree2SeqForConditionalGeneration,
    TreeTransformerForConditionalGeneration,
)
from treeformer.models.generation import SequenceTranslator as Model

PADDING, END = 1, 2
SEEDS = {"tree": 6, "composed": 6, "plain": 4, "dynamic": 4, "gated": 7, "recurrent": 6}
KINDS = list(SEEDS)
READ_TREES = ("tree", "composed", "recurrent")


def model_of(kind: str, **changes: object) -> Model:
    """A small translator: a Tree Transformer of labels or composed, or another system."""
    sizes = {**SIZES, "vocab_size": 12, "decoder_layers": 2, **changes}
    if kind == "tree":
        return TreeTransformerForConditionalGeneration(tree_config(vocab_size=12, **changes))
    if kind == "composed":
        return model_of("tree", node_inputs="composed", **changes)
    if kind == "plain":
        return TransformerForConditionalGeneration(TransformerConfig(**sizes))
    if kind == "dynamic":
        return DynamicConvForConditionalGeneration(DynamicConvConfig(decoder_kernels=[2, 4], **sizes))
    del sizes["attention_heads"], sizes["ffn_dim"]
    if kind == "recurrent":
        del sizes["encoder_layers"]
        return Tree2SeqForConditionalGeneration(Tree2SeqConfig(**sizes))
    return ConvSeq2SeqForConditionalGeneration(ConvSeq2SeqConfig(channels=20, positions=4, **sizes))


def model_and_inputs(kind: str, **changes: object) -> tuple[Model, dict[str, Tensor]]:
    """A small model with random weights, so that beams differ, and a batch for it."""
    torch.manual_seed(SEEDS[kind])
    inputs = inputs_of(examples()) if kind in READ_TREES else plain(inputs_of(examples()))
    model = model_of(kind, **changes)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    with torch.no_grad():
        model.get_input_embeddings().weight[END] *= 2.5  # some hypotheses end early
    inputs["input_ids"] = inputs["input_ids"] % 8 + 4 * inputs["attention_mask"]
    return model.eval().double(), inputs


def plain_beam_search(
    model: Model, inputs: dict[str, Tensor], beams: int, steps: int, length_penalty: float
) -> list[tuple[list[int], float]]:
    """The best hypotheses for one example, best first; every step runs the whole model again."""
    running, finished = [([END], 0.0)], []  # a target starts with the end token
    for step in range(1, steps + 1):
        candidates = []
        for tokens, score in running:
            logits = model(**inputs, decoder_input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1]
            candidates += [
                ([*tokens, token], score + log_probability)
                for token, log_probability in enumerate(logits.log_softmax(-1).tolist())
                if token != PADDING
            ]
        candidates.sort(key=lambda candidate: -candidate[1])
        for tokens, score in candidates[:beams]:
            if tokens[-1] == END or step == steps:
                finished.append((tokens, score / step**length_penalty))
        running = [(tokens, score) for tokens, score in candidates if tokens[-1] != END][:beams]
    return sorted(finished, key=lambda hypothesis: -hypothesis[1])[:beams]


def generate(model: Model, inputs: dict[str, Tensor], **options: object) -> tuple[list[list[int]], Tensor]:
    """Generated tokens without padding, and their scores."""
    output = model.generate(
        **inputs,
        num_beams=3,
        num_return_sequences=3,
        max_new_tokens=6,
        return_dict_in_generate=True,
        output_scores=True,
        early_stopping="never",
        suppress_tokens=[PADDING],
        **options,
    )
    return [[t for t in row if t != PADDING] for row in output.sequences.tolist()], output.sequences_scores


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length_penalty", [0.6, 1.0])
def test_beams_are_those_of_a_plain_beam_search(kind: str, length_penalty: float) -> None:
    model, inputs = model_and_inputs(kind)
    rows, scores = generate(model, inputs, length_penalty=length_penalty)
    lengths = set()
    for index in range(4):
        example = one({**inputs_of(examples()), **inputs}, index)
        example = example if kind in READ_TREES else plain(example)
        expected = plain_beam_search(model, example, beams=3, steps=6, length_penalty=length_penalty)
        for rank, (tokens, score) in enumerate(expected):
            assert rows[3 * index + rank] == [token for token in tokens if token != PADDING]
            assert scores[3 * index + rank].item() == pytest.approx(score, abs=1e-6)
            lengths.add(len(tokens))
    assert len(lengths) > 1  # some hypotheses ended before the last step


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("tree", {}),
        ("tree", {"norm": "pre", "convention": "released"}),
        ("tree", {"accumulate": False, "subtree_mask": False}),
        ("tree", {"encoder_layers": 1, "decoder_layers": 3}),
        ("composed", {}),
        ("plain", {}),
        ("plain", {"norm": "pre", "encoder_layers": 3}),
        ("dynamic", {}),
        ("dynamic", {"norm": "pre", "convolution": "lightweight"}),
        ("recurrent", {}),
        ("recurrent", {"decoder_layers": 1, "composition": "child-sum"}),
        ("gated", {}),
        ("gated", {"kernel": 5, "encoder_layers": 3}),
    ],
)
def test_the_cache_changes_neither_tokens_nor_scores(kind: str, changes: dict[str, object]) -> None:
    model, inputs = model_and_inputs(kind, **changes)
    cached, cached_scores = generate(model, inputs)
    uncached, scores = generate(model, inputs, use_cache=False)
    assert cached == uncached
    torch.testing.assert_close(cached_scores, scores, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["tree", "plain", "dynamic"])
def test_the_source_is_projected_at_the_first_step_alone(kind: str) -> None:
    model, inputs = model_and_inputs(kind)
    calls = []
    attention = model.decoder.layers[0].cross_attention
    project = attention.project_memory
    attention.project_memory = lambda memory: calls.append(len(memory)) or project(memory)
    model.generate(**inputs, num_beams=2, min_new_tokens=5, max_new_tokens=5)
    assert calls == [4]  # sentences, whatever the number of beams


@pytest.mark.parametrize("kind", KINDS)
def test_several_targets_of_a_source_are_decoded_as_if_each_had_its_own(kind: str) -> None:
    model, inputs = model_and_inputs(kind)
    target = torch.randint(4, 12, (4 * 3, 5))
    shared = model(**inputs, decoder_input_ids=target, output_attentions=True)
    repeated = {name: value.repeat_interleave(3, dim=0) for name, value in inputs.items()}
    separate = model(**repeated, decoder_input_ids=target, output_attentions=True)
    torch.testing.assert_close(shared.logits, separate.logits, rtol=0, atol=1e-9)
    for one_source, repeated_source in zip(shared.cross_attentions, separate.cross_attentions, strict=True):
        torch.testing.assert_close(one_source, repeated_source, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_several_words_after_a_cached_prefix_equal_one_pass(kind: str) -> None:
    model, inputs = model_and_inputs(kind)
    target = torch.randint(4, 12, (4, 7))
    whole = model(**inputs, decoder_input_ids=target).logits
    first = model(**inputs, decoder_input_ids=target[:, :3], use_cache=True)
    rest = model(**inputs, decoder_input_ids=target[:, 3:], past_key_values=first.past_key_values)
    torch.testing.assert_close(torch.cat([first.logits, rest.logits], dim=1), whole, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_no_word_sees_a_later_one(kind: str) -> None:
    model, inputs = model_and_inputs(kind)
    target = torch.randint(4, 12, (4, 6))
    changed = target.clone()
    changed[:, 4] = (target[:, 4] + 1) % 12
    before, after = (model(**inputs, decoder_input_ids=ids).logits for ids in (target, changed))
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_a_masked_target_word_is_seen_by_no_later_one() -> None:
    model, inputs = model_and_inputs("plain")
    target = torch.randint(4, 12, (4, 5))
    mask = torch.ones(4, 5)
    mask[:, 1] = 0
    changed = target.clone()
    changed[:, 1] = (target[:, 1] + 1) % 12
    results = [
        model(**inputs, decoder_input_ids=ids, decoder_attention_mask=mask).logits
        for ids in (target, changed)
    ]
    torch.testing.assert_close(results[0][:, 2:], results[1][:, 2:])
    with pytest.raises(ValueError, match=r"decoder_attention_mask: expected a shape \[4, 5\], got \[4, 4\]"):
        model(**inputs, decoder_input_ids=target, decoder_attention_mask=mask[:, :4])


@pytest.mark.parametrize("kind", ["dynamic", "gated"])
def test_convolutions_take_a_target_mask_that_hides_padding_on_the_right_alone(kind: str) -> None:
    model, inputs = model_and_inputs(kind)
    target = torch.randint(4, 12, (4, 5))
    right = torch.arange(5) < torch.tensor([[5], [3], [1], [4]])
    for mask in (right, right.long()):
        masked = model(**inputs, decoder_input_ids=target, decoder_attention_mask=mask)
        assert torch.equal(masked.logits, model(**inputs, decoder_input_ids=target).logits)
    with pytest.raises(ValueError, match="decoder_attention_mask: expected tokens first, then padding"):
        model(**inputs, decoder_input_ids=target, decoder_attention_mask=right.flip(1))
    with pytest.raises(ValueError, match=r"decoder_attention_mask: expected a shape \[4, 5\], got \[4, 4\]"):
        model(**inputs, decoder_input_ids=target, decoder_attention_mask=right[:, :4])


def test_labels_are_shifted_after_the_start_token_and_ignored_ones_are_padding() -> None:
    model, inputs = model_and_inputs("plain")
    labels = torch.tensor([[5, 6, 2], [7, 2, -100], [4, 2, -100], [2, -100, -100]])
    shifted = model.prepare_decoder_input_ids_from_labels(labels)
    assert shifted.tolist() == [[2, 5, 6], [2, 7, 2], [2, 4, 2], [2, 2, 1]]
    output = model(**inputs, labels=labels)
    wanted = model(**inputs, decoder_input_ids=shifted).logits.log_softmax(-1)
    log_probabilities = [wanted[b, t, labels[b, t]] for b in range(4) for t in range(3) if labels[b, t] >= 0]
    torch.testing.assert_close(output.loss, -torch.stack(log_probabilities).mean())
    assert labels[1, 2] == -100  # the caller's labels are left alone


def test_a_call_without_target_is_refused() -> None:
    model, inputs = model_and_inputs("tree")
    with pytest.raises(ValueError, match="decoder_input_ids: expected these or labels, got neither"):
        model(**inputs)
