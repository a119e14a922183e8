"""Labels that mean something to the transforms, and labels without what annotators add to them."""

import re

TRACE = "-NONE-"
DOCUMENT = "DOC"

_BARE = re.compile(r".[^-=]*", re.DOTALL)


def bare_label(label: str) -> str:
    """``label`` without function tags and indices: ``NP-SBJ-1`` and ``NP=2`` give ``NP``.

    Labels that begin with a hyphen (``-LRB-``, ``-NONE-``, ``--``) stay as they are.
    """
    if label.startswith("-"):
        return label
    found = _BARE.match(label)
    return found[0] if found else label
