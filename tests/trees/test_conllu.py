"""CoNLL-U: a head and its dependents make a node, crossing arcs are lifted, errors name the column."""

import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeformer.trees import Tree, TreeFormatError, read_conllu
from treeformer.trees.projectivity import lifted_heads, subtree_sizes, subtree_spans


def rows(heads: list[int], deprels: list[str] | None = None) -> str:
    """A sentence of words w1, w2 … with these heads."""
    relations = deprels or ["r"] * len(heads)
    return "".join(
        f"{number}\tw{number}\t_\tU{number}\tX{number}\t_\t{head}\t{relation}\t_\t_\n"
        for number, (head, relation) in enumerate(zip(heads, relations, strict=True), start=1)
    )


def read(text: str, **options: str) -> list[Tree]:
    """The trees of a CoNLL-U text."""
    return list(read_conllu(io.StringIO(text), **options))  # type: ignore[arg-type]


@st.composite
def head_lists(draw: st.DrawFn) -> list[int]:
    """Heads (-1 for the root) of a random dependency tree, projective or not."""
    order = draw(st.permutations(range(draw(st.integers(1, 12)))))
    heads = [-1] * len(order)
    for place, word in enumerate(order[1:], start=1):
        heads[word] = order[draw(st.integers(0, place - 1))]
    return heads


def subtree(heads: list[int], top: int) -> set[int]:
    """The words at or below ``top``."""
    words = set()
    for word in range(len(heads)):
        above = word
        while above >= 0 and above != top:
            above = heads[above]
        if above == top:
            words.add(word)
    return words


def literally_lifted(heads: list[int]) -> list[int]:
    """Nivre and Nilsson's lifting, word for word."""
    heads = list(heads)
    while True:
        crossing = [
            (abs(word - head), word)
            for word, head in enumerate(heads)
            if head >= 0 and not set(range(min(word, head) + 1, max(word, head))) <= subtree(heads, head)
        ]
        if not crossing:
            return heads
        _, word = min(crossing)
        heads[word] = heads[heads[word]]


@given(head_lists())
def test_every_dependency_tree_becomes_a_tree_of_its_lifted_subtrees(heads: list[int]) -> None:
    (tree,) = read(rows([head + 1 for head in heads]), labels="upos")
    lifted = literally_lifted(heads)
    wanted = set()
    for word in range(len(heads)):
        below = subtree(lifted, word)
        assert len(below) == max(below) - min(below) + 1
        if len(below) > 1 or len(heads) == 1:
            wanted.add((f"U{word + 1}", (min(below), max(below) + 1)))
    assert {(node.label, node.span) for node in tree} == wanted
    assert len(tree) == len(wanted)


@given(head_lists())
def test_lifting_moves_words_up_only_where_it_must(heads: list[int]) -> None:
    lifted = lifted_heads(heads)
    assert lifted == literally_lifted(heads)
    spans, sizes = subtree_spans(heads), subtree_sizes(heads)
    assert sizes == [len(subtree(heads, word)) for word in range(len(heads))]
    assert spans == [(min(subtree(heads, w)), max(subtree(heads, w)) + 1) for w in range(len(heads))]
    if all(end - start == size for (start, end), size in zip(spans, sizes, strict=True)):
        assert lifted == heads


def test_labels_and_tags_come_from_the_columns_asked_for() -> None:
    text = "# text = x\n" + rows([2, 0, 2], ["det", "root", "obj"])
    assert list(map(str, read(text))) == ["(root (U1 w1) (U2 w2) (U3 w3))"]
    assert list(map(str, read(text, labels="upos", tags="xpos"))) == ["(U2 (X1 w1) (X2 w2) (X3 w3))"]
    assert list(map(str, read(rows([0], ["root"])))) == ["(root (U1 w1))"]


def test_leaves_are_the_syntactic_words() -> None:
    text = (
        "1-2\tau\t_\t_\t_\t_\t_\t_\t_\t_\n1\tà\t_\tADP\t_\t_\t3\tcase\t_\t_\n2\tle\t_\tDET\t_\t_\t3\tdet\t_\t_\n"
        "3\tbord\t_\tNOUN\t_\t_\t0\troot\t_\t_\n3.1\tx\t_\tVERB\t_\t_\t_\t_\t3:dep\t_\r\n\n\n"
        "1\t10 000\t_\tNUM\t(\t_\t0\troot\t_\t_"
    )
    assert [tree.words for tree in read(text)] == [("à", "le", "bord"), ("10\u00a0000",)]
    assert read(text, tags="xpos")[1].tags == ("-LRB-",)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("1\ta\n", "1:1", "expected 10 columns separated by tabs, found 2"),
        (
            rows([0]) + "\n" + rows([2, 3, 0]).replace("\t3\t", "\t9\t"),
            "4:16",
            "HEAD: expected the number of a word",
        ),
        (
            rows([0, 1]).replace("\t1\tr", "\t-1\tr"),
            "2:16",
            "HEAD: expected the number of a word, 0 to 2, found '-1'",
        ),
        (rows([0, 1]).replace("\t1\tr", "\t_\tr"), "2:16", "HEAD: expected the number of a word"),
        (
            rows([0, 1]).replace("\t1\tr", f"\t{'9' * 5000}\tr"),
            "2:16",
            "HEAD: expected the number of a word, 0 to 2, found '9999999999999999999999999999999999999999…",
        ),
        (rows([0]).replace("w1", " "), "1:3", "FORM: expected a value or '_', found nothing"),
        (rows([0, 0]), "2:16", "HEAD: expected one root, found a second besides word 1"),
        (rows([2, 1]), "1:16", "HEAD: expected one word with head 0"),
        (rows([0, 3, 2]), "2:16", "HEAD: expected a way up to the root, found a cycle"),
        (rows([0, 2]), "2:16", "found a cycle"),
        (rows([0]).replace("1\tw", "2\tw"), "1:1", "ID: expected 1, a range or an empty node, found '2'"),
        (rows([0]).replace("1\tw", "x\tw"), "1:1", "ID: expected 1"),
        (rows([0]).replace("w1", ""), "1:3", "FORM: expected a value or '_', found nothing"),
        (rows([0]).replace("U1", "A B"), "1:8", "UPOS: expected no space, found 'A B'"),
        (rows([0]).replace("w1", "a\rb"), "1:3", "FORM: found a carriage return"),
    ],
)
def test_errors_name_line_column_and_field(text: str, place: str, message: str) -> None:
    with pytest.raises(TreeFormatError) as caught:
        list(read_conllu(io.StringIO(text, newline="\n")))
    assert str(caught.value).startswith(f"<stream>:{place}: ")
    assert message in str(caught.value)


def test_a_no_break_space_is_a_word_and_zeros_may_lead_a_number() -> None:
    (tree,) = read(rows([0, 1]).replace("w1", "\u00a0").replace("\t1\tr", f"\t{'0' * 5000}1\tr"))
    assert tree.words == ("\u00a0", "w2")


def test_errors_can_be_collected_and_the_other_sentences_are_read() -> None:
    bad = [rows([0, 0]), "1\ta\n", rows([2, 1]) + "x\n"]
    text = "\n".join([rows([0]), *bad, "1-2" + rows([0])[1:], rows([2, 0])])
    errors: list[TreeFormatError] = []
    trees = list(read_conllu(io.StringIO(text), on_error=errors.append))
    assert [len(tree.words) for tree in trees] == [1, 2]
    assert [error.line for error in errors] == [4, 6, 10, 12]
    with pytest.raises(TreeFormatError, match="<stream>:4:"):
        read(text)


def test_lifting_up_a_long_chain_is_fast() -> None:
    size = 2000
    heads = [size - 1, -1, *range(1, size - 1)]
    start = time.process_time()
    assert lifted_heads(heads) == [1, -1, *range(1, size - 1)]
    assert time.process_time() - start < 0.5


def test_options_that_do_not_exist_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="labels = 'lemma': expected 'deprel' or 'upos'"):
        read_conllu(io.StringIO(""), labels="lemma")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tags = 'deprel': expected 'upos' or 'xpos'"):
        read_conllu(io.StringIO(""), tags="deprel")  # type: ignore[arg-type]


def test_a_chain_of_ten_thousand_heads() -> None:
    size = 10_000
    text = "".join(f"{n}\tw\t_\tX\t_\t_\t{n - 1}\tr\t_\t_\n" for n in range(1, size + 1))
    (tree,) = read(text)
    assert tree.leaf_depths[-1] == size - 1


@pytest.mark.parametrize(
    "sentence",
    [
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n",
        "1.1\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n",
        "# sent_id = 2\n# text = so\n",
    ],
)
def test_a_sentence_without_words_is_not_dropped_in_silence(sentence: str) -> None:
    text = f"# licence: free\n\n{rows([0])}\n{sentence}\n{rows([0])}"
    with pytest.raises(TreeFormatError, match=r":5:1: expected words, found a sentence without any"):
        list(read_conllu(io.StringIO(text)))
    errors: list[TreeFormatError] = []
    assert len(list(read_conllu(io.StringIO(text), on_error=errors.append))) == 2
    assert [error.line for error in errors] == [5]
