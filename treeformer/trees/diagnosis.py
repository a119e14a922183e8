"""Why a text is not trees: a slow reader that knows what it expects at every position."""

import re
from dataclasses import dataclass

from .errors import TreeFormatError, quoted

_TOKEN = re.compile(r"[()]|[^ \t\n()]+")


@dataclass(slots=True)
class _Bracket:
    """One open bracket and its content so far."""

    position: int
    label: str = ""
    word: str = ""
    word_position: int = 0
    has_children: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """Text, the name of its file and the number of its first line."""

    text: str
    file: str
    first_line: int

    def error(self, problem: str, position: int) -> TreeFormatError:
        """The error of a problem at ``position`` in the text."""
        line = self.first_line + self.text.count("\n", 0, position)
        column = position - self.text.rfind("\n", 0, position)
        return TreeFormatError(problem, file=self.file, line=line, column=column)


def explain(source: Source) -> TreeFormatError:
    """The first error of a text that is not trees."""
    stack: list[_Bracket] = []
    for match in _TOKEN.finditer(source.text):
        token, position = match[0], match.start()
        if token == "(":
            error = _open(source, stack, position)
        elif token == ")":
            error = _close(source, stack, position)
        else:
            error = _text(source, stack, token, position)
        if error:
            return error
    if not stack:
        return source.error("expected a tree '(LABEL ...)', found no bracket", len(source.text))
    return source.error(
        f"expected {len(stack)} more ')' before the end of the text: the tree that begins here is not closed",
        stack[0].position,
    )


def tree_position(text: str, index: int) -> int:
    """The position of the outermost bracket of tree number ``index`` in a text of trees."""
    depth = 0
    for bracket in re.finditer(r"[()]", text):
        if not depth:
            if not index:
                return bracket.start()
            index -= 1
        depth += 1 if bracket[0] == "(" else -1
    return len(text)


def _open(source: Source, stack: list[_Bracket], position: int) -> TreeFormatError | None:
    """Open a bracket; returns the error if none may open here."""
    if stack:
        top = stack[-1]
        if top.word:
            return _untagged(source, top.word, top.word_position)
        if not top.label and len(stack) > 1:
            if source.text[top.position - 1] == "\n":
                line = source.error("", top.position).line
                return source.error(
                    f"expected a label after '(' on line {line}, or {len(stack) - 1} more ')' before it:"
                    " the tree that begins here is not closed",
                    stack[0].position,
                )
            return source.error(
                "expected a label after '(', found '(': only the outermost bracket may lack one", top.position
            )
        top.has_children = True
    stack.append(_Bracket(position))
    return None


def _close(source: Source, stack: list[_Bracket], position: int) -> TreeFormatError | None:
    """Close a bracket; returns the error if none is open or its content is incomplete."""
    if not stack:
        return source.error("expected '(' or the end of the text, found ')' that closes no bracket", position)
    top = stack.pop()
    if top.word or top.has_children:
        return None
    if not top.label:
        return source.error("expected '(TAG word)' or '(LABEL ...)', found empty brackets", top.position)
    return source.error(
        f"expected a word or a constituent after {quoted(top.label)}, found ')':"
        " a word needs a tag, '(TAG word)'",
        position,
    )


def _text(source: Source, stack: list[_Bracket], token: str, position: int) -> TreeFormatError | None:
    """Add a label or a word; returns the error if neither is expected."""
    if "\r" in token:
        return source.error(
            "found a carriage return inside a word: it may only end a line", position + token.index("\r")
        )
    if not stack:
        return source.error(f"expected '(', found text outside a tree: {quoted(token)}", position)
    top = stack[-1]
    if top.has_children:
        return _untagged(source, token, position)
    if top.word:
        return source.error(
            f"expected ')' after the word {quoted(top.word)}, found a second word {quoted(token)}", position
        )
    if top.label:
        top.word, top.word_position = token, position
    else:
        top.label = token
    return None


def _untagged(source: Source, word: str, position: int) -> TreeFormatError:
    """The error of a word beside constituents."""
    return source.error(f"expected '(TAG word)', found the word {quoted(word)} without a tag", position)
