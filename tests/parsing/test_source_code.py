"""Source code through tree-sitter: words, nodes, limits, and what is reported."""

from __future__ import annotations

import ast
import re
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator
from io import StringIO
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeformer import Tree, load_parser
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.source_code import CODE_LANGUAGES, CodeParser

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FILES = sorted(path for path in LIBRARY.glob("*.py"))[::5]
PYTHON = CodeParser("python")
WHITE_SPACE = re.compile("[ \t\r\n\f\v]+")
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.text(
    "(){}=:;'\"a_B1 \n", max_size=80
)
EXAMPLES = {
    "python": 'def read_file(path):\n    # all of it\n    return open(path, "r").read()\n',
    "javascript": "function readFile(path) {\n  // all of it\n  return `${path} read`;\n}\n",
    "java": 'class A {\n  /* all of it */\n  String readFile(String path) { return "r" + path; }\n}\n',
}


def text_of(path: Path) -> str:
    with tokenize.open(path) as file:
        return file.read()


def without_spaces(text: str) -> str:
    return WHITE_SPACE.sub("", text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_words_of_library_modules_are_their_text_without_white_space(path: Path) -> None:
    text = text_of(path)
    [[tree]] = PYTHON.parse_texts([text])  # warns of wrong syntax, and a warning would fail the test
    assert "".join(tree.words) == without_spaces(text)
    assert Tree(tree.words, tree.tags, tree.labels, tree.spans) == tree
    assert Tree.from_brackets(str(tree), unary="keep", strip=False) == tree


def outer_tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Python's tokens without those inside of an f-string, of which only Python 3.12 and newer have some."""
    depth = 0
    for token in tokenize.generate_tokens(StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name.endswith("STRING_START"):
            depth += 1
        elif name.endswith("STRING_END"):
            depth -= 1
        if depth == 0:
            yield token


@pytest.mark.parametrize("path", FILES[:6], ids=lambda path: path.name)
def test_every_token_of_pythons_own_tokeniser_begins_and_ends_with_a_word(path: Path) -> None:
    text = text_of(path)
    [tree] = PYTHON.parse([text])
    word_ends = set(accumulate(map(len, tree.words)))
    line_starts = [0]
    for line in text.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(without_spaces(line)))
    for token in outer_tokens(text):
        row, column = token.end
        if token.string.strip():
            place = line_starts[row - 1] + len(without_spaces(token.line.splitlines()[-1][:column]))
            assert place in word_ends, token


@pytest.mark.parametrize("path", FILES[2:8], ids=lambda path: path.name)
def test_functions_are_nodes_over_the_text_that_pythons_own_parser_gives_them(path: Path) -> None:
    text = text_of(path)
    [tree] = PYTHON.parse([text])
    nodes = [
        "".join(tree.words[start:end])
        for label, (start, end) in zip(tree.labels, tree.spans, strict=True)
        if label == "function_definition"
    ]
    functions = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    segments = [without_spaces(ast.get_source_segment(text, function) or "") for function in functions]
    for segment, node in zip(sorted(segments), sorted(nodes), strict=True):
        assert node.startswith(segment)  # a comment at the end may belong to the last block


@pytest.mark.parametrize("language", CODE_LANGUAGES)
def test_names_strings_and_comments_are_split_into_words(language: str) -> None:
    text = EXAMPLES[language]
    [tree] = load_parser(f"code:{language}").parse([text])
    assert "".join(tree.words) == without_spaces(text)
    comment = tree.words.index("all")
    assert tree.words[comment : comment + 3] == ("all", "of", "it")
    assert "comment" in tree.tags[comment]
    name = tree.words.index("read")
    assert tree.words[name + 1] in ("_file", "File")
    assert ("identifier", (name, name + 2)) in zip(tree.labels, tree.spans, strict=True)


@pytest.mark.parametrize("language", CODE_LANGUAGES)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
    | st.text("(){}=:;'\"a_B1 \n", max_size=80)
)
def test_any_text_keeps_its_words(language: str, text: str) -> None:
    [(trees, failures)] = CodeParser(language).try_texts([text])
    assert "".join(word for tree in trees for word in tree.words) == without_spaces(
        text.removeprefix("\ufeff")
    )
    for tree in trees:
        assert Tree(tree.words, tree.tags, tree.labels, tree.spans) == tree
    assert trees or not failures


def test_wrong_syntax_is_reported_with_its_place_and_the_tree_holds_the_rest() -> None:
    text = "def f(x):\n    return x\n\nclass = 3\n"
    with pytest.warns(SyntaxWarning, match=r"text 1: line 4, column \d+: .*class = 3"):
        [[tree]] = PYTHON.parse_texts([text])
    assert "function_definition" in tree.labels
    assert "ERROR" in tree.labels
    [(_, [failure])] = PYTHON.try_texts([text])
    assert failure.sentence == "class = 3"


def test_python_that_does_not_compile_is_reported() -> None:
    for text in ("def f(:\n  pass", "x = (1,", "return return", "'open"):
        with pytest.raises(SyntaxError):
            compile(text, "text", "exec")
        [(_, failures)] = PYTHON.try_texts([text])
        assert failures, text


def test_nodes_below_the_largest_depth_are_left_out_and_their_words_remain() -> None:
    text = "x = " + "(" * 300 + "1" + ")" * 300
    [tree] = PYTHON.parse([text])
    [flat] = CodeParser("python", max_depth=10).parse([text])
    assert tree.words == flat.words
    assert max(tree.depths) == 200
    assert max(flat.depths) == 10
    kept = [node for node in tree if node.depth <= 10]
    assert [(node.label, node.span) for node in kept] == [(node.label, node.span) for node in flat]


def test_a_text_that_is_too_long_is_refused_or_gets_a_flat_tree() -> None:
    parser = CodeParser("python", max_words=5)
    assert parser.parse(["a = b + c"])
    with pytest.raises(ValueError, match="text 2: expected at most 5 words, got 7"):
        parser.parse(["a", "a = b + c + d"])
    [(trees, [failure])] = parser.try_texts(["a = b + c + d"])
    assert trees[0].labels == ("FRAG", "ROOT")
    assert "raise max_words" in failure.reason


def test_line_breaks_of_code_are_kept() -> None:
    lines = LineParser(lambda: PYTHON, one_per_line=True)
    [(trees, failures)] = lines.parse(["if x:\n    y\nz"])
    assert not failures
    assert [str(tree) for tree in trees] == [str(tree) for tree in PYTHON.parse(["if x:\n    y\nz"])]


def test_what_cannot_be_parsed_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match="code:javascript, code:python, got 'code:perl'"):
        load_parser("code:perl")
    with pytest.raises(ValueError, match="expected source code as text, got tokens"):
        PYTHON.parse_tokens([["x"]])
    with pytest.raises(ValueError, match="max_depth = 0"):
        CodeParser("python", max_depth=0)


def test_a_text_without_words_has_no_tree() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert PYTHON.parse_texts(["", " \n\t\n", "\ufeff"]) == [[], [], []]
