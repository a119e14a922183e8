"""More training sentences for SST: pairs of its clauses, joined as "A, but B.", in files of its formats.

python -m benchmarks.contrasts sst/train.txt.xz trees/sst.train.phrases.xz OUTPUT

A and B are clauses of the training part, one positive and one negative. The whole is as positive or negative
as B, but never very. OUTPUT gets train.txt and train.phrases: those of SST, and after them the new sentences.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from treeformer.data.tasks.sst import NEUTRAL
from treeformer.trees import Tree, read_trees
from treeformer.trees.shape import Span

COUNT = 600
SHORTEST, LONGEST = 3, 9
SUBJECTS = ("NP", "PRP", "DT", "NN", "NNS", "NNP", "EX")


class Pair(NamedTuple):
    """A sentence or clause: a binary tree of sentiments, and the tree of phrase labels over its spans."""

    scored: Tree
    phrases: Tree

    @property
    def score(self) -> int:
        """The sentiment of the whole."""
        return int(self.scored.labels[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scored", type=Path)
    parser.add_argument("phrases", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    trees = zip(read_trees(options.scored), read_trees(options.phrases), strict=True)
    sentences = [Pair(*pair) for pair in trees]
    clauses = [clause for sentence in sentences for clause in clauses_of(sentence)]
    sides = [[one for one in clauses if (one.score > NEUTRAL) == positive] for positive in (False, True)]
    generator = random.Random(1)
    made = [
        joined(generator.choice(sides[number % 2]), generator.choice(sides[1 - number % 2]))
        for number in range(COUNT)
    ]
    options.output.mkdir(parents=True, exist_ok=True)
    for name, place in (("train.txt", 0), ("train.phrases", 1)):
        lines = "".join(f"{pair[place]}\n" for pair in (*sentences, *made))
        (options.output / name).write_text(lines, encoding="utf-8")
    print(f"{len(sentences):,} sentences; {len(clauses):,} clauses, {len(made)} new sentences")
    counts = Counter(relation for sentence in sentences for relation in contrasts(sentence))
    print(f"opposites that SST joins by but: the whole is {dict(counts)}")


def clauses_of(sentence: Pair) -> Iterator[Pair]:
    """The short clauses inside a sentence, a noun phrase and a verb phrase, that are not neutral."""
    scored, phrases = sentence
    labels = _labels(phrases)
    for (start, end), label in labels.items():
        words = scored.words[start:end]
        is_plain = all(word.replace("'", "").isalpha() for word in words)
        if label != "S" or not SHORTEST <= len(words) <= LONGEST or not is_plain:
            continue
        middle = _middle(labels, start, end)
        clause = Pair(_part(scored, start, end), _part(phrases, start, end))
        has_subject = labels[start, middle] in SUBJECTS and labels[middle, end] == "VP"
        if has_subject and clause.score != NEUTRAL:
            yield clause


def joined(one: Pair, other: Pair) -> Pair:
    """The sentence "ONE, but OTHER.", with the sentiment of the other clause, weakened."""
    second = str(other.score)
    whole = str(min(max(other.score, NEUTRAL - 1), NEUTRAL + 1))
    neutral = str(NEUTRAL)
    return Pair(
        _joined(one.scored, other.scored, (neutral, neutral, neutral), (second, second, second, whole)),
        _joined(one.phrases, other.phrases, (",", "CC", "."), ("@S", "@S", "@S", "S")),
    )


def contrasts(sentence: Pair) -> Iterator[str]:
    """For each phrase "A but B" of opposite parts: with which of them the whole agrees."""
    words, scores = sentence.scored.words, {span: int(one) for span, one in _labels(sentence.scored).items()}
    for start, end in sentence.scored.spans:
        middle = _middle(scores, start, end)
        place = middle + (words[middle] == ",")
        if end - middle < SHORTEST or words[place] != "but":
            continue
        first, second, whole = (
            scores[span] - NEUTRAL for span in ((start, middle), (middle, end), (start, end))
        )
        if first * second < 0:
            yield "neutral" if whole == 0 else "like B" if whole * second > 0 else "like A"


def _labels(tree: Tree) -> dict[Span, str]:
    """The label of each word and phrase."""
    labels: dict[Span, str] = {(word, word + 1): tag for word, tag in enumerate(tree.tags)}
    return labels | dict(zip(tree.spans, tree.labels, strict=True))


def _middle(spans: Mapping[Span, object], start: int, end: int) -> int:
    """Where the second child of a binary phrase starts."""
    return max(
        middle for middle in range(start + 1, end) if (start, middle) in spans and (middle, end) in spans
    )


def _part(tree: Tree, start: int, end: int) -> Tree:
    """The subtree over a phrase."""
    inside = [
        (label, (first - start, last - start))
        for label, (first, last) in zip(tree.labels, tree.spans, strict=True)
        if start <= first and last <= end
    ]
    labels, spans = zip(*inside, strict=True)
    return Tree(tree.words[start:end], tree.tags[start:end], labels, spans)


def _joined(one: Tree, other: Tree, tags: Sequence[str], labels: Sequence[str]) -> Tree:
    """The tree of "ONE, but OTHER.", with tags for the three new words and labels for the four new nodes."""
    a = len(one.words)
    shift = a + 2
    n = shift + len(other.words) + 1
    comma, but, stop = tags
    moved = [(start + shift, end + shift) for start, end in other.spans]
    return Tree(
        (*one.words, ",", "but", *other.words, "."),
        (*one.tags, comma, but, *other.tags, stop),
        (*one.labels, *other.labels, *labels),
        (*one.spans, *moved, (shift, n), (a + 1, n), (a, n), (0, n)),
    )


if __name__ == "__main__":
    main()
