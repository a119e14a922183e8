"""Labels with a meaning for the transforms, and labels without function tags and indices."""

import re

TRACE = "-NONE-"
DOCUMENT = "DOC"

_BARE = re.compile(r".[^-=]*", re.DOTALL)


def bare_label(label: str) -> str:
    """``label`` without function tags and indices: ``NP-SBJ-1`` and ``NP=2`` give ``NP``.

    Labels that begin with a hyphen (``-LRB-``, ``-NONE-``, ``--``) are kept.
    """
    if label.startswith("-"):
        return label
    bare = _BARE.match(label)
    return bare[0] if bare else label
