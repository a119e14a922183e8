"""Train a Tree Transformer and a plain Transformer side by side: does the verb take a singular or a plural?

    python examples/demo.py

The models read the words before a verb, such as "the keys to the cabinet near the doors", and say which form
the verb must have. The subject alone decides ("keys": plural), but other nouns stand between it and the verb;
those of the other number are attractors ("cabinet"). Training sentences have up to two attractors, test
sentences up to four, and their subject and next noun are a pair that training never shows.

Sentences and their trees come from the small grammar below. The words alone always fix the answer, so both
models could find it; the Tree Transformer also sees the brackets.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from transformers.utils import ModelOutput

from treeformer import (
    TransformerConfig,
    TransformerForSequenceClassification,
    Tree,
    TreeBatch,
    TreeTransformerConfig,
    TreeTransformerForSequenceClassification,
)
from treeformer.trees import to_svg, to_text

NOUNS = """actor author banker boy cabinet captain car cat dancer doctor dog door driver editor farmer garden
girl guard horse house key king lawyer letter nurse officer painter pilot poet river sailor singer student
table teacher tower""".split()  # noqa: SIM905
ADJECTIVES = ("big", "clever", "famous", "happy", "new", "old", "quiet", "small", "strange", "young")
PREPOSITIONS = ("above", "behind", "beside", "near", "of", "opposite", "to", "with")
VERBS = ("admired", "called", "followed", "found", "helped", "liked", "met", "praised", "saw", "visited")
CONJUNCTIONS = ("after", "because", "before", "when")

TRAINING = {0: 0.5, 1: 0.4, 2: 0.1}  # what part of the training sentences has so many attractors
TEST = (0, 1, 2, 3, 4)
LONGEST = 24  # words
SIZES = {"d_model": 64, "ffn_dim": 128, "encoder_layers": 2, "attention_heads": 4, "dropout": 0.0}
BATCH, LEARNING_RATE = 64, 2e-3

PICTURED = (
    "(S (SBAR (IN when) (S (NP (DT the) (NN guard)) (VP (VBD met) (NP (DT the) (NNS dogs)))))"
    " (NP (NP (NP (DT the) (JJ old) (NN key)) (PP (IN to) (NP (DT the) (NNS cabinets))))"
    " (SBAR (WDT that) (S (NP (DT the) (NNS boys)) (VBD found)))))"
)


class Grammar:
    """Random phrases in brackets. All verbs are in the past tense, which tells nothing about number."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.choice = self.chance.choice

    def subject(self) -> str:
        """A noun phrase with one to three modifiers in a row."""
        phrase = self.noun()
        for _ in range(self.choice((1, 1, 2, 3))):
            phrase = f"(NP {phrase} {self.modifier(1)})"
        return phrase

    def front(self) -> str:
        """What may stand before the subject: "behind the doors", "when the boy saw the cats", or nothing."""
        clause = f"(SBAR (IN {self.choice(CONJUNCTIONS)}) (S {self.phrase(2)} {self.predicate(2)}))"
        return self.choice((self.prepositional(1), clause, ""))

    def phrase(self, depth: int) -> str:
        """A noun phrase; the deeper it lies, the less often it is modified."""
        modified = self.chance.random() < 0.6 / depth
        return f"(NP {self.noun()} {self.modifier(depth + 1)})" if modified else self.noun()

    def modifier(self, depth: int) -> str:
        """As in "the car near the tower", "the car that followed the dog", "the car that the boys liked"."""
        kind = self.choice(("near", "near", "that followed", "that the boys"))
        if kind == "near":
            return self.prepositional(depth)
        if kind == "that followed":
            return f"(SBAR (WDT that) {self.predicate(depth)})"
        return f"(SBAR (WDT that) (S {self.phrase(depth + 1)} (VBD {self.choice(VERBS)})))"

    def prepositional(self, depth: int) -> str:
        return f"(PP (IN {self.choice(PREPOSITIONS)}) {self.phrase(depth)})"

    def predicate(self, depth: int) -> str:
        return f"(VP (VBD {self.choice(VERBS)}) {self.phrase(depth)})"

    def noun(self) -> str:
        adjective = f"(JJ {self.choice(ADJECTIVES)}) " if self.chance.random() < 0.3 else ""
        noun = self.choice(NOUNS)
        return f"(NP (DT the) {adjective}{self.choice((f'(NN {noun})', f'(NNS {noun}s)'))})"


class Sentence(NamedTuple):
    """The tree of the words before a verb, whether the verb is plural, and how hard that is to tell."""

    tree: Tree
    plural: bool
    attractors: int
    held_out: bool


def generated(seed: int) -> Iterator[Sentence]:
    """Endless sentences, no two alike."""
    grammar = Grammar(seed)
    seen = set()
    while True:
        front, subject = grammar.front(), Tree.from_brackets(grammar.subject())
        tree = Tree.from_brackets(f"(S {front} {subject})")
        if len(tree.words) <= LONGEST and tree not in seen:
            seen.add(tree)
            nouns = [leaf for leaf, tag in enumerate(subject.tags) if tag in ("NN", "NNS")]
            number, *others = [subject.tags[leaf] for leaf in nouns]
            pair = [NOUNS.index(subject.words[leaf].removesuffix("s")) for leaf in nouns[:2]]
            attractors = sum(other != number for other in others)
            yield Sentence(tree, number == "NNS", attractors, held_out=sum(pair) % 4 == 0)


def corpus(seed: int, sizes: Mapping[int, int], *, held_out: bool) -> list[Sentence]:
    """``sizes[a]`` sentences with ``a`` attractors, whose pair of nouns is held out of training or is not."""
    missing = Counter(sizes)
    chosen = []
    source = generated(seed)
    while missing.total():
        sentence = next(source)
        if sentence.held_out == held_out and missing[sentence.attractors]:
            missing[sentence.attractors] -= 1
            chosen.append(sentence)
    return chosen


class Vocabulary:
    """Numbers of words, after the three special tokens of the models, and of phrase labels."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        words = sorted({word for tree in trees for word in tree.words})
        labels = sorted({label for tree in trees for label in tree.labels})
        self.words = {word: number for number, word in enumerate(words, start=3)}
        self.labels = {label: number for number, label in enumerate(labels)}

    def inputs(self, trees: Sequence[Tree]) -> dict[str, Tensor]:
        """What a tree model reads. The plain model reads the first two."""
        batch = TreeBatch.from_trees(trees)
        words = [torch.tensor([self.words[word] for word in tree.words]) for tree in trees]
        labels = [torch.tensor([self.labels[label] for label in tree.labels]) for tree in trees]
        return {
            "input_ids": nn.utils.rnn.pad_sequence(words, batch_first=True, padding_value=1),
            "attention_mask": batch.leaf_mask,
            "node_ids": nn.utils.rnn.pad_sequence(labels, batch_first=True),
            "node_mask": batch.node_mask,
            "node_spans": batch.spans,
        }


class Learner:
    """A model, which inputs it reads, its optimiser, and the seconds that it has spent on learning."""

    def __init__(self, model: nn.Module, reads: Sequence[str], updates: int) -> None:
        self.model = model
        self.reads = reads
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, LEARNING_RATE, updates)
        self.seconds = 0.0

    def update(self, inputs: Mapping[str, Tensor], labels: Tensor) -> float:
        """The loss on these sentences, after which the weights are changed to make it smaller."""
        start = time.perf_counter()
        self.model.train()
        loss = self.model(**{name: inputs[name] for name in self.reads}, labels=labels).loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        self.seconds += time.perf_counter() - start
        return loss.item()

    @torch.no_grad()
    def predict(self, inputs: Mapping[str, Tensor], **options: bool) -> ModelOutput:
        """What the model returns for these sentences, without dropout."""
        self.model.eval()
        return self.model(**{name: inputs[name] for name in self.reads}, **options)


def train(learners: dict[str, Learner], data: list[Sentence], vocabulary: Vocabulary, updates: int) -> None:
    """Show the same batches to all learners."""
    chance = random.Random(3)
    losses: Counter[str] = Counter()
    report = max(updates // 8, 1)
    for update in range(1, updates + 1):
        batch = chance.sample(data, min(BATCH, len(data)))
        inputs = vocabulary.inputs([sentence.tree for sentence in batch])
        labels = torch.tensor([int(sentence.plural) for sentence in batch])
        for name, learner in learners.items():
            losses[name] += learner.update(inputs, labels)
        if update % report == 0:
            means = "   ".join(f"{name} {losses[name] / report:.3f}" for name in learners)
            print(f"update {update:4} of {updates}   loss: {means}", flush=True)
            losses.clear()


def accuracies(learner: Learner, data: list[Sentence], vocabulary: Vocabulary) -> list[float]:
    """The part of the sentences with 0, 1, … attractors that the learner gets right, and of all."""
    right: Counter[int] = Counter()
    for start in range(0, len(data), BATCH):
        batch = data[start : start + BATCH]
        logits = learner.predict(vocabulary.inputs([sentence.tree for sentence in batch])).logits
        for sentence, plural in zip(batch, logits.argmax(-1).tolist(), strict=True):
            right[sentence.attractors] += plural == sentence.plural
    total = Counter(sentence.attractors for sentence in data)
    return [*(right[a] / total[a] for a in TEST), right.total() / total.total()]


def picture(learner: Learner, tree: Tree, vocabulary: Vocabulary) -> tuple[str, str]:
    """The prediction for a tree, and a drawing: the stronger a colour, the more the root attends to it."""
    output = learner.predict(vocabulary.inputs([tree]), output_attentions=True)
    probability, plural = output.logits[0].softmax(-1).max(-1)
    prediction = f"{'plural' if plural else 'singular'}, probability {probability:.2f}"
    attention = output.attentions[-1][0].mean(0)[-1]  # of the last layer, mean over heads, from the root
    colors = [f"rgba(209, 72, 12, {share:.2f})" for share in 0.8 * attention / attention.max()]
    titles = [f"attention of the root: {share:.1%}" for share in attention]
    titles[-1] = f"predicted: {prediction}"
    n = len(tree.words)
    leaves = {"leaf_colors": colors[:n], "leaf_titles": titles[:n]}
    return prediction, to_svg(tree, **leaves, node_colors=colors[n:], node_titles=titles[n:])


def main() -> None:
    parser = argparse.ArgumentParser(description="Subject–verb agreement, learned by two models.")
    parser.add_argument("--updates", type=int, default=800, help="of each model (default: %(default)s)")
    parser.add_argument("--sentences", type=int, default=12_000, help="to train on (default: %(default)s)")
    parser.add_argument("--tests", type=int, default=400, help="for each column (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("output"), help="a folder")
    options = parser.parse_args()
    torch.set_num_threads(1)  # more hardly help models this small, and change the rounding

    print("Subject–verb agreement: singular or plural, given the words before the verb.")
    training = corpus(1, {a: round(part * options.sentences) for a, part in TRAINING.items()}, held_out=False)
    test = corpus(2, dict.fromkeys(TEST, options.tests), held_out=True)
    print(f"{len(training):,} sentences to train on, with up to {max(TRAINING)} attractors, for example:")
    for sentence in training[:3]:
        print(f"  {' '.join(sentence.tree.words)} … {'are' if sentence.plural else 'is'}")

    pictured = Tree.from_brackets(PICTURED)
    vocabulary = Vocabulary([pictured, *(sentence.tree for sentence in training + test)])
    sizes = {**SIZES, "vocab_size": 3 + len(vocabulary.words)}
    names = list(vocabulary.inputs([pictured]))
    torch.manual_seed(1)
    tree_config = TreeTransformerConfig(**sizes, node_vocab_size=len(vocabulary.labels))
    tree_model = TreeTransformerForSequenceClassification(tree_config)
    plain_model = TransformerForSequenceClassification(TransformerConfig(**sizes))
    learners = {
        "Tree Transformer": Learner(tree_model, names, options.updates),
        "Transformer": Learner(plain_model, names[:2], options.updates),
    }
    train(learners, training, vocabulary, options.updates)

    print(f"\nAccuracy in % by number of attractors, {options.tests:,} test sentences each")
    print(f"{'':18}{''.join(f'{a:6}' for a in TEST)}{'all':>8}{'parameters':>13}{'seconds':>10}")
    for name, learner in learners.items():
        *columns, whole = accuracies(learner, test, vocabulary)
        parameters = sum(parameter.numel() for parameter in learner.model.parameters())
        cells = "".join(f"{100 * column:6.1f}" for column in columns)
        print(f"{name:18}{cells}{100 * whole:8.1f}{parameters:13,}{learner.seconds:10.1f}")

    prediction, svg = picture(learners["Tree Transformer"], pictured, vocabulary)
    print(f"\n{to_text(pictured)}\n\nThe Tree Transformer predicts: {prediction}")
    options.output.mkdir(parents=True, exist_ok=True)
    file = options.output / "agreement.svg"
    file.write_text(svg, encoding="utf-8")
    print(f"What its root attends to is drawn in {file}")


if __name__ == "__main__":
    main()
