"""A slow, literal reader of brackets: recursive descent into nested tuples, and the transforms by recursion.

A nested tree is ``(tag, word)`` for a preterminal and ``(label, [children])`` for a node.
"""

import re
from typing import Any

from treeformer.trees import Tree
from treeformer.trees.escapes import decode_word

Nested = tuple[str, Any]


class OracleError(Exception):
    """The error of a text, in words that the library's message must contain."""


class Oracle:
    """Reads the trees of one text."""

    def __init__(self, text: str) -> None:
        self.tokens = [token for token in re.split(r"([()])|[ \t\n]+", text) if token]
        self.place = 0
        self.trees: list[Nested] = []  #: those read so far

    def peek(self) -> str:
        """The next token, empty at the end."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        """The next token, which is then behind us."""
        token = self.peek()
        self.place += 1
        return token

    def read(self) -> list[Nested]:
        """All trees of the text."""
        while self.peek():
            if self.peek() == ")":
                raise OracleError("closes no bracket")
            if self.peek() != "(":
                raise OracleError("text outside a tree")
            self.trees.append(self.tree(outermost=True))
        return self.trees

    def tree(self, outermost: bool) -> Nested:
        """The tree that begins here."""
        self.take()
        label = "ROOT"
        if self.peek() not in ("(", ")", ""):
            label = self.take()
        elif self.peek() == ")":
            raise OracleError("empty brackets")
        elif self.peek() == "(" and not outermost:
            raise OracleError("expected a label")
        children: list[Nested] = []
        word = ""
        while self.peek() != ")":
            if self.peek() == "":
                raise OracleError("is not closed")
            if self.peek() == "(":
                if word:
                    raise OracleError("without a tag")
                children.append(self.tree(outermost=False))
            elif children:
                raise OracleError("without a tag")
            elif word:
                raise OracleError("second word")
            else:
                word = self.take()
        self.take()
        if not word and not children:
            raise OracleError("expected a word or a constituent")
        return (label, word or children)


def trees_of(text: str, *, unary: str, strip: bool) -> list[Tree]:
    """The trees of a text; the message of `OracleError` lists the problems, any of which may be reported."""
    reader = Oracle(text.removeprefix("\ufeff"))
    problems = []
    try:
        reader.read()
    except OracleError as error:
        problems.append(str(error))
    nested = [stripped(tree) if strip else tree for tree in reader.trees]
    if None in nested:
        problems.append("traces only")
    if problems:
        raise OracleError("|".join(problems))
    whole = [tree for tree in nested if tree]
    if unary == "collapse":
        whole = [collapsed(tree) for tree in whole]
    trees = [to_tree(tree) for tree in whole]
    return [Tree(tuple(map(decode_word, tree.words)), tree.tags, tree.labels, tree.spans) for tree in trees]


def stripped(nested: Nested) -> Nested | None:
    """The tree without function tags, indices and traces; nothing if nothing is left."""
    label, content = nested
    bare = label if label[0] == "-" else label[0] + re.split("[-=]", label[1:])[0]
    if isinstance(content, str):
        return None if label == "-NONE-" else (bare, content)
    children = [child for child in map(stripped, content) if child]
    return (bare, children) if children else None


def collapsed(nested: Nested) -> Nested:
    """The tree without unary chains."""
    label, content = nested
    while label != "DOC" and len(content) == 1 and not isinstance(content, str):
        label, content = content[0]
    if label == "DOC" and not isinstance(content, str):
        return (label, [child if isinstance(child[1], str) else _sentence(child) for child in content])
    return _sentence(nested)


def _sentence(nested: Nested) -> Nested:
    """One sentence without unary chains; a single word keeps the lowest label above it."""
    lowest = _lowest(nested)
    if not isinstance(lowest[1], str) or isinstance(nested[1], str):
        return lowest
    while not isinstance(nested[1][0][1], str):
        nested = nested[1][0]
    return nested


def _lowest(nested: Nested) -> Nested:
    """The lowest node of the chain that begins here, its children treated alike."""
    label, content = nested
    if isinstance(content, str):
        return nested
    if len(content) == 1:
        return _lowest(content[0])
    return (label, [_lowest(child) for child in content])


def to_tree(nested: Nested) -> Tree:
    """The library's tree; words are taken as they stand."""
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    spans: list[tuple[int, int]] = []

    def visit(part: Nested) -> None:
        label, content = part
        start = len(words)
        if isinstance(content, str):
            words.append(content)
            tags.append(label)
            return
        for child in content:
            visit(child)
        labels.append(label)
        spans.append((start, len(words)))

    visit(nested if not isinstance(nested[1], str) else (nested[0], [nested]))
    return Tree(words, tags, labels, spans)
