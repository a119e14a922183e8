"""Fuzzing of the readers of trees and text: every input gives a value that holds, or a clear error."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from random import Random

from tests.torture.campaigns import Campaign, Case, Failure
from tests.torture.fixtures import Fixtures
from tests.torture.mutation import characters, damaged, line_of_text, random_tree
from tests.trees.oracle import OracleError, trees_of
from treeformer.trees import (
    Tree,
    TreeFormatError,
    binarise,
    collapse,
    from_sets,
    read_conllu,
    read_tree_lines,
    read_trees,
    strip,
    to_sets,
    to_svg,
    to_text,
    unbinarise,
)

LONGEST_MESSAGE = 4000


def outcome(read: Callable[[], object], *names: str) -> object:
    """What a reader returns, or its error; `Failure` unless that is one line naming one of the files."""
    try:
        return read()
    except (ValueError, OSError) as error:
        message = str(error)
        if "\n" in message or not message or len(message) > LONGEST_MESSAGE:
            raise Failure(f"{type(error).__name__}: expected one line, got {message[:1000]!r}") from error
        named = [message, str(getattr(error, "filename", ""))]
        if names and not any(name in text for name in names for text in named):
            raise Failure(f"{type(error).__name__}: the message does not name the file: {message}") from error
        return error


class Readings(Campaign):
    """Fuzzing in this process; inputs that are files have the name `path`."""

    memory = 12

    def set_up(self, folder: Path) -> None:
        self.folder = folder

    def written(self, case: Case, name: str, content: str | bytes) -> Path:
        """A file of this content, remembered by the case."""
        case.keep(name, content)
        path = self.folder / name
        path.write_bytes(case.inputs[name])
        return path


class Trees(Readings):
    """Random trees survive every round trip."""

    name = "trees"
    share = 2.0

    def run(self, case: Case) -> None:
        tree = random_tree(case.random)
        case.keep("tree.py", repr((tree.words, tree.tags, tree.labels, tree.spans)))
        texts = (str(tree), tree.pretty(case.random.choice([1, 20, 100])))
        for text in texts:
            read = Tree.from_brackets(text, unary="keep", strip=False)
            case.check(read == tree, f"reads back as {read!r}")
        case.check(
            list(read_trees(StringIO(texts[1] + "\n" + texts[0]), unary="keep", strip=False)) == [tree] * 2,
            "two",
        )
        case.check(from_sets(to_sets(tree)) == tree, "differs after to_sets and from_sets")
        case.check(pickle.loads(pickle.dumps(tree)) == tree, "differs after pickle")
        case.check(collapse(collapse(tree)) == collapse(tree), "collapse changes a collapsed tree")
        if any(tag != "-NONE-" for tag in tree.tags):  # else no word is left
            case.check(strip(strip(tree)) == strip(tree), "strip changes a stripped tree")
        if not any(label.startswith("@") for label in tree.labels):
            case.check(unbinarise(binarise(tree)) == tree, "differs after binarise and unbinarise")
        if case.random.random() < 0.05:
            to_svg(tree)
            to_text(tree)


class Brackets(Readings):
    """Damaged brackets: a tree that survives a round trip, or an error with its place."""

    name = "brackets"
    share = 3.0

    def run(self, case: Case) -> None:
        count = case.random.choice([1, 1, 2])
        text = damaged(case.random, "\n".join(str(random_tree(case.random)) for _ in range(count)))
        case.keep("text", text)
        stripped = case.random.random() < 0.5
        found: list[object] = []

        def read_all() -> list[Tree]:
            stream = StringIO(text, newline="\n")
            return list(
                read_trees(stream, unary="keep", strip=stripped, on_error=found.append if errors else None)
            )

        errors = case.random.random() < 0.5
        trees = outcome(read_all, "<stream>")
        if not errors:
            _compare_with_oracle(case, text, trees, strip=stripped)
        one = outcome(lambda: Tree.from_brackets(text, unary="keep", strip=stripped))
        lines = outcome(lambda: list(read_tree_lines(StringIO(text, newline="\n"), unary="keep")))
        for tree in [one, *(trees if isinstance(trees, list) else ())]:
            if isinstance(tree, Tree):
                again = Tree.from_brackets(str(tree), unary="keep", strip=False)
                case.check(again == tree, f"{tree!r} reads back as {again!r}")
        if isinstance(one, Tree) and not errors:
            case.check(trees == [one], f"from_brackets gives {one!r}, read_trees {trees!r}")
        if isinstance(lines, list):
            case.check(len(lines) == len(StringIO(text, newline="\n").readlines()), "a list for each line")


def _compare_with_oracle(case: Case, text: str, trees: object, *, strip: bool) -> None:
    """`Failure` unless the slow reader gives the same trees, or has the same objection."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if any(letter == "\r" or "\ud800" <= letter <= "\udfff" for line in lines for letter in line):
        case.check(isinstance(trees, Exception), f"expected an error about a character, got {trees!r}")
        return
    try:
        expected = trees_of("\n".join(lines), unary="keep", strip=strip)
    except RecursionError:  # the slow reader is not made for deep trees
        return
    except (OracleError, ValueError) as error:
        case.check(isinstance(trees, Exception), f"expected the error {error}, got {trees!r}")
        if isinstance(error, OracleError):
            case.check(re.search(str(error), str(trees)), f"expected the error {error}, got {trees}")
        return
    case.check(trees == expected, f"expected {expected!r}, got {trees!r}")


class Conllu(Readings):
    """Damaged CoNLL-U."""

    name = "CoNLL-U"
    share = 4.0

    def run(self, case: Case) -> None:
        sentences = case.random.randint(1, 3)
        text = "".join(_sentence(case.random) for _ in range(sentences))
        whole = case.random.random() < 0.1
        if not whole:
            text = damaged(case.random, text, _CONLLU_TOKENS)
        path = self.written(case, "trees.conllu", text)
        errors: list[TreeFormatError] = []
        collected = case.random.random() < 0.5
        on_error = errors.append if collected else None
        trees = outcome(lambda: list(read_conllu(path, on_error=on_error)), str(path))
        if isinstance(trees, list):
            for tree in trees:
                case.check(Tree.from_brackets(str(tree), unary="keep", strip=False) == tree, f"{tree!r}")
            lost = whole and len(trees) + len(errors) != sentences
            case.check(not lost, f"{len(trees)} trees and {len(errors)} errors of {sentences} sentences")


_CONLLU_TOKENS = [
    "\t",
    "\t\t",
    "\n",
    "\n\n",
    "_",
    "0",
    "1",
    "-1",
    "1-2",
    "8.1",
    "9" * 30,
    "# text = ",
    "(",
    " ",
    "٣",
    "\r",
    "é",
]


def _sentence(generator: Random) -> str:
    size = generator.randint(1, 7)
    root = generator.randint(1, size)
    rows = ["# sent_id = 1"]
    for number in range(1, size + 1):
        head = 0 if number == root else generator.choice([root, generator.randint(1, size)])
        form = (
            characters(generator, 3).replace("\t", " ").replace("\n", " ")
            if generator.random() < 0.3
            else "cat"
        )
        rows.append(f"{number}\t{form}\t_\tNOUN\tNN\t_\t{head}\tdep\t_\t_")
    return "\n".join(rows) + "\n\n"


class Archives(Readings):
    """Compressed files of trees with flipped bits, cut or mixed up."""

    name = "compressed files"
    share = 0.7

    def run(self, case: Case) -> None:
        from tests.torture.mutation import damaged_bytes
        from treeformer.trees import write_trees

        ending = case.random.choice([".gz", ".xz", ".bz2", ""])
        path = self.folder / f"trees{ending}"
        write_trees([random_tree(case.random) for _ in range(3)], path)
        whole = path.read_bytes()
        expected = outcome(lambda: list(read_trees(path)), str(path))
        path = self.written(case, path.name, damaged_bytes(case.random, whole))
        trees = outcome(lambda: list(read_trees(path)), str(path))
        if ending and isinstance(trees, list):  # the archive's checksum holds
            case.check(trees == expected, f"expected {expected!r} or an error, got {trees!r}")


class Scores(Readings):
    """Pairs of damaged files for ``treeformer score``."""

    name = "score files"
    share = 1.5

    def run(self, case: Case) -> None:
        from treeformer.evaluation import TreebankScores, score_files

        trees = [random_tree(case.random) for _ in range(case.random.randint(1, 3))]
        gold = "".join(f"{tree}\n" for tree in trees)
        identical = case.random.random() < 0.1
        predicted = gold if identical else "".join(f"{self._other(case.random, one)}\n" for one in trees)
        if not identical and case.random.random() < 0.7:
            predicted = damaged(case.random, predicted)
        if not identical and case.random.random() < 0.3:
            gold = damaged(case.random, gold)
        first, second = self.written(case, "gold", gold), self.written(case, "predicted", predicted)
        scores = outcome(lambda: score_files(str(first), str(second)), str(first), str(second))
        if isinstance(scores, TreebankScores):
            counts = scores.all
            case.check(0 <= counts.f1 <= 100, f"F1 {counts.f1}")
            counted = counts.valid + counts.skipped + counts.errors
            case.check(counted == counts.sentences, f"{counted} of {counts.sentences} sentences are counted")
            perfect = counts.matched == counts.gold == counts.predicted
            case.check(perfect or not identical, f"{counts} of identical files")

    def _other(self, generator: Random, tree: Tree) -> Tree:
        """The tree, or another over the same words."""
        other = random_tree(generator)
        if len(other.words) == len(tree.words):
            return Tree(tree.words, other.tags, other.labels, other.spans)
        return tree


class Tokens(Readings):
    """Any text through the tokenisers: no visible character is lost, no token is empty."""

    name = "tokenizer of text"
    share = 5.0

    def run(self, case: Case) -> None:
        from treeformer.parsing.tokenizer import tokenize

        text = line_of_text(case.random)
        if case.random.random() < 0.5:
            text = damaged(case.random, text)
        text = text.encode("utf-8", "replace").decode()
        case.keep("text", text)
        sentences = tokenize(text, case.random.choice(["en", "de", "fr"]))
        tokens = [token for sentence in sentences for token in sentence]
        case.check(all(sentences) and all(token.split() == [token] for token in tokens), f"{sentences!r}")
        visible = [letter for letter in "".join(text.split()) if letter.isprintable()]
        kept = [letter for letter in "".join(tokens) if letter.isprintable()]
        case.check(kept == visible, f"lost or moved: {sentences!r}")


class Parses(Readings):
    """Any lines through an embedded parser: a tree over each token."""

    name = "text to trees"
    share = 1.5
    memory = 0

    def __init__(self, fixtures: Fixtures) -> None:
        self.fixtures = fixtures

    def set_up(self, folder: Path) -> None:
        from treeformer.parsing.line_parser import LineParser
        from treeformer.parsing.loading import parser_maker

        self.parsers = [
            LineParser(parser_maker(str(self.fixtures.parser)), tokenized=tokenized, one_per_line=one)
            for tokenized in (False, True)
            for one in (False, True)
        ]

    def run(self, case: Case) -> None:
        lines = [line_of_text(case.random) for _ in range(20)]
        lines = [
            "".join(letter for letter in line if letter not in "\r\n")
            for line in (damaged(case.random, line).encode("utf-8", "replace").decode() for line in lines)
        ]
        case.keep("lines", "\n".join(lines))
        case.weight = len(lines)
        for trees, failures in case.random.choice(self.parsers).parse(lines):
            case.check(not failures, f"the parser failed: {failures!r}")
            for tree in trees:
                case.check(Tree.from_brackets(str(tree), unary="keep", strip=False) == tree, f"{tree!r}")
