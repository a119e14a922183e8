"""Tokens and their numbers: whole words, or subwords learnt by byte-pair encoding."""

from __future__ import annotations

START, PAD, END, UNKNOWN = range(4)  #: the numbers of the special tokens
SPECIAL_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
IGNORED = -100  #: what stands where there is nothing to predict
