"""Source code to trees through tree-sitter: ``load_parser("code:python")``.

Leaves are the tokens of the code, comments included; identifiers, strings and comments are split into words.
Nodes are tree-sitter's, with their kinds as labels.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

from treeformer.parsing.failures import Failure, Parsed, flat_tree
from treeformer.parsing.parser import Parser, checked_texts
from treeformer.trees import Tree
from treeformer.trees.tree import trusted_tree

CODE_LANGUAGES = ("java", "javascript", "python")

_WORD = re.compile(r"_*(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_a-zA-Z0-9]+)|_+|[^\w \t\r\n\f\v]+")
_TOKEN = re.compile(r"[^ \t\r\n\f\v]+")
_SPLIT_KINDS = re.compile(r"identifier|comment|string|char|text|fragment|content|ERROR")


class CodeParser(Parser):
    """Trees of source code. A text is one tree, whatever its number of lines.

    A name such as ``read_file`` or ``readFile`` becomes the words ``read``, ``_file`` or ``read``, ``File``
    under one node. Without white space, the words of a tree are exactly its text. Where the syntax is wrong,
    tree-sitter goes on with a node labelled ``ERROR``: `parse_texts` warns, `try_texts` returns a failure.

    >>> [tree] = CodeParser("python").parse(["def read_file(path): return path"])
    >>> tree.words
    ('def', 'read', '_file', '(', 'path', ')', ':', 'return', 'path')
    >>> tree.labels[-2:]
    ('module', 'ROOT')

    Args:
        language: python, javascript or java.
        max_words: longest text that is parsed.
        max_depth: nodes below this depth are left out; their words remain.
    """

    multiline = True

    def __init__(self, language: str, *, max_words: int = 200_000, max_depth: int = 200) -> None:
        for name, value in (("max_words", max_words), ("max_depth", max_depth)):
            if value < 1:
                raise ValueError(f"{name} = {value}: expected at least 1")
        self.language = language
        self.max_words = max_words
        self.max_depth = max_depth
        self._parser = _load_grammar(language)
        package = f"tree-sitter-{language}"
        self.name = f"code:{language} ({package} {version(package)}, tree-sitter {version('tree-sitter')})"

    def parse_texts(self, texts: Iterable[str]) -> list[list[Tree]]:
        """One tree for each text, none for a text without words; warns of wrong syntax."""
        results = []
        for number, text in enumerate(checked_texts(texts), start=1):
            trees, failures = self._parse(text)
            for failure in failures:
                if len(trees[0].words) > self.max_words:
                    raise ValueError(f"texts: text {number}: {failure.reason}")
                warnings.warn(f"text {number}: {failure.reason}", SyntaxWarning, stacklevel=2)
            results.append(trees)
        return results

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """Refused: white space matters in code."""
        raise ValueError(f"code:{self.language}: expected source code as text, got tokens")

    def try_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """The tree of each text, with wrong syntax as failures. A text that is too long gets a flat tree."""
        return [self._parse(text) for text in texts]

    def _parse(self, text: str) -> Parsed:
        """The tree of a text, and its first place of wrong syntax."""
        content = text.removeprefix("\ufeff").encode()
        words = len(_WORD.findall(text))
        if words > self.max_words:
            problem = f"expected at most {self.max_words:,} words, got {words:,}; raise max_words"
            return Parsed([flat_tree(_TOKEN.findall(text))], [Failure(text[:80], problem)])
        root = self._parser.parse(content).root_node
        tree = _Leaves(content, self.max_depth).tree(root)
        if tree is None:
            return Parsed([], [])
        return Parsed([tree], [_first_error(root, content)] if root.has_error else [])


class _Leaves:
    """Collects words and nodes of a syntax tree, from left to right."""

    def __init__(self, content: bytes, max_depth: int) -> None:
        self._content = content
        self._max_depth = max_depth
        self._words: list[str] = []
        self._tags: list[str] = []
        self._labels: list[str] = []
        self._spans: list[tuple[int, int]] = []
        self._end = 0  # of the content that has been read

    def tree(self, root: Any) -> Tree | None:
        """The tree of a syntax tree, None if it has no words. Without recursion: code may nest deeply."""
        open_nodes: list[tuple[str, int]] = []  # kind, and number of words before it
        cursor = root.walk()
        descending = True
        while True:
            node = cursor.node
            if descending:
                above = open_nodes[-1][0] if open_nodes else node.type
                self._read(node.start_byte, above)  # text that belongs to no child
                open_nodes.append((node.type, len(self._words)))
                if cursor.goto_first_child():
                    continue
                self._read(node.end_byte, node.type if node.is_named else _tag(node.type))
            self._read(node.end_byte, node.type)
            self._close(node, *open_nodes.pop(), depth=len(open_nodes))
            descending = cursor.goto_next_sibling()
            if not descending and not cursor.goto_parent():
                break
        self._read(len(self._content), "ERROR")
        if not self._words:
            return None
        self._labels.append("ROOT")
        self._spans.append((0, len(self._words)))
        words, tags, labels = map(tuple, (self._words, self._tags, self._labels))
        return trusted_tree(words, tags, labels, tuple(self._spans))

    def _close(self, node: Any, kind: str, start: int, *, depth: int) -> None:
        """Add a node over the words since ``start``; a token of one word is no node."""
        size = len(self._words) - start
        if node.is_named and size > (0 if node.child_count else 1) and depth < self._max_depth:
            self._labels.append(kind)
            self._spans.append((start, len(self._words)))

    def _read(self, end: int, kind: str) -> None:
        """Read the content up to ``end`` as words of a token of this kind."""
        if end <= self._end:
            return
        text = self._content[self._end : end].decode()
        self._end = end
        words = (_WORD if _SPLIT_KINDS.search(kind) else _TOKEN).findall(text)
        self._words += words
        self._tags += [kind] * len(words)


def words_of(text: str) -> list[str]:
    """The words of an identifier, a string or a comment.

    >>> words_of("_read_XMLFile2"), words_of("don't_panic")
    (['_read', '_XML', 'File', '2'], ['don', "'", 't', '_panic'])
    """
    return _WORD.findall(text)


def _tag(kind: str) -> str:
    """The tag of a token that is always spelled alike."""
    return "keyword" if kind[:1].isalpha() else "symbol"


def _first_error(root: Any, content: bytes) -> Failure:
    """The first place of wrong syntax; columns count bytes."""
    node = root
    while not (node.is_error or node.is_missing):
        node = next(child for child in node.children if child.has_error or child.is_missing)
    row, column = node.start_point
    line = content.split(b"\n")[row].decode().strip()
    problem = f"expected {node.type!r}" if node.is_missing else "expected valid syntax"
    return Failure(line, f"line {row + 1}, column {column + 1}: {problem}, found {line!r:.60}")


def _load_grammar(language: str) -> Any:
    """The parser of tree-sitter for a language."""
    if language not in CODE_LANGUAGES:
        choices = ", ".join(f"code:{name}" for name in CODE_LANGUAGES)
        raise ValueError(f"parser: expected {choices}, got 'code:{language}'")
    try:
        tree_sitter = import_module("tree_sitter")
        grammar = import_module(f"tree_sitter_{language}")
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed; source code needs it: pip install '.[code]' in the clone"
        raise ModuleNotFoundError(message, name=error.name) from None
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))
