"""Sentences of brackets read in a second, by treeformer and by nltk, in one process on one core.

    python -m benchmarks.reading [FILE]

FILE holds trees in brackets, one or more a line, and may be compressed. Without it a corpus is generated
whose trees are about as large as parsed captions. Reading goes from text in memory to trees in memory.
"""

import argparse
import platform
import random
import time
from collections.abc import Callable, Iterable
from io import StringIO
from itertools import islice, pairwise

from treeformer.trees import read_trees

PHRASES = ("NP", "VP", "PP", "S", "SBAR", "ADJP", "ADVP")
TAGS = ("DT", "NN", "NNS", "JJ", "IN", "VBZ", "VBG", "RB", "CC", "PRP$", ",")


def main() -> None:
    """Print the speed of both libraries on the same sentences, and the ratio."""
    parser = argparse.ArgumentParser(description="Speed of reading brackets, treeformer against nltk.")
    parser.add_argument("file", nargs="?", help="trees in brackets; a generated corpus if left out")
    parser.add_argument("--sentences", type=int, default=20_000, help="how many (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="the best run counts (default: %(default)s)")
    arguments = parser.parse_args()
    source = read_trees(arguments.file, unary="keep", strip=False) if arguments.file else None
    texts = map(str, source) if source else generated_texts()
    sentences = list(islice(texts, arguments.sentences))
    lines = "\n".join(sentences)
    words = sum(len(tree.words) for tree in read_trees(StringIO(lines))) / len(sentences)
    print(f"Python {platform.python_version()}; {len(sentences):,} sentences of {words:.1f} words")

    def measure(name: str, read: Callable[[], Iterable[object]]) -> float:
        speed = max(len(sentences) / seconds(read) for _ in range(arguments.repeats))
        print(f"{name:<42}{speed:>9,.0f} sentences/s")
        return speed

    ours = measure("treeformer (collapsed, stripped)", lambda: read_trees(StringIO(lines)))
    measure("treeformer (everything kept)", lambda: read_trees(StringIO(lines), unary="keep", strip=False))
    try:
        from nltk.tree import Tree as NltkTree
    except ImportError:
        print("nltk is not installed: pip install '.[nltk]' in the clone, to compare")
        return
    theirs = measure("nltk.Tree.fromstring (everything kept)", lambda: map(NltkTree.fromstring, sentences))
    print(f"treeformer reads {ours / theirs:.1f} times as many sentences as nltk")


def seconds(read: Callable[[], Iterable[object]]) -> float:
    """Processor time that it takes to go through what ``read`` gives."""
    start = time.process_time()
    for _ in read():
        pass
    return time.process_time() - start


def generated_texts() -> Iterable[str]:
    """Endless random sentences of 5 to 21 words, with unary chains as parsers make them."""
    generator = random.Random(0)

    def phrase(size: int) -> str:
        if size == 1:
            leaf = f"({generator.choice(TAGS)} w{generator.randrange(5000)})"
            return f"({generator.choice(PHRASES)} {leaf})" if generator.random() < 0.2 else leaf
        parts = min(size, generator.choice((2, 2, 2, 3, 4)))
        cuts = [0, *sorted(generator.sample(range(1, size), parts - 1)), size]
        inside = " ".join(phrase(end - start) for start, end in pairwise(cuts))
        return f"({generator.choice(PHRASES)} {inside})"

    while True:
        yield f"(ROOT {phrase(generator.randint(5, 21))})"


if __name__ == "__main__":
    main()
