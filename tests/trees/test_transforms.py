"""Transforms: what each promises, on random trees, and the table of rules row by row."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.trees import oracle
from tests.trees.strategies import plain_labels, trees, words
from treeformer.trees import (
    Tree,
    binarise,
    collapse,
    join,
    merge_words,
    sentences,
    split_words,
    strip,
    unbinarise,
)
from treeformer.trees.labels import bare_label


def kept(text: str) -> Tree:
    """The tree of ``text``, all of it."""
    return Tree.from_brackets(text, unary="keep", strip=False)


def checked(tree: Tree) -> Tree:
    """The tree again, through the constructor that looks at everything."""
    return Tree(tree.words, tree.tags, tree.labels, tree.spans)


def nested(tree: Tree) -> oracle.Nested:
    """The tree as the oracle reads it, words spelled as in files."""
    (nested,) = oracle.Oracle(str(tree)).read()
    return nested


# The rules, in the order of the specification's table.


@pytest.mark.parametrize(
    ("text", "brackets"),
    [
        ("(ROOT (S (NP (DT a) (NN b)) (VP (VB c))))", "(S (NP (DT a) (NN b)) (VB c))"),
        ("(S (VP (TO to) (PP (S (ADJP (VB a) (NN b))))))", "(VP (TO to) (ADJP (VB a) (NN b)))"),
    ],
)
def test_unary_chains_collapse_to_their_lowest_label_and_can_be_kept(text: str, brackets: str) -> None:
    assert str(Tree.from_brackets(text)) == brackets
    assert str(Tree.from_brackets(text, unary="keep")) == text


def test_a_chain_that_ends_in_a_preterminal_makes_no_node() -> None:
    assert Tree.from_brackets("(S (NP (NN dogs)) (VP (VP (VBP bark))))").labels == ("S",)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("(ROOT (NP (NN dogs)))", "NP"),
        ("(ROOT (NN dogs))", "ROOT"),
        ("(NN dogs)", "NN"),
        ("( (NN dogs))", "ROOT"),
    ],
)
def test_a_sentence_of_one_word_has_one_node(text: str, label: str) -> None:
    tree = Tree.from_brackets(text)
    assert (tree.labels, tree.spans, tree.tags) == ((label,), ((0, 1),), ("NN",))


def test_a_split_sentence_of_one_word_has_one_node_its_tag() -> None:
    for text in ("(ROOT (NP (NN dogs)))", "(NN dogs)"):
        for tree in (kept(text), Tree.from_brackets(text)):
            assert str(collapse(split_words(tree, [["dog", "s"]]))) == "(NN (NN dog) (NN s))"


def test_a_split_word_makes_a_node_and_a_whole_word_none() -> None:
    tree = Tree.from_brackets("(S (NP (DT the) (NNS cats)) (VP (VBP sleep)))")
    assert (
        str(split_words(tree, [["the"], ["c", "at", "s"], ["sl", "eep"]]))
        == "(S (NP (DT the) (NNS (NNS c) (NNS at) (NNS s))) (VBP (VBP sl) (VBP eep)))"
    )


def test_several_sentences_stand_under_a_root_that_is_never_collapsed() -> None:
    first, second = Tree.from_brackets("(NP (NNS dogs))"), Tree.from_brackets("(S (PRP I) (VBP bark))")
    assert str(join([first, second])) == "(DOC (NP (NNS dogs)) (S (PRP I) (VBP bark)))"
    for sample in ([first], [second], [first, second], [first, first]):
        assert collapse(join(sample)) == join(sample)
    assert str(collapse(kept("(DOC (ROOT (NP (NN a))) (ROOT (S (NP (NN b)) (VB c))))"))) == (
        "(DOC (NP (NN a)) (S (NN b) (VB c)))"
    )
    assert str(collapse(kept("(DOC (NN a))"))) == "(DOC (NN a))"
    assert str(Tree.from_brackets("(DOC (ROOT (NP (NN a))))")) == "(DOC (NP (NN a)))"
    assert str(Tree.from_brackets("(S (DOC (NN a) (NN b)))")) == "(DOC (NN a) (NN b))"
    assert str(Tree.from_brackets("(S (DOC (NP (NN a))) (NN b))")) == "(S (NN a) (NN b))"


@pytest.mark.parametrize("above", ["(DOC {})", "(ROOT (DOC {}))", "(TOP (ROOT (DOC {})))"])
def test_a_document_below_a_chain_is_a_document(above: str) -> None:
    for inside, brackets in [
        ("(NP (X a)) (S (X b) (X c))", "(DOC (NP (X a)) (S (X b) (X c)))"),
        ("(ROOT (S (X a) (X b)))", "(DOC (S (X a) (X b)))"),
        ("(ROOT (NP (X a)))", "(DOC (NP (X a)))"),
        ("(X a)", "(DOC (X a))"),
    ]:
        tree = kept(above.format(inside))
        assert str(collapse(tree)) == brackets
        assert str(Tree.from_brackets(above.format(inside))) == brackets
        assert collapse(collapse(tree)) == collapse(tree)


@pytest.mark.parametrize(
    ("label", "bare"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("NP-SBJ=2", "NP"),
        ("@NP-TMP", "@NP"),
        ("CLS-SUJ", "CLS"),
        ("-LRB-", "-LRB-"),
        ("-RRB-", "-RRB-"),
        ("-NONE-", "-NONE-"),
        ("--", "--"),
        ("-", "-"),
        ("=", "="),
        ("PRT|ADVP", "PRT|ADVP"),
        ("@S", "@S"),
        ("3", "3"),
        ("PRP$", "PRP$"),
        ("nsubj:pass", "nsubj:pass"),
    ],
)
def test_function_tags_and_indices_are_stripped_and_nothing_else(label: str, bare: str) -> None:
    assert bare_label(label) == bare
    tree = strip(Tree(["a"], [label if label != "-NONE-" else "X"], [label], [(0, 1)]))
    assert tree.labels == (bare,)
    assert tree.tags == (bare if label != "-NONE-" else "X",)


def test_traces_go_with_what_becomes_empty_and_can_be_kept() -> None:
    text = "(S (NP-SBJ (-NONE- *)) (VP-1 (VB go) (ADVP (NP (-NONE- *T*-1)) (RB home))) (-NONE- 0))"
    assert str(Tree.from_brackets(text, unary="keep")) == "(S (VP (VB go) (ADVP (RB home))))"
    assert str(Tree.from_brackets(text)) == "(VP (VB go) (RB home))"
    assert str(kept(text)) == text
    with pytest.raises(ValueError, match="traces only: \\(S \\(-NONE- x\\)\\)"):
        strip(kept("(S (-NONE- x))"))


def test_the_order_of_the_steps_is_strip_split_collapse_join() -> None:
    text = "(ROOT (S (NP-SBJ (-NONE- *)) (VP (VB go))))"
    pieces = [["g", "o"]]
    done = join([collapse(split_words(strip(kept(text)), pieces))])
    assert str(done) == "(DOC (VB (VB g) (VB o)))"
    assert collapse(done) == done


# What holds on every tree.


@given(trees(max_leaves=8) | trees(max_leaves=2))
def test_collapsing_agrees_with_recursion(tree: Tree) -> None:
    assert nested(checked(collapse(tree))) == oracle.collapsed(nested(tree))


@given(trees() | trees(max_leaves=2))
def test_collapsing_leaves_no_chain_and_is_done_once(tree: Tree) -> None:
    done = collapse(tree)
    assert collapse(done) == done
    inner = done.spans[:-1] if done.labels[-1] == "DOC" else done.spans
    assert len(set(inner)) == len(inner)
    assert (done.words, done.tags) == (tree.words, tree.tags)
    if "DOC" not in tree.labels:
        one_word = len(tree.words) == 1
        assert set(done.spans) == {span for span in tree.spans if one_word or span[1] - span[0] > 1}


@given(trees())
def test_stripping_is_done_once_and_leaves_only_words(tree: Tree) -> None:
    if set(tree.tags) == {"-NONE-"}:
        return
    done = checked(strip(tree))
    assert strip(done) == done
    assert "-NONE-" not in done.tags
    assert done.words == tuple(w for w, tag in zip(tree.words, tree.tags, strict=True) if tag != "-NONE-")


@given(trees(node_labels=plain_labels()), st.sampled_from(["right", "left"]))
def test_binarising_leaves_at_most_two_children_and_can_be_undone(tree: Tree, factor: str) -> None:
    done = checked(binarise(tree, factor))  # type: ignore[arg-type]
    parts = [0] * len(done)
    for parent in (*done.parents[:-1], *done.leaf_parents):
        parts[parent] += 1
    assert max(parts) <= 2
    assert unbinarise(done) == tree
    assert binarise(done, factor) == done  # type: ignore[arg-type]


@given(trees())
def test_unbinarising_leaves_no_new_label_but_a_roots(tree: Tree) -> None:
    done = checked(unbinarise(tree))
    assert not any(label.startswith("@") for label in done.labels[:-1])
    assert done.labels[-1] == tree.labels[-1]


def test_binarising_names_new_nodes_after_their_parent() -> None:
    tree = kept("(NP (DT a) (@NP (X b) (X c) (X d)) (NN e) (NN f))")
    assert str(binarise(tree)) == "(NP (DT a) (@NP (@NP (X b) (@NP (X c) (X d))) (@NP (NN e) (NN f))))"
    assert (
        str(binarise(tree, "left")) == "(NP (@NP (@NP (DT a) (@NP (@NP (X b) (X c)) (X d))) (NN e)) (NN f))"
    )
    with pytest.raises(ValueError, match="factor = 'middle': expected 'right' or 'left'"):
        binarise(tree, "middle")  # type: ignore[arg-type]


@given(st.lists(trees(max_leaves=4), min_size=1, max_size=4), st.sampled_from(["DOC", "TOP"]))
def test_joined_trees_come_apart_again(sample: list[Tree], label: str) -> None:
    joined = checked(join(sample, label))
    assert joined.words == sum((tree.words for tree in sample), ())
    assert joined.labels[-1] == label
    assert len(joined) == sum(map(len, sample)) + 1
    assert sentences(joined, label) == tuple(sample)


@given(trees())
def test_the_sentences_of_any_tree_hold_its_words(tree: Tree) -> None:
    parts = sentences(tree)
    assert sum((checked(part).words for part in parts), ()) == tree.words
    if tree.labels[-1] != "DOC":
        assert parts == (tree,)


def test_a_word_right_under_the_document_is_a_sentence() -> None:
    assert list(map(str, sentences(kept("(DOC (UH oh) (S (NN a) (VB b)) (. .))")))) == [
        "(UH (UH oh))",
        "(S (NN a) (VB b))",
        "(. (. .))",
    ]


def test_joining_nothing_or_under_a_bad_label_is_refused() -> None:
    with pytest.raises(ValueError, match="trees: expected at least one tree"):
        join([])
    with pytest.raises(ValueError, match="label"):
        join([kept("(NN a)")], label="D C")


@given(trees(max_leaves=6), st.data())
def test_split_words_keep_their_nodes_and_add_one_each(tree: Tree, data: st.DataObject) -> None:
    count = len(tree.words)
    pieces = data.draw(st.lists(st.lists(words(), min_size=1, max_size=3), min_size=count, max_size=count))
    done = checked(split_words(tree, pieces))
    assert done.words == tuple(piece for parts in pieces for piece in parts)
    assert done.tags == tuple(tag for tag, parts in zip(tree.tags, pieces, strict=True) for _ in parts)
    starts = [sum(map(len, pieces[:word])) for word in range(count + 1)]
    old = [(label, (starts[a], starts[b])) for label, (a, b) in zip(tree.labels, tree.spans, strict=True)]
    new = [(tree.tags[w], (starts[w], starts[w + 1])) for w in range(count) if len(pieces[w]) > 1]
    assert sorted(zip(done.labels, done.spans, strict=True)) == sorted(old + new)
    for word in range(count):
        if len(pieces[word]) > 1:
            lowest = {done.leaf_parents[piece] for piece in range(starts[word], starts[word + 1])}
            assert [done.labels[node] for node in lowest] == [tree.tags[word]]


def test_pieces_may_come_from_generators() -> None:
    tree = kept("(S (X a) (X b))")
    assert split_words(tree, (iter(parts) for parts in ["a", "bc"])) == split_words(tree, [["a"], ["b", "c"]])


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([["a"]], "pieces: expected one sequence for each of 2 words, got 1"),
        ([["a"], []], r"pieces\[1\] is empty: expected the pieces of 'b'"),
        ([["a"], "b"], r"pieces\[1\]: expected a sequence of strings, got the string 'b'"),
        ([["a"], ["b", ""]], r"pieces\[1\]\[1\] is empty"),
        ([["a"], ["b c"]], r"pieces\[1\]\[0\] = 'b c' holds the separator"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(pieces: list[list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split_words(kept("(S (X a) (X b))"), pieces)


@given(trees(), st.data())
def test_merged_words_stand_under_the_lowest_node_over_both(tree: Tree, data: st.DataObject) -> None:
    assume(len(tree.words) > 1)
    first = data.draw(st.integers(0, len(tree.words) - 2))
    merged = merge_words(tree, {first: "both"})
    assert merged.words == (*tree.words[:first], "both", *tree.words[first + 2 :])
    assert merged.tags == (*tree.tags[: first + 1], *tree.tags[first + 2 :])
    wanted = []
    for label, (start, end) in zip(tree.labels, tree.spans, strict=True):
        held = set(range(start, end))
        if not {first, first + 1} <= held:
            held -= {first, first + 1}  # it held one of the two: the word goes higher
        leaves = sorted({leaf - (leaf > first) for leaf in held})
        if leaves:
            wanted.append((label, (leaves[0], leaves[-1] + 1)))
    assert sorted(zip(merged.labels, merged.spans, strict=True)) == sorted(wanted)


@pytest.mark.parametrize("merged", [{-1: "x"}, {1: "x"}, {0: "x", 1: "y"}, {0: ""}])
def test_words_that_cannot_be_merged_are_refused(merged: dict[int, str]) -> None:
    with pytest.raises(ValueError, match="merged"):
        merge_words(Tree.from_brackets("(NP (DT the) (NN cat))"), merged)


def test_binarise_cuts_nodes_of_some_labels_the_other_way() -> None:
    tree = Tree.from_brackets("(S (A a) (VP (B b) (C c) (D d)) (E e))")
    assert str(binarise(tree, left={"VP"})) == "(S (A a) (@S (VP (@VP (B b) (C c)) (D d)) (E e)))"
