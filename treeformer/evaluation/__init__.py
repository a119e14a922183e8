"""Evaluation: how good an answer is. To score trees no torch is needed.

>>> from treeformer import Tree
>>> from treeformer.evaluation import score_trees
>>> gold = Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", unary="keep", strip=False)
>>> flat = Tree.from_brackets("(S (DT the) (NN cat) (VP (VBZ sleeps)))", unary="keep", strip=False)
>>> scores = score_trees([gold], [flat]).all
>>> scores.precision, round(scores.recall, 2), scores.f1
(100.0, 66.67, 80.0)
"""

from .brackets import BracketCounts, BracketScores
from .treebank import TreebankScores, score_files, score_trees

__all__ = ["BracketCounts", "BracketScores", "TreebankScores", "score_files", "score_trees"]
