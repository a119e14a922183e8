"""Analysis: the paper's tables and figures, from data to finished page, and what models attend to."""

import treeformer.needs_torch  # noqa: F401
