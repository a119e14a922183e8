"""Dependency trees in CoNLL-U as constituency-like trees.

A word with dependents gives a node over its subtree; a word without gives none. Leaves are the syntactic
words: multiword tokens (``1-2``) and empty nodes (``8.1``) are skipped.

A tree that is not projective is made so first, by lifting (Nivre and Nilsson 2005): the dependent of the
shortest arc over a word outside its head's subtree is attached to the head of its head, until none is left.

A space inside a word becomes a no-break space, and brackets inside a tag or label become ``-LRB-`` and
``-RRB-``, since trees could not be written in brackets otherwise.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

from .errors import OnError, TreeFormatError, quoted
from .files import NumberedLines, TextSource, numbered_lines, source_name
from .projectivity import dependency_order, lifted_heads, subtree_spans
from .shape import post_order
from .tree import Tree

_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")

_RANGE_OR_EMPTY_NODE = re.compile(r"\d+[-.]\d+")
_SENTENCE_COMMENT = re.compile(r"#\s*(sent_id|text)\s*=")

Labels = Literal["deprel", "upos"]
Tags = Literal["upos", "xpos"]


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a sentence: its fields, file and line number."""

    fields: tuple[str, ...]
    file: str
    line: int

    def __getitem__(self, column: str) -> str:
        return self.fields[_COLUMNS.index(column)]

    def error(self, problem: str, column: str) -> TreeFormatError:
        """The error of a problem in one column."""
        before = self.fields[: _COLUMNS.index(column)]
        position = sum(map(len, before)) + len(before) + 1
        return TreeFormatError(f"{column}: {problem}", file=self.file, line=self.line, column=position)


def read_conllu(
    source: TextSource,
    *,
    labels: Labels = "deprel",
    tags: Tags = "upos",
    on_error: OnError | None = None,
) -> Iterator[Tree]:
    """The sentences of a CoNLL-U file or open text stream, each as a tree.

    A node is labelled with the relation of its head (``labels="upos"``: its part of speech), a leaf tagged
    with its universal part of speech (``tags="xpos"``: that of the treebank). A sentence that is no tree or
    has no words raises ``TreeFormatError``; ``on_error``, if given, is called with the error instead.
    """
    if labels not in ("deprel", "upos"):
        raise ValueError(f"labels = {labels!r}: expected 'deprel' or 'upos'")
    if tags not in ("upos", "xpos"):
        raise ValueError(f"tags = {tags!r}: expected 'upos' or 'xpos'")
    return _read_conllu(source, labels, tags, on_error)


def _read_conllu(source: TextSource, labels: Labels, tags: Tags, on_error: OnError | None) -> Iterator[Tree]:
    """The trees of ``source``."""
    file = source_name(source)
    with closing(numbered_lines(source)) as lines:
        for first_line, sentence in _sentences(lines):
            try:
                rows = _word_rows(sentence, file)
                if not rows:
                    problem = "expected words, found a sentence without any"
                    raise TreeFormatError(problem, file=file, line=first_line, column=1)
                tree = _tree(rows, labels, tags)
            except TreeFormatError as error:
                if on_error is None:
                    raise
                on_error(error)
            else:
                yield tree


def _sentences(lines: NumberedLines) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """The number of the first line of each sentence, and its numbered lines without comments.

    A comment with the name or text of a sentence begins one, even if no words follow.
    """
    first_line = 0
    sentence: list[tuple[int, str]] = []
    for number, line in lines:
        text = line.removesuffix("\n")
        if text.startswith("#"):
            if _SENTENCE_COMMENT.match(text):
                first_line = first_line or number
        elif text.strip(" \t"):
            first_line = first_line or number
            sentence.append((number, text))
        elif first_line:
            yield first_line, sentence
            first_line, sentence = 0, []
    if first_line:
        yield first_line, sentence


def _word_rows(sentence: list[tuple[int, str]], file: str) -> list[_Row]:
    """The rows of the syntactic words of a sentence, each checked."""
    rows: list[_Row] = []
    for number, text in sentence:
        row = _Row(tuple(text.split("\t")), file, number)
        if len(row.fields) != len(_COLUMNS):
            problem = f"expected {len(_COLUMNS)} columns separated by tabs, found {len(row.fields)}"
            raise TreeFormatError(problem, file=file, line=number, column=1)
        for column, field in zip(_COLUMNS, row.fields, strict=True):
            if not field.strip(" "):
                raise row.error("expected a value or '_', found nothing", column)
            if column in ("UPOS", "XPOS", "DEPREL") and " " in field:
                raise row.error(f"expected no space, found {quoted(field)}", column)
            if "\r" in field:
                raise row.error("found a carriage return: it may only end a line", column)
        identifier, expected = row["ID"], len(rows) + 1
        if _RANGE_OR_EMPTY_NODE.fullmatch(identifier):
            continue
        if identifier != str(expected):
            problem = f"expected {expected}, a range or an empty node, found {quoted(identifier)}"
            raise row.error(problem, "ID")
        rows.append(row)
    return rows


def _tree(rows: list[_Row], labels: Labels, tags: Tags) -> Tree:
    """The tree of one sentence."""
    heads = _heads(rows)
    spans = subtree_spans(lifted_heads(heads))
    inner = [word for word, (start, end) in enumerate(spans) if end - start > 1 or len(rows) == 1]
    inner.sort(key=lambda word: post_order(spans[word]))
    return Tree(
        words=[row["FORM"].replace(" ", "\u00a0") for row in rows],
        tags=[_without_brackets(row[tags.upper()]) for row in rows],
        labels=[_without_brackets(rows[word][labels.upper()]) for word in inner],
        spans=[spans[word] for word in inner],
    )


def _heads(rows: list[_Row]) -> list[int]:
    """The index of the head of each word, -1 for the root; ``TreeFormatError`` unless they make one tree."""
    heads: list[int] = []
    for row in rows:
        field = row["HEAD"]
        digits = field.lstrip("0") or field[:1]
        is_number = field.isascii() and field.isdecimal() and len(digits) <= len(str(len(rows)))
        if not is_number or int(digits) > len(rows):
            raise row.error(f"expected the number of a word, 0 to {len(rows)}, found {quoted(field)}", "HEAD")
        head = int(digits) - 1
        if head < 0 and -1 in heads:
            raise row.error(f"expected one root, found a second besides word {heads.index(-1) + 1}", "HEAD")
        heads.append(head)
    if -1 not in heads:
        raise rows[0].error("expected one word with head 0, found a sentence without a root", "HEAD")
    reached = set(dependency_order(heads))
    for word, row in enumerate(rows):
        if word not in reached:
            raise row.error("expected a way up to the root, found a cycle of heads", "HEAD")
    return heads


def _without_brackets(label: str) -> str:
    """``label`` with brackets spelled as in bracket files."""
    return label.replace("(", "-LRB-").replace(")", "-RRB-")
