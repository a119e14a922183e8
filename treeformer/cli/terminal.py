"""What commands do differently when a person reads or types."""

from __future__ import annotations

import shutil
import sys


def terminal_width() -> int | None:
    """The columns of the terminal that shows standard output; None if it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def hint_about_input(content: str) -> None:
    """Report on standard error that a command waits for ``content`` to be typed, if it does."""
    if sys.stdin.isatty():
        print(f"treeformer: reading {content} from the keyboard; Ctrl-D ends, Ctrl-C stops", file=sys.stderr)
