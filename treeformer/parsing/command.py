"""Any other program as a parser: tokens in, brackets out, a line for each sentence."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Sequence

from treeformer.parsing.parser import Parser
from treeformer.trees import Tree, TreeFormatError


class CommandParser(Parser):
    """A program that reads sentences, one a line with spaces between tokens, and writes a tree a line.

    The program is started for each batch of sentences. Brackets among the tokens are given as ``-LRB-`` and
    ``-RRB-``. What it writes must have the same number of lines and the same words.

    Args:
        command: the program and its arguments, as in a shell; no shell runs it.
        language: for tokenisation of texts.
        timeout: seconds that a batch may take.
    """

    def __init__(self, command: str, language: str = "en", *, timeout: float = 3600.0) -> None:
        self.command = shlex.split(command)
        if not self.command:
            raise ValueError("command: expected a program, got nothing")
        self.language = language
        self.name = f"command:{command}"
        self._timeout = timeout

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """One tree for each sentence, whose leaves are exactly the given tokens."""
        words = [tuple(sentence) for sentence in sentences]
        if not words:
            return []
        lines = self._run(
            "".join(" ".join(map(_escaped, sentence)) + "\n" for sentence in words)
        ).splitlines()
        if len(lines) != len(words):
            raise ValueError(f"{self.name}: expected {len(words)} lines of trees, got {len(lines)}")
        return [self._checked(*pair) for pair in zip(range(1, len(words) + 1), words, lines, strict=True)]

    def _run(self, text: str) -> str:
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            try:
                result = subprocess.run(
                    self.command,
                    input=text,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    encoding="utf-8",
                    timeout=self._timeout,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise ValueError(f"{self.name}: took longer than {self._timeout:g} s") from error
            if result.returncode:
                errors.seek(0)
                last = errors.read().strip().splitlines()[-1:] or ["no message"]
                raise ValueError(f"{self.name}: ended with status {result.returncode}: {last[0]}")
        return result.stdout

    def _checked(self, number: int, words: tuple[str, ...], line: str) -> Tree:
        """The tree of a line of output, over just these words."""
        try:
            tree = Tree.from_brackets(line, unary="keep", strip=False)
        except TreeFormatError as error:
            raise ValueError(f"{self.name}: line {number} is no tree: {error}") from error
        for place, (given, found) in enumerate(zip(words, tree.words, strict=False), start=1):
            if given != found:
                raise ValueError(
                    f"{self.name}: line {number}, word {place}: expected {given!r} as given, got {found!r}"
                )
        if len(tree.words) != len(words):
            raise ValueError(
                f"{self.name}: line {number}: expected {len(words)} words, got {len(tree.words)}"
            )
        return tree


def _escaped(word: str) -> str:
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
