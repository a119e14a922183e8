"""Do effects of phrases have the sign that SST's annotators gave the phrase, and what do they cost?

python -m benchmarks.effects --data DATA [--model RUN] [--split test] [--sentences 500]

DATA as for `recipes/sst5.yaml`. Counted are words and phrases with a polar label, except the whole text and
those of which the model knows no word, in random sentences with a polar word that it knows.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from treeformer import Classifier, Tree
from treeformer.data.batching import input_tensors
from treeformer.data.examples import Columns, Example, ExampleList
from treeformer.data.reading import Reading
from treeformer.data.tasks.sst import NEUTRAL, phrase_labelled
from treeformer.data.vocabulary import UNKNOWN
from treeformer.evaluation.significance import compare_accuracy
from treeformer.inference.attending import attend
from treeformer.inference.effects import explained, log_odds
from treeformer.inference.shipped import SHIPPED
from treeformer.trees import read_tree_lines
from treeformer.trees.shape import Span

Floats = NDArray[np.float64]
_TEXT = (
    "Although the plot of this film is rather thin, the two actors in it are very charming and often funny."
)


class Question(NamedTuple):
    """A sentence, and the sign of the label of each polar word and phrase in it."""

    reading: Reading
    signs: dict[Span, int]


def questions(classifier: Classifier, data: Path, split: str, count: int) -> list[Question]:
    """Random sentences with polar words."""
    golds, parses = (
        [trees[0] for trees in read_tree_lines(data / name)]
        for name in (f"sst/{split}.txt", f"trees/sst.{split}.phrases")
    )
    order = random.Random(1).sample(range(len(golds)), len(golds))
    asked = []
    for gold, parse in ((golds[number], parses[number]) for number in order):
        reading = classifier.processor.reading([phrase_labelled(gold, parse)], exact=True)
        known = [place for place, number in enumerate(reading.example.input_ids) if number != UNKNOWN]
        labels = {(word, word + 1): int(label) for word, label in enumerate(gold.tags)}
        polar_words = any(labels[place, place + 1] != NEUTRAL for place in known)
        labels |= {span: int(label) for span, label in zip(gold.spans[:-1], gold.labels, strict=False)}
        signs = {
            (start, end): 1 if label > NEUTRAL else -1
            for (start, end), label in labels.items()
            if label != NEUTRAL and any(start <= place < end for place in known)
        }
        if polar_words and len(gold.words) > 1:
            asked.append(Question(reading, signs))
        if len(asked) == count:
            break
    return asked


def polarity(numbers: Tensor) -> Tensor:
    """From negative to positive: ``numbers [..., classes]``, weighted by the order of the classes."""
    return numbers.double() @ torch.linspace(-1, 1, numbers.shape[-1], dtype=torch.float64)


def explanations(classifier: Classifier, asked: list[Question]) -> Iterator[tuple[str, list[Floats]]]:
    """For each way to explain, signed numbers for the polar words and phrases of each sentence."""
    answers = explained(classifier, [question.reading for question in asked])
    if answers[0].phrases:
        labels = [{one.span: one.probabilities for one in answer.phrases} for answer in answers]
        yield "label of the phrase", _by_span(asked, labels)
    effects = [{one.span: one.log_odds for one in answer.effects} for answer in answers]
    yield "effect of the phrase", _by_span(asked, effects)
    whole = [float(polarity(torch.tensor(answer.probabilities))) for answer in answers]
    yield "gradient × input", [_gradients(classifier, question) for question in asked]
    shares = [_attention(classifier, question) for question in asked]
    yield (
        "attention above an equal share: for the answer",
        [
            np.sign(answer) * (share - 1 / _parts(question.reading))
            for answer, share, question in zip(whole, shares, asked, strict=True)
        ],
    )
    yield (
        "any attention: for the answer",
        [np.sign(answer) * np.maximum(share, 1e-9) for answer, share in zip(whole, shares, strict=True)],
    )


def alternatives(classifier: Classifier, asked: list[Question]) -> Iterator[tuple[str, list[Floats]]]:
    """Other definitions of an effect."""
    hide = classifier.processor.hide

    def unknown(reading: Reading, span: Span) -> Example:
        return hide(reading, range(*span))

    def alone(reading: Reading, span: Span) -> Example:
        return hide(reading, set(range(len(reading.tree.words))) - set(range(*span)))

    def removed(reading: Reading, span: Span) -> Example:
        return classifier.processor.reading([without(reading.tree, span)], exact=True).example

    full = _polarities(classifier, [question.reading.example for question in asked])
    empty = _polarities(classifier, [hide(one.reading, range(len(one.reading.tree.words))) for one in asked])
    for name, change, sign, base in (
        ("phrase removed from the tree", removed, -1, full),
        ("words unknown, beside all other words", unknown, -1, full),
        ("words known, beside unknown words", alone, 1, empty),
    ):
        examples = [change(question.reading, span) for question in asked for span in question.signs]
        changed = iter(_polarities(classifier, examples))
        rows = zip(base, asked, strict=True)
        yield (
            name,
            [np.array([sign * (next(changed) - start) for _ in question.signs]) for start, question in rows],
        )


def without(tree: Tree, span: Span) -> Tree:
    """The tree without the words of a span."""
    start, end = span

    def moved(place: int) -> int:
        return place if place <= start else max(start, place - (end - start))

    nodes = [
        (label, (moved(first), moved(last)))
        for label, (first, last) in zip(tree.labels, tree.spans, strict=True)
    ]
    nodes = [(label, place) for label, place in nodes if place[0] < place[1]]
    words, tags = tree.words[:start] + tree.words[end:], tree.tags[:start] + tree.tags[end:]
    return Tree(words, tags, [label for label, _ in nodes], [place for _, place in nodes])


def _polarities(classifier: Classifier, examples: list[Example]) -> list[float]:
    """The polarity of the log-odds of each example."""
    roots = torch.stack([answer.root for answer in classifier.logits(ExampleList(examples))])
    return [float(value) for value in polarity(log_odds(roots.double()))]


def _by_span(asked: list[Question], numbers: list[dict[Span, tuple[float, ...]]]) -> list[Floats]:
    return [
        polarity(torch.tensor([by_span[span] for span in question.signs])).numpy()
        for question, by_span in zip(asked, numbers, strict=True)
    ]


def _parts(reading: Reading) -> int:
    return len(reading.tree.words) + len(reading.tree)


def _attention(classifier: Classifier, question: Question) -> Floats:
    """What the whole text attends to in the last layer, mean over heads."""
    tree = question.reading.tree
    shares = attend(classifier, tree).shares()
    parts = {(word, word + 1): word for word in range(len(tree.words))}
    parts |= {span: len(tree.words) + node for node, span in enumerate(tree.spans)}
    return np.array([shares[parts[span]] for span in question.signs])


def _gradients(classifier: Classifier, question: Question) -> Floats:
    """Gradient of the polarity with respect to the vectors of a phrase's words, times these vectors."""
    reading, model = question.reading, classifier.model
    inputs = input_tensors(Columns.of([reading.example]), reads=classifier.system.reads)
    vectors = model.get_input_embeddings()(inputs.pop("input_ids")).detach().requires_grad_(True)
    logits = model(inputs_embeds=vectors, **inputs).logits
    (gradient,) = torch.autograd.grad(polarity(log_odds(logits))[0], vectors)
    words = reading.sum_by_part((gradient * vectors)[0].sum(-1).detach())
    return np.array([float(words[slice(*span)].sum()) for span in question.signs])


def print_rates(asked: list[Question], named: dict[str, list[Floats]]) -> None:
    """Print the share of right signs of each row, of all parts, of words and of phrases."""
    signs = [np.array(list(question.signs.values())) for question in asked]
    is_word = np.array([end - start == 1 for one in asked for start, end in one.signs])
    right = {
        name: [np.sign(row) == sign for row, sign in zip(rows, signs, strict=True)]
        for name, rows in named.items()
    }
    counts = [len(sign) for sign in signs]
    print(f"{len(asked)} sentences, {sum(counts)} polar words and phrases, {is_word.sum()} of them words")
    print("| agreement in sign, % | all | words | phrases | effects ahead by (95 %) |\n" + 5 * "| --- " + "|")
    for name, rows in right.items():
        flat = np.concatenate(rows)
        rates = " | ".join(f"{100 * part.mean():.1f}" for part in (flat, flat[is_word], flat[~is_word]))
        ahead = "–"
        if name != "effect of the phrase":
            pair = [[float(row.sum()) for row in one] for one in (right["effect of the phrase"], rows)]
            found = compare_accuracy(*pair, counts)
            ahead = f"{found.difference:+.1f} ({found.low:+.1f} to {found.high:+.1f})"
        print(f"| {name} | {rates} | {ahead} |")


def print_costs(classifier: Classifier) -> None:
    """Print how much longer explaining takes than answering, in turns."""
    (reading,) = classifier.processor.read_all([_TEXT])
    works: dict[str, Callable[[], object]] = {
        "answer": lambda: classifier([_TEXT]),
        "explain": lambda: classifier.explain([_TEXT]),
        "answer, parsed before": lambda: classifier.classify([reading]),
        "explain, parsed before": lambda: explained(classifier, [reading]),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for round_number in range(23):
        for name, work in works.items():
            start = time.process_time()
            work()
            if round_number >= 3:
                times[name].append(time.process_time() - start)
    middle = {name: 1000 * statistics.median(values) for name, values in times.items()}
    print(f"text of {len(reading.tree.words)} words, CPU time, medians of 20 rounds on one thread")
    for more in ("", ", parsed before"):
        one, all_effects = middle[f"answer{more}"], middle[f"explain{more}"]
        print(f"{more[2:] or 'from text'}: {one:.1f} ms, {all_effects:.1f} ms: {all_effects / one:.1f} times")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--data", type=Path, required=True, help="folder with sst/ and trees/")
    arguments.add_argument(
        "--model", type=Path, default=SHIPPED, help="a run; default: the small included model"
    )
    arguments.add_argument("--split", default="test", choices=["dev", "test"])
    arguments.add_argument("--sentences", type=int, default=500)
    arguments.add_argument("--alternatives", action="store_true", help="other definitions of an effect, too")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    classifier = Classifier.from_pretrained(options.model, device="cpu")
    asked = questions(classifier, options.data, options.split, options.sentences)
    named = dict(explanations(classifier, asked))
    if options.alternatives:
        named |= dict(alternatives(classifier, asked))
    print_rates(asked, named)
    print_costs(classifier)


if __name__ == "__main__":
    main()
