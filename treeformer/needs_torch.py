"""Rooms that need torch import this first: without torch its import ends with the name of the extra."""

from treeformer.extras import require

require("torch")
