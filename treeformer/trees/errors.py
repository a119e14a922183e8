"""The error of a file that does not hold trees, and quotations in messages."""

from collections.abc import Callable

_LONGEST_QUOTE = 40


class TreeFormatError(ValueError):
    """Text that cannot be read as trees: what was wrong, where, and what was expected.

    ``file`` names the source, ``line`` and ``column`` count from 1, ``problem`` is the message without them.
    """

    def __init__(self, problem: str, *, file: str, line: int, column: int) -> None:
        super().__init__(f"{file}:{line}:{column}: {problem}")
        self.problem = problem
        self.file = file
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.problem, self.file, self.line, self.column)


OnError = Callable[[TreeFormatError], object]


def quoted(value: object) -> str:
    """``value`` as code for a message, shortened."""
    return shortened(repr(value))


def shortened(text: str) -> str:
    """The beginning of ``text``, with ``…`` for the rest."""
    return text if len(text) <= _LONGEST_QUOTE + 2 else text[: _LONGEST_QUOTE + 1] + "…"


def _rebuild(problem: str, file: str, line: int, column: int) -> TreeFormatError:
    """The error, after unpickling."""
    return TreeFormatError(problem, file=file, line=line, column=column)
