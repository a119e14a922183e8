"""Trees as batches for the parser's network, against taking them apart one by one."""

from __future__ import annotations

import torch

from treeformer.data.vocabulary import IGNORED
from treeformer.training.parser_corpus import Inventory, ParsedSentence, ParserBatch, ParserCorpus
from treeformer.trees import Tree

BRACKETS = (
    "(ROOT (S (NP (DT The) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))) (. .)))",
    "(ROOT (S (NP (NNP Ann)) (VP (VBD slept))))",
    "(ROOT (NP (DT A) (NN cat)))",
    "(ROOT (S (NP (DT The) (NN dog)) (VP (VBD slept) (PP (IN in) (NP (DT the) (NN park)))) (. .)))",
    "(ROOT (X (INTJ (UH Oh)) (. .)))",
)
SENTENCES = [ParsedSentence.of(Tree.from_brackets(line, unary="keep")) for line in BRACKETS]
INVENTORY = Inventory.of(SENTENCES, known_words=20, buckets=50, rare=2)


CORPUS = ParserCorpus(SENTENCES, INVENTORY, torch.device("cpu"))


def decoded(batch: ParserBatch) -> list[tuple[object, ...]]:
    """Words, tags and labelled spans of each sentence of a batch."""
    sentences: list[tuple[object, ...]] = []
    for row, mask in enumerate(batch.mask):
        length = int(mask.sum())
        assert mask[:length].all()
        assert batch.tags[row, length:].eq(IGNORED).all()
        spans = {
            (start, end): None if label == IGNORED else INVENTORY.labels[label]
            for number, start, end, label in batch.spans.tolist()
            if number == row
        }
        tags = [None if tag == IGNORED else INVENTORY.tags[tag] for tag in batch.tags[row, :length].tolist()]
        words = [CORPUS.forms[number] for number in batch.forms[row, :length].tolist()]
        sentences.append((words, tags, spans))
    return sentences


def expected(index: int) -> tuple[object, ...]:
    sentence = SENTENCES[index]
    spans = {span: label if label in INVENTORY.labels else None for span, label in sentence.spans.items()}
    return list(sentence.words), [tag if tag in INVENTORY.tags else None for tag in sentence.tags], spans


def test_a_batch_has_the_words_tags_and_spans_of_its_sentences() -> None:
    for indices in ([0], [3, 1, 4], [4, 4, 0, 2]):
        assert decoded(CORPUS.batch(indices)) == [expected(index) for index in indices]


def test_an_epoch_has_every_sentence_once_within_the_bound() -> None:
    seen = []
    padded = False
    for batch in CORPUS.batches(24, seed=3):
        count, longest = batch.forms.shape
        assert count * longest <= 24
        assert {part.dtype for part in (batch.forms, batch.tags, batch.spans)} == {torch.int64}
        padded = padded or not batch.mask.all()
        seen += decoded(batch)
    assert padded
    assert sorted(map(str, seen)) == sorted(str(expected(index)) for index in range(len(SENTENCES)))


def test_another_seed_gives_another_order() -> None:

    def order(seed: int) -> str:
        return str([decoded(batch) for batch in CORPUS.batches(8, seed)])

    assert order(1) == order(1)
    assert len({order(seed) for seed in range(5)}) > 1
