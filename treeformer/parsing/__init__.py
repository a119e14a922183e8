"""Parsers: text or tokens in, trees out."""

from treeformer.parsing.loading import load_parser, register_parser
from treeformer.parsing.parser import Parser

__all__ = ["Parser", "load_parser", "register_parser"]
