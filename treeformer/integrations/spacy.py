"""A component for spaCy: ``nlp.add_pipe("treeformer")`` parses the sentences of a ``Doc``.

Sentences and phrases have the attributes that benepar gives them: ``_.parse_string``, ``_.labels``,
``_.constituents``, ``_.parent`` and ``_.children``; and ``_.tree``, a `Tree`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch
from spacy.vocab import Vocab

from treeformer.integrations.constituents import Constituents
from treeformer.parsing import load_parser
from treeformer.parsing.failures import FlatTreeWarning
from treeformer.parsing.line_parser import LineParser, split_tokens
from treeformer.parsing.loading import parser_name
from treeformer.trees import Tree, document

_STORED = "treeformer"  # in Doc.user_data: start, end and brackets of each sentence, which spaCy can save


class TreeformerComponent:
    """Parses the sentences of a ``Doc``. Sentences that are not marked yet end at final punctuation.

    Args:
        parser: an embedded language, ``corenlp:en``, a folder or a registered name; by default the embedded
            parser of the pipeline's language.
        spans_key: ``doc.spans`` gets all phrases with their labels under this key.
    """

    def __init__(self, parser: str, *, spans_key: str = "treeformer") -> None:
        self.spans_key = spans_key
        self._parser = LineParser(lambda: load_parser(parser), tokenized=True, one_per_line=True)

    def __call__(self, doc: Doc) -> Doc:
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], batch_size: int = 32) -> Iterator[Doc]:
        """The parsed docs; the sentences of a batch are parsed together."""
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            self._parse(docs)
            yield from docs

    def _parse(self, docs: list[Doc]) -> None:
        """Parse all sentences of some docs at once."""
        found = [(doc, *bounds) for doc in docs for bounds in _sentences(doc)]
        lines = [" ".join(_words(doc, start, end)) for doc, start, end in found]
        trees: dict[int, list[tuple[int, int, Tree]]] = {id(doc): [] for doc in docs}
        for (doc, start, end), line, parsed in zip(found, lines, self._parser.parse(lines), strict=True):
            for failure in parsed.failures:
                message = f"{failure.sentence:.60}: the parser failed ({failure.reason}), the tree is flat"
                warnings.warn(message, FlatTreeWarning, stacklevel=3)
            if line:
                trees[id(doc)].append((start, end, without_root(parsed.trees[0])))
        for doc in docs:
            set_trees(doc, trees[id(doc)], spans_key=self.spans_key)


@Language.factory("treeformer", default_config={"parser": None, "spans_key": "treeformer"})
def make_component(nlp: Language, name: str, parser: str | None, spans_key: str) -> TreeformerComponent:
    """The component of a pipeline; see `TreeformerComponent`."""
    return TreeformerComponent(parser or parser_name("embedded", nlp.lang or "en"), spans_key=spans_key)


def without_root(tree: Tree) -> Tree:
    """The tree without a root ``ROOT`` over a single constituent."""
    if tree.labels[-1] != "ROOT" or len(tree) < 2 or tree.spans[-2] != tree.spans[-1]:
        return tree
    return Tree(tree.words, tree.tags, tree.labels[:-1], tree.spans[:-1])


def set_trees(doc: Doc, trees: Iterable[tuple[int, int, Tree]], *, spans_key: str = "treeformer") -> None:
    """Attach trees to sentences of a doc: start and end as tokens, and a tree over the tokens with text.

    Sets the starts of sentences and the tags of tokens where the doc has none.
    """
    trees = list(trees)
    starts, tagged = {start for start, _, _ in trees}, doc.has_annotation("TAG")
    if not doc.has_annotation("SENT_START"):
        for token in doc:
            token.is_sent_start = token.i in starts or token.i == 0
    phrases = []
    for start, end, tree in trees:
        places = _places(doc, start, end)
        for place, tag in zip(places, tree.tags, strict=True):
            if not tagged:
                doc[place].tag_ = tag
        for label, (first, last) in zip(tree.labels, tree.spans, strict=True):
            phrases.append(Span(doc, places[first], places[last - 1] + 1, label=label))
    doc.user_data[_STORED] = [[start, end, str(tree)] for start, end, tree in trees]
    doc.spans[spans_key] = phrases


def to_trees(doc: Doc) -> list[Tree]:
    """The trees of the sentences of a parsed doc."""
    return [_read(brackets) for _, _, brackets in _stored(doc)]


def tree_or_text(doc: Doc) -> Tree | str:
    """The tree of a parsed doc, its sentences under one root; the text of a doc without trees."""
    return document(to_trees(doc)) if doc.user_data.get(_STORED) else doc.text


def from_trees(trees: Iterable[Tree], vocab: Vocab | None = None) -> Doc:
    """A doc with the words of trees, a sentence for each tree, and the trees themselves."""
    trees = list(trees)
    doc = Doc(vocab or Vocab(), words=[word for tree in trees for word in tree.words])
    ends = [0]
    for tree in trees:
        ends.append(ends[-1] + len(tree.words))
    set_trees(doc, zip(ends, ends[1:], trees, strict=False))
    return doc


def _sentences(doc: Doc) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, those of the doc if it has any."""
    if doc.has_annotation("SENT_START"):
        yield from ((sentence.start, sentence.end) for sentence in doc.sents)
        return
    tokens = [token for token in doc if not token.is_space]
    start = 0
    for words in split_tokens([token.text for token in tokens]):
        if words:
            first, last = tokens[start], tokens[start + len(words) - 1]
            start += len(words)
            yield first.i, last.i + 1


def _places(doc: Doc, start: int, end: int) -> list[int]:
    """The numbers of the tokens that are words."""
    return [number for number in range(start, end) if not doc[number].is_space]


def _words(doc: Doc, start: int, end: int) -> list[str]:
    """The words of a sentence; one with a space inside, such as a merged name, has ``_`` there."""
    return ["_".join(doc[place].text.split()) for place in _places(doc, start, end)]


def _stored(doc: Doc) -> list[list[Any]]:
    if _STORED not in doc.user_data:
        raise ValueError('this doc has no trees: add nlp.add_pipe("treeformer") to the pipeline')
    return doc.user_data[_STORED]


@lru_cache(maxsize=1024)
def _read(brackets: str) -> Tree:
    return Tree.from_brackets(brackets, unary="keep", strip=False)


def _constituents(span: Span) -> Constituents:
    """The sentence around a span, and the place of the span in it."""
    for start, end, brackets in _stored(span.doc):
        places = _places(span.doc, start, end)
        inside = [number for number, place in enumerate(places) if span.start <= place < span.end]
        if inside and start <= span.start and span.end <= end:
            return Constituents(_read(brackets), (inside[0], inside[-1] + 1), places)
    raise ValueError(f"{span.text!r:.60} is not inside a sentence with a tree")


def _constituents_of(part: Span | Token) -> Constituents:
    return _constituents(part.doc[part.i : part.i + 1] if isinstance(part, Token) else part)


def _spans(part: Span, bounds: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """Spans of words as spans of the doc."""
    places = _constituents(part).places
    return (part.doc[places[start] : places[end - 1] + 1] for start, end in bounds)


def _parent(part: Span | Token) -> Span | None:
    """The span of the smallest constituent around a span or token."""
    span = part.doc[part.i : part.i + 1] if isinstance(part, Token) else part
    bounds = _constituents(span).parent()
    return None if bounds is None else next(_spans(span, [bounds]))


_GETTERS: dict[str, Callable[[Any], Any]] = {
    "labels": lambda part: _constituents_of(part).labels(),
    "parse_string": lambda part: _constituents_of(part).brackets(),
    "parent": _parent,
    "tree": lambda span: _constituents(span).subtree(),
    "constituents": lambda span: _spans(span, _constituents(span).all()),
    "children": lambda span: _spans(span, _constituents(span).children()),
}

for _name, _getter in _GETTERS.items():
    Span.set_extension(_name, getter=_getter, force=True)
    if _name in ("labels", "parse_string", "parent"):
        Token.set_extension(_name, getter=_getter, force=True)
