"""The component of spaCy: trees of sentences, phrases as spans, and what users of benepar expect."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings

from tests.trees.strategies import trees
from treeformer import Tree, load_parser

spacy = pytest.importorskip("spacy")

from spacy.tokens import Doc, DocBin  # noqa: E402

from treeformer.integrations.spacy import from_trees, to_trees, without_root  # noqa: E402

TEXT = "The time for action is now. It's never too late to do something."
TREE = Tree.from_brackets(
    "(S (NP (NP (DT the) (NN cat)) (PP (IN on) (NP (NN mat)))) (VP (VBZ sleeps)))", unary="keep"
)

# The example of benepar's README; only the line of add_pipe is another.
EXAMPLE = """
import spacy
nlp = spacy.blank("en")
nlp.add_pipe("treeformer")
doc = nlp("The time for action is now. It's never too late to do something.")
sent = list(doc.sents)[0]
print(sent._.parse_string)
print(sent._.labels)
print(list(sent._.children)[0])
"""


@pytest.fixture(scope="module")
def nlp() -> spacy.Language:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("treeformer")
    return pipeline


def test_the_example_of_benepar_runs_with_one_line_changed() -> None:
    run = subprocess.run([sys.executable, "-c", EXAMPLE], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == [
        "(S (NP (NP (DT The) (NN time)) (PP (IN for) (NP (NN action)))) (VP (VBZ is) (ADVP (RB now))) (. .))",
        "('S',)",
        "The time for action",
    ], run.stderr


def test_the_trees_are_those_of_the_parser(nlp: spacy.Language) -> None:
    doc = nlp(TEXT)
    sentences = [[token.text for token in sentence] for sentence in doc.sents]
    expected = [without_root(tree) for tree in load_parser("en").parse_tokens(sentences)]
    assert [sentence._.tree for sentence in doc.sents] == to_trees(doc) == expected
    assert [token.tag_ for token in doc] == [tag for tree in expected for tag in tree.tags]
    labelled = [
        (label, span) for tree in expected for label, span in zip(tree.labels, tree.spans, strict=True)
    ]
    assert [span.label_ for span in doc.spans["treeformer"]] == [label for label, _ in labelled]


def test_whitespace_and_merged_tokens_keep_their_places(nlp: spacy.Language) -> None:
    doc = nlp("  The   cat\nsleeps .  \n")
    (sentence,) = [sentence for sentence in doc.sents if sentence.text.strip()]
    (tree,) = to_trees(doc)
    assert tree.words == ("The", "cat", "sleeps", ".")
    assert next(child.text.split() for child in doc[1:-1]._.children) == ["The", "cat"]
    assert sentence.text.split()[-1] == "."
    doc = spacy.blank("en")("New York sleeps.")
    with doc.retokenize() as merger:
        merger.merge(doc[:2])
    doc = nlp.get_pipe("treeformer")(doc)
    assert to_trees(doc)[0].words == ("New_York", "sleeps", ".")
    assert [token.text for token in doc] == ["New York", "sleeps", "."]


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_a_doc_without_words_has_no_trees(nlp: spacy.Language, text: str) -> None:
    assert to_trees(nlp(text)) == []


def test_sentences_that_are_marked_are_used(nlp: spacy.Language) -> None:
    doc = Doc(nlp.vocab, words=["Yes", ".", "No", "."], sent_starts=[True, False, False, False])
    assert [tree.words for tree in to_trees(nlp.get_pipe("treeformer")(doc))] == [("Yes", ".", "No", ".")]


def test_a_stream_gives_the_same_trees(nlp: spacy.Language) -> None:
    texts = [TEXT, "", "The cat sleeps well.", "No!"]
    assert [to_trees(doc) for doc in nlp.pipe(texts, batch_size=3)] == [to_trees(nlp(text)) for text in texts]


def test_trees_survive_saving(nlp: spacy.Language) -> None:
    doc = nlp(TEXT)
    assert to_trees(Doc(nlp.vocab).from_bytes(doc.to_bytes())) == to_trees(doc)
    stored = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (again,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert [sentence._.parse_string for sentence in again.sents] == [s._.parse_string for s in doc.sents]


def test_attributes_of_a_constituent() -> None:
    doc = from_trees([TREE])
    phrase, word = doc[0:4], doc[3:4]
    assert phrase._.labels == ("NP",)
    assert phrase._.parse_string == "(NP (NP (DT the) (NN cat)) (PP (IN on) (NP (NN mat))))"
    assert str(phrase._.tree) == phrase._.parse_string
    assert [child.text for child in phrase._.children] == ["the cat", "on mat"]
    assert [part.text for part in doc[2:4]._.constituents] == ["on mat", "on", "mat"]
    assert (word._.labels, word._.parse_string) == (("NP",), "(NP (NN mat))")
    assert word._.parent == doc[2:4]
    assert (doc[0]._.labels, doc[0]._.parse_string, doc[0]._.parent) == ((), "(DT the)", doc[0:2])
    assert doc[0:5]._.parent is None
    with pytest.raises(ValueError, match="'cat on' is no constituent of the sentence"):
        _ = doc[1:3]._.labels


def test_a_doc_without_trees_says_what_to_add() -> None:
    with pytest.raises(ValueError, match=r'add nlp\.add_pipe\("treeformer"\)'):
        _ = spacy.blank("en")("No trees.")[0:1]._.labels


@given(trees(max_leaves=8))
@settings(max_examples=30)
def test_every_tree_becomes_a_doc_and_comes_back(tree: Tree) -> None:
    doc = from_trees([tree, tree])
    assert to_trees(doc) == [tree, tree]
    for first, size in ((0, len(tree.words)), (len(tree.words), len(tree.words))):
        sentence = doc[first : first + size]
        own = {(span.start - first, span.end - first): span._.labels for span in sentence._.constituents}
        expected: dict[tuple[int, int], tuple[str, ...]] = {(w, w + 1): () for w in range(size)}
        for label, span in zip(tree.labels, tree.spans, strict=True):  # inner nodes first
            expected[span] = (label, *expected.get(span, ()))
        assert own == expected
        for span in sentence._.constituents:
            for child in span._.children:
                assert child._.parent == span
