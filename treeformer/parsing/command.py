"""An external program as a parser: it reads tokens and writes brackets, one line for each sentence."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Sequence

from treeformer.parsing.parser import Parser, check_timeout, checked_sentences
from treeformer.trees import Tree, TreeFormatError
from treeformer.trees.escapes import encode_word


class CommandParser(Parser):
    """A program that reads lines of tokens separated by spaces and writes one tree for each line.

    The program is started for each batch of sentences. Brackets among the tokens are written as ``-LRB-`` and
    ``-RRB-``, as in files of trees. Its output must have as many lines as its input, and the same words.

    Args:
        command: the program and its arguments, quoted as in a shell; no shell is started.
        language: for the tokenisation of texts.
        timeout: seconds for a batch.
    """

    def __init__(self, command: str, language: str = "en", *, timeout: float = 600.0) -> None:
        try:
            self.command = shlex.split(command)
        except ValueError as error:  # an open quotation mark
            raise ValueError(f"command = {command!r}: {error}") from error
        if not self.command:
            raise ValueError("command: expected a program, got nothing")
        check_timeout(timeout)
        self.language = language
        self.name = f"command:{command}"
        self._timeout = timeout

    def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
        """One tree for each sentence, whose leaves are exactly the given tokens."""
        words = checked_sentences(sentences)
        if not words:
            return []
        output = self._run("".join(" ".join(map(encode_word, sentence)) + "\n" for sentence in words))
        lines = output.removesuffix("\n").split("\n") if output else []
        if len(lines) != len(words):
            raise ValueError(f"{self.command[0]}: expected {len(words)} lines of trees, got {len(lines)}")
        numbers = range(1, len(words) + 1)
        return list(map(self._tree, numbers, words, lines))

    def _run(self, text: str) -> str:
        """The output of the program for this input."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            try:
                result = subprocess.run(
                    self.command,
                    input=text.encode(),
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    timeout=self._timeout,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise ValueError(f"{self.command[0]}: took longer than {self._timeout:g} s") from error
            if result.returncode:
                errors.seek(0)
                last = errors.read().strip().splitlines()[-1:] or ["no message"]
                raise ValueError(f"{self.command[0]}: ended with status {result.returncode}: {last[0]}")
        try:
            return result.stdout.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.command[0]}: expected UTF-8, got {error}") from error

    def _tree(self, number: int, words: tuple[str, ...], line: str) -> Tree:
        """The tree of a line of output; ``ValueError`` unless its leaves are these words."""
        try:
            tree = Tree.from_brackets(line, unary="keep", strip=False)
        except TreeFormatError as error:
            raise ValueError(f"{self.command[0]}: line {number} is no tree: {error}") from error
        line_name = f"{self.command[0]}: line {number}"
        for place, (given, written) in enumerate(zip(words, tree.words, strict=False), start=1):
            if given != written:
                raise ValueError(f"{line_name}, word {place}: expected {given!r} as given, got {written!r}")
        if len(tree.words) != len(words):
            raise ValueError(f"{line_name}: expected {len(words)} words, got {len(tree.words)}")
        return tree
