"""Trees as batches for the parser's network, against taking them apart one by one."""

from __future__ import annotations

import torch

from treeformer.data.vocabulary import IGNORED
from treeformer.training.parser_corpus import Batch, Corpus, Inventory, TypeTable, example_of
from treeformer.trees import Tree

BRACKETS = (
    "(ROOT (S (NP (DT The) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))) (. .)))",
    "(ROOT (S (NP (NNP Ann)) (VP (VBD slept))))",
    "(ROOT (NP (DT A) (NN cat)))",
    "(ROOT (S (NP (DT The) (NN dog)) (VP (VBD slept) (PP (IN in) (NP (DT the) (NN park)))) (. .)))",
    "(ROOT (X (INTJ (UH Oh)) (. .)))",
)
EXAMPLES = [example_of(Tree.from_brackets(line, unary="keep")) for line in BRACKETS]
INVENTORY = Inventory.of(EXAMPLES, known_words=20, buckets=50, rare=2)


def corpus() -> tuple[Corpus, TypeTable]:
    table = TypeTable(INVENTORY.lexicon)
    return Corpus(EXAMPLES, INVENTORY, table, torch.device("cpu")), table


def told(batch: Batch, table: TypeTable) -> list[tuple[object, ...]]:
    """What a batch says of each sentence, in words."""
    words = list(table.numbers)
    found: list[tuple[object, ...]] = []
    for row, mask in enumerate(batch.mask):
        there = int(mask.sum())
        assert mask[:there].all()
        assert batch.tags[row, there:].eq(IGNORED).all()
        spans = {
            (start, end): None if label == IGNORED else INVENTORY.labels[label]
            for number, start, end, label in batch.spans.tolist()
            if number == row
        }
        tags = [None if tag == IGNORED else INVENTORY.tags[tag] for tag in batch.tags[row, :there].tolist()]
        found.append(([words[number] for number in batch.types[row, :there].tolist()], tags, spans))
    return found


def told_one_by_one(index: int) -> tuple[object, ...]:
    example = EXAMPLES[index]
    spans = {span: label if label in INVENTORY.labels else None for span, label in example.spans.items()}
    return list(example.words), [tag if tag in INVENTORY.tags else None for tag in example.tags], spans


def test_a_batch_has_the_words_tags_and_spans_of_its_sentences() -> None:
    sentences, table = corpus()
    for indices in ([0], [3, 1, 4], [4, 4, 0, 2]):
        assert told(sentences.batch(indices), table) == [told_one_by_one(index) for index in indices]


def test_an_epoch_has_every_sentence_once_within_the_bound() -> None:
    sentences, table = corpus()
    seen = []
    padded = False
    for batch in sentences.batches(24, seed=3):
        count, longest = batch.types.shape
        assert count * longest <= 24
        assert {part.dtype for part in (batch.types, batch.tags, batch.spans)} == {torch.int64}
        padded = padded or not batch.mask.all()
        seen += told(batch, table)
    assert padded
    assert sorted(map(str, seen)) == sorted(str(told_one_by_one(index)) for index in range(len(EXAMPLES)))


def test_another_seed_gives_another_order() -> None:
    sentences, table = corpus()

    def order(seed: int) -> str:
        return str([told(batch, table) for batch in sentences.batches(8, seed)])

    assert order(1) == order(1)
    assert len({order(seed) for seed in range(5)}) > 1
