"""Reading brackets: the fast reader agrees with a slow literal one, and errors name place and reason."""

import io
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.trees import oracle
from tests.trees.strategies import broken_texts, damaged_texts, trees
from treeformer.trees import (
    Tree,
    TreeFormatError,
    collapse,
    join,
    read_tree_lines,
    read_trees,
    strip,
    write_trees,
)


def read(text: str, **options: object) -> list[Tree]:
    """The trees of ``text`` read as a stream."""
    return list(read_trees(io.StringIO(text, newline="\n"), **options))  # type: ignore[arg-type]


@given(
    trees() | trees(max_leaves=2),
    st.sampled_from(["collapse", "keep"]),
    st.booleans(),
    st.sampled_from([1, 30, 1000]),
)
def test_the_reader_agrees_with_the_oracle(tree: Tree, unary: str, bare: bool, width: int) -> None:
    text = f"{tree}\n{tree.pretty(width)} (NN dogs)"
    try:
        wanted = oracle.trees_of(text, unary=unary, strip=bare)
    except oracle.OracleError as error:
        with pytest.raises(TreeFormatError, match=str(error)):
            read(text, unary=unary, strip=bare)
    else:
        assert read(text, unary=unary, strip=bare) == wanted


@given(broken_texts() | damaged_texts(), st.booleans())
@example("(NN dog)\na", False)  # the reader takes a line at a time
def test_the_reader_refuses_what_the_oracle_refuses_and_for_the_same_reason(text: str, bare: bool) -> None:
    try:
        wanted = oracle.trees_of(text, unary="collapse", strip=bare)
    except oracle.OracleError as error:
        with pytest.raises(TreeFormatError, match=str(error)):
            read(text, strip=bare)
    else:
        assert read(text, strip=bare) == wanted


@given(st.lists(trees(max_leaves=5), max_size=4))
def test_reading_with_options_is_reading_all_and_transforming(sample: list[Tree]) -> None:
    words = [tree for tree in sample if set(tree.tags) != {"-NONE-"}]
    text = " ".join(map(str, words))
    assert read(text, unary="keep", strip=False) == words
    assert read(text, unary="keep") == list(map(strip, words))
    assert read(text, strip=False) == list(map(collapse, words))
    assert read(text) == [collapse(strip(tree)) for tree in words]


@given(st.lists(st.lists(trees(max_leaves=3), max_size=3), max_size=4))
def test_lines_keep_their_trees(lines: list[list[Tree]]) -> None:
    stream = io.StringIO("".join(" ".join(map(str, line)) + "\n" for line in lines), newline="\n")
    assert list(read_tree_lines(stream, unary="keep", strip=False)) == lines


@pytest.mark.parametrize(
    ("text", "brackets"),
    [
        ("( (S (NP-SBJ (NNS dogs)) (VP (VBP bark))) )", "(ROOT (S (NP (NNS dogs)) (VP (VBP bark))))"),
        ("((S(NNS dogs)(VBP bark)))", "(ROOT (S (NNS dogs) (VBP bark)))"),
        ("(ROOT\n  (NP\r\n\t(DT a)   (NN dog) )\n)\n", "(ROOT (NP (DT a) (NN dog)))"),
        ("(3 (2 It) (4 (2 8\u00a01\\/2) (3 works)))", "(3 (2 It) (4 (2 8\u00a01\\/2) (3 works)))"),
        ("(NN dogs)", "(NN (NN dogs))"),
        ("( (NN dogs))", "(ROOT (NN dogs))"),
        ("( S (NN dogs) (-LRB- -LRB-))", "(S (NN dogs) (-LRB- -LRB-))"),
    ],
)
def test_styles_of_brackets(text: str, brackets: str) -> None:
    assert str(Tree.from_brackets(text, unary="keep")) == brackets
    assert list(map(str, read(text, unary="keep"))) == [brackets]


def test_no_break_spaces_belong_to_words_and_brackets_are_unescaped() -> None:
    tree = Tree.from_brackets("(X (2 8\u00a01\\/2) (-LRB- -LRB-) (NN a-RRB-) (NN \u2028\x0b\x85))")
    assert tree.words == ("8\u00a01\\/2", "(", "a)", "\u2028\x0b\x85")
    assert tree.tags == ("2", "-LRB-", "NN", "NN")


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("(S (NN dogs)", 1, 1, "expected 1 more ')'"),
        ("(S (NN a))\n\n (S (NP (NN b))", 3, 2, "expected 1 more ')'"),
        ("(S (NN dogs)))", 1, 14, "closes no bracket"),
        ("(S (NN a))\n(S (NN b)) )\n(S (NN c))", 2, 12, "closes no bracket"),
        ("(S (NN dogs) ())", 1, 14, "found empty brackets"),
        ("()", 1, 1, "found empty brackets"),
        ("(S (NP) (NN a))", 1, 7, "expected a word or a constituent after 'NP'"),
        ("(dogs)", 1, 6, "expected a word or a constituent after 'dogs'"),
        ("(S dogs (VP (VB a)))", 1, 4, "the word 'dogs' without a tag"),
        ("(S (DT the)\n   cat)", 2, 4, "the word 'cat' without a tag"),
        ("(NN dogs cats)", 1, 10, "a second word 'cats'"),
        ("(S (NN a)) dogs", 1, 12, "text outside a tree: 'dogs'"),
        ("dogs (S (NN a))", 1, 1, "text outside a tree: 'dogs'"),
        ("(S ((NN a)) (NN b))", 1, 4, "expected a label after '('"),
        ("( ((NN a)))", 1, 3, "expected a label after '('"),
        ("(S (NN a\rb))", 1, 9, "carriage return"),
        ("(S (NN a))\n( (S (-NONE- *)) )", 2, 1, "traces only"),
    ],
)
def test_errors_name_file_line_column_and_what_was_expected(
    text: str, line: int, column: int, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.mrg"
    path.write_bytes(text.encode())
    with pytest.raises(TreeFormatError) as caught:
        list(read_trees(path))
    error = caught.value
    assert (error.file, error.line, error.column) == (str(path), line, column)
    assert problem in error.problem
    assert str(error) == f"{path}:{line}:{column}: {error.problem}"
    assert isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.column) == (str(error), line, column)


def test_a_text_of_another_number_of_trees_is_not_one_tree() -> None:
    with pytest.raises(TreeFormatError, match="<text>:2:2: expected one tree, found a second"):
        Tree.from_brackets("(S (NN a))\n (S (NN b))")
    with pytest.raises(TreeFormatError, match="<text>:1:3: expected a tree"):
        Tree.from_brackets("  ")


def test_text_in_memory_may_end_and_begin_as_files_do() -> None:
    for text in ("\ufeff(S (NN a))", "(S (NN a))\r", "\ufeff(S\r\n (NN a))\r\n"):
        assert Tree.from_brackets(text).words == ("a",)
        assert [tree.words for tree in read(text)] == [("a",)]
        assert [len(line) for line in read_tree_lines(io.StringIO("(S (NN a))\r", newline="\n"))] == [1]
    with pytest.raises(TreeFormatError, match="<text>:1:9: found a carriage return"):
        Tree.from_brackets("(S (NN a\r))")


def test_a_lone_surrogate_is_not_read() -> None:
    text = "(S (NN a))\n(S (NN b\ud800))"
    with pytest.raises(TreeFormatError, match="<stream>:2:9: expected text that UTF-8 can hold"):
        read(text)
    with pytest.raises(TreeFormatError, match="<text>:2:9: expected text that UTF-8 can hold"):
        Tree.from_brackets(text)


@pytest.mark.parametrize(
    "text",
    [
        "(S {0} (X a))",
        "(X {0} {0})",
        "({0})",
        "{0} (X a)",
        "(X a) {0}",
        "(S" + " (-NONE- *)" * 1000 + ")",
    ],
)
def test_messages_quote_only_the_beginning_of_what_they_found(text: str) -> None:
    with pytest.raises(TreeFormatError, match="…") as caught:
        Tree.from_brackets(text.format("w" * 1000))
    assert len(str(caught.value)) < 200


def test_a_tree_must_end_on_its_line_where_lines_count() -> None:
    with pytest.raises(TreeFormatError, match="<stream>:2:1: expected 1 more"):
        list(read_tree_lines(io.StringIO("(S (NN a))\n(S (NN b)\n)\n")))


def test_errors_can_be_collected_and_the_rest_is_read() -> None:
    text = "(S (NN a))\n(S (NUM 10 000))\n\n(S (NN b)) )\n((S (-NONE- *)))\n(S (NN c))\n(S (NN d)"
    errors: list[TreeFormatError] = []
    lines = list(read_tree_lines(io.StringIO(text), on_error=errors.append))
    assert [[tree.words for tree in line] for line in lines] == [[("a",)], [], [], [], [], [("c",)], []]
    assert [error.line for error in errors] == [2, 4, 5, 7]
    errors.clear()
    assert [tree.words for tree in read(text, on_error=errors.append)] == [("a",), ("c",)]
    assert [tree.words for tree in read("(S (NN b)) )\n(S\n(NN e))", on_error=str)] == [("e",)]
    assert [error.line for error in errors] == [2, 4, 5, 7]


PENN = "( (S\n    (NP (NN a))\n    (VP (VB b))) )\n"


@pytest.mark.parametrize(
    ("text", "words", "lines"),
    [
        ("(S (X a))\n(S (X b)\n" + "(S (X c))\n" * 5000, "a" + "c" * 5000, [2]),
        ("(S (X a)\n(S (X b)\n\n(S (X c))\n(S (X d)\n(S (X e)", "c", [1, 2, 5, 6]),
        ("(S\n  (X a)\n(S\n  (X b)\n  (X c))\n(S (X d))\n", "bcd", [1]),
        (PENN + PENN.replace(" )", "") + PENN + PENN, "ababab", [4]),
        (PENN.replace(")) )", ")") + PENN, "ab", [1]),
        ("(S (X a)\n(S (X b))) \n(S (X c))\n", "abc", []),
        ("(S (X a)\n(S (X b) ())\n(S (X c))\n", "c", [1, 2]),
    ],
    ids=["one a line", "several", "pretty", "Penn", "Penn, first", "closed later", "damaged twice"],
)
def test_one_missing_bracket_does_not_cost_the_rest(text: str, words: str, lines: list[int]) -> None:
    errors: list[TreeFormatError] = []
    trees = read(text, on_error=errors.append)
    assert "".join(word for tree in trees for word in tree.words) == words
    assert [error.line for error in errors] == lines
    if lines and "()" not in text:
        with pytest.raises(
            TreeFormatError, match=rf":{lines[0]}:1: .*the tree that begins here is not closed"
        ):
            read(text)


@given(st.lists(trees(max_leaves=5), max_size=5), st.sampled_from([1, 20, 1000]))
def test_good_trees_read_the_same_whether_errors_are_collected_or_not(sample: list[Tree], width: int) -> None:
    text = "".join(tree.pretty(width) + "\n" for tree in sample)
    errors: list[TreeFormatError] = []
    assert read(text, unary="keep", strip=False, on_error=errors.append) == sample
    assert errors == []


def test_what_is_not_closed_is_not_gathered_with_what_follows() -> None:
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for line in ("(S (X a)\n", "(S (X b))\n", "(S (X c))\n"):
            taken += 1
            yield line

    trees = read_trees(lines(), on_error=str)  # type: ignore[arg-type]
    assert next(trees).words == ("b",)
    assert taken == 2


@pytest.mark.parametrize("function", [read_trees, read_tree_lines])
def test_an_unknown_way_to_treat_chains_is_refused_at_once(function: object) -> None:
    with pytest.raises(ValueError, match="unary = 'drop': expected 'collapse' or 'keep'"):
        function(io.StringIO(""), unary="drop")  # type: ignore[operator]
    with pytest.raises(ValueError, match="unary = 'drop'"):
        Tree.from_brackets("(S (NN a))", unary="drop")  # type: ignore[arg-type]


def test_reading_takes_no_more_lines_than_it_needs() -> None:
    def lines() -> object:
        yield "(S (NN a))\n"
        raise AssertionError("read too far")

    assert next(read_trees(lines())).words == ("a",)  # type: ignore[arg-type]


@given(st.lists(trees(max_leaves=4), max_size=4))
def test_written_trees_read_back(sample: list[Tree]) -> None:
    stream = io.StringIO(newline="\n")
    write_trees(sample, stream)
    assert read(stream.getvalue(), unary="keep", strip=False) == sample
    assert stream.getvalue().count("\n") == len(sample)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    tree = Tree.from_brackets("(S (NN é))")

    def failing() -> object:
        yield tree
        raise RuntimeError("parser stopped")

    path = tmp_path / "trees.mrg"
    with pytest.raises(RuntimeError):
        write_trees(failing(), path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    write_trees([tree, tree], path)
    assert list(read_trees(path)) == [tree, tree]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (lambda tree: tree, r"trees: expected trees, got one Tree, .*: put it in a list"),
        (lambda tree: list(tree), r"trees\[0\]: expected trees, got Node Node\("),
        (lambda tree: [tree, str(tree)], r"trees\[1\]: expected trees, got str '\(S"),
    ],
)
def test_what_is_no_tree_is_not_written(
    nodes: Callable[[Tree], Iterable[Tree]], message: str, tmp_path: Path
) -> None:
    tree = Tree.from_brackets("(S (NN a))")
    path = tmp_path / "trees.mrg"
    path.write_text("old")
    with pytest.raises(ValueError, match=message):
        write_trees(nodes(tree), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    stream = io.StringIO()
    with pytest.raises(ValueError, match=message):
        write_trees(nodes(tree), stream)
    assert "Node" not in stream.getvalue()
    with pytest.raises(ValueError, match=message):
        join(nodes(tree))
