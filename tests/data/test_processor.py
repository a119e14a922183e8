"""The processor: the same inputs from texts, trees and files, and trees for whatever words there are."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.data import corpora
from tests.data.corpora import prepared, recipe, sst_files, sst_task, translation_files, translation_task
from tests.trees.strategies import plain_labels, trees, words
from treeformer import TreeBatch, TreeProcessor
from treeformer.data.processor import ProcessorSettings, label_list
from treeformer.data.vocabulary import END, SubwordVocabulary, Vocabulary, WordVocabulary
from treeformer.parsing import Parser
from treeformer.parsing.failures import Failure
from treeformer.trees import Tree, collapse, document, join, read_tree_lines, shuffled_labels, split_words

COUNTS = {"the": 5, "cat": 4, "sleeps": 3, ".": 9}
VOCABULARIES = {
    "words": WordVocabulary.learn(COUNTS, 1),
    "bpe": SubwordVocabulary.learn(COUNTS, 32),
}


def processor(vocabulary: Vocabulary, **more: object) -> TreeProcessor:
    settings: dict[str, object] = {
        "kind": "classification",
        "language": "en",
        "parser": "embedded",
        "trees": "parsed",
        "unary": "collapse",
        "documents": False,
        "binary": False,
        "tokenized": False,
        "labels": label_list(["S", "NP", "VP", "X"]),
        "classes": ("no", "yes"),
        "halves": False,
    }
    return TreeProcessor(vocabulary, ProcessorSettings.model_validate({**settings, **more}))


def trees_read(made: TreeProcessor, inputs: list[str] | list[Tree]) -> list[Tree]:
    """The trees over words that models read of these inputs."""
    return [reading.tree for reading in made.read_all(inputs)]


@given(
    st.lists(trees(node_labels=plain_labels(), leaf_words=words()), min_size=1, max_size=4),
    st.sampled_from(["words", "bpe"]),
    st.sampled_from(["collapse", "keep"]),
    st.sampled_from(["parsed", "balanced", "left", "right", "random"]),
    st.booleans(),
)
def test_inputs_are_trees_over_the_pieces_of_the_words(
    sentences: list[Tree], kind: str, unary: str, control: str, documents: bool
) -> None:
    vocabulary = VOCABULARIES[kind]
    made = processor(vocabulary, unary=unary, trees=control, documents=documents)
    example = made.reading(sentences, exact=True).example
    all_words = [word for tree in sentences for word in tree.words]
    assert example.input_ids.tolist() == [number for word in all_words for number in vocabulary.ids(word)]
    m = len(example.node_ids)
    TreeBatch.from_spans(  # raises if they are no tree
        torch.from_numpy(example.node_spans.copy())[None],
        torch.ones(1, m, dtype=torch.bool),
        torch.tensor([len(example.input_ids)]),
    )
    assert (example.node_ids[-1] == 1) == (len(sentences) > 1 or documents)
    if unary == "collapse" and len(sentences) == 1 and not documents:
        assert len(set(map(tuple, example.node_spans.tolist()))) == m


@given(trees(node_labels=plain_labels()), st.sampled_from(["words", "bpe"]))
def test_reading_collapsed_trees_gives_the_same_as_collapsing_later(tree: Tree, kind: str) -> None:
    made = processor(VOCABULARIES[kind])
    one, two = made.reading([tree]).example, made.reading([collapse(tree)]).example
    assert all(a.tolist() == b.tolist() for a, b in zip(one[:3], two[:3], strict=True))


@given(
    st.lists(trees(node_labels=plain_labels(), leaf_words=words()), min_size=1, max_size=4),
    st.sampled_from(["words", "bpe"]),
    st.sampled_from(["collapse", "keep"]),
    st.booleans(),
)
def test_a_reading_is_what_the_transforms_of_trees_give_step_by_step(
    sentences: list[Tree], kind: str, unary: str, documents: bool
) -> None:
    """The slow twin: split words, collapse, join, as whole trees."""
    vocabulary = VOCABULARIES[kind]
    made = processor(vocabulary, unary=unary, documents=documents)
    reading = made.reading(sentences)

    def collapsed(tree: Tree) -> Tree:
        return collapse(tree) if unary == "collapse" else tree

    def joined(parts: list[Tree]) -> Tree:
        return join(parts) if documents else document(parts)

    shaped = [collapsed(tree) for tree in sentences]
    pieces = [[["x"] * len(vocabulary.ids(word)) for word in tree.words] for tree in shaped]
    split = [collapsed(split_words(*pair)) for pair in zip(shaped, pieces, strict=True)]
    assert reading.tree == joined(shaped)
    assert [tuple(span) for span in reading.example.node_spans.tolist()] == list(joined(split).spans)
    ids = {label: number for number, label in enumerate(made.settings.labels)}
    assert reading.example.node_ids.tolist() == [ids.get(label, 0) for label in joined(split).labels]


@given(
    st.lists(trees(node_labels=plain_labels(), leaf_words=words()), min_size=1, max_size=3),
    st.sampled_from(["words", "bpe"]),
    st.sampled_from(["collapse", "keep"]),
)
def test_parts_and_places_belong_together(sentences: list[Tree], kind: str, unary: str) -> None:
    reading = processor(VOCABULARIES[kind], unary=unary).reading(sentences)
    words, spans = len(reading.tree.words), reading.example.node_spans.tolist()
    starts = reading.piece_starts
    assert len(reading.part_of) == reading.leaves + len(spans)
    assert len(reading.place_of) == words + len(reading.tree)
    for part, place in enumerate(reading.place_of):
        first, last = (part, part + 1) if part < words else reading.tree.spans[part - words]
        covered = [place, place + 1] if place < reading.leaves else spans[place - reading.leaves]
        assert covered == [starts[first], starts[last]]
    targets = {(word, word + 1): word for word in range(words)} | {(0, words): 99}
    example = reading.with_targets(targets)
    assert example.node_targets is not None
    assert example.node_targets[-1] == targets[0, words]


def test_shuffled_labels_are_shuffled_once() -> None:
    tree = Tree.from_brackets("(S (NP (DT the) (NN cat)) (VP (VB sleeps) (X (. .) (. .))))")
    made = processor(VOCABULARIES["words"], trees="shuffled")
    (reading,) = made.read([tree])
    assert reading is not None
    assert reading.tree == shuffled_labels(tree, zlib.crc32(b"the cat sleeps . ."))


def test_what_the_parser_failed_on_is_part_of_the_reading() -> None:
    class Failing(Parser):
        language, name = "en", "failing"

        def parse_tokens(self, sentences: Iterable[Sequence[str]]) -> list[Tree]:
            given = list(sentences)
            if any("cat" in sentence for sentence in given):
                raise ValueError("no cats")
            return [Tree(list(words), ["X"] * len(words), ["S"], [(0, len(words))]) for words in given]

    made = processor(VOCABULARIES["words"])
    made.parser = Failing()
    good, bad, nothing = made.read(["The dog sleeps.", "The cat sleeps.", " "])
    assert good is not None
    assert bad is not None
    assert nothing is None
    assert good.failures == ()
    assert bad.failures == (Failure("The cat sleeps .", "no cats"),)


def test_a_split_word_alone_has_one_node_its_tag() -> None:
    made = processor(VOCABULARIES["bpe"])
    example = made.reading([Tree.from_brackets("(S (NP (X catsleeps)))")]).example
    assert len(example.input_ids) > 1
    assert [made.settings.labels[number] for number in example.node_ids] == ["X"]


def test_unknown_labels_and_tags_are_the_first_label() -> None:
    example = processor(VOCABULARIES["words"]).reading([Tree.from_brackets("(QP (NN cat) (NN cat))")]).example
    assert example.node_ids.tolist() == [0]


@pytest.fixture(scope="module")
def sentiment(tmp_path_factory: pytest.TempPathFactory) -> TreeProcessor:
    folder = tmp_path_factory.mktemp("sst")
    return prepared(recipe(sst_task()), sst_files(folder / "data"), folder / "out").processor


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> TreeProcessor:
    folder = tmp_path_factory.mktemp("mt")
    made = recipe(translation_task(), vocabulary={"kind": "bpe", "size": 96})
    return prepared(made, translation_files(folder / "data"), folder / "out").processor


def equal(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def test_texts_and_the_trees_made_of_them_give_the_same_inputs(
    sentiment: TreeProcessor, translator: TreeProcessor
) -> None:
    texts = ["The cat loves the film.", "Splendid", "The dog howls. The cat purrs and the old dog loves it!"]
    for made in (sentiment, translator):
        parsed = trees_read(made, texts)
        assert equal(made(texts), made(parsed))
        assert trees_read(made, parsed) == parsed
        assert parsed[2].labels[-1] == "DOC"


def test_text_becomes_binary_trees_where_training_had_binary_trees(sentiment: TreeProcessor) -> None:
    (tree,) = trees_read(sentiment, ["The old black cat loves the film."])
    assert len(tree) == len(tree.words) - 1


def test_both_kinds_of_models_read_the_same_words(translator: TreeProcessor) -> None:
    texts = corpora.ENGLISH
    tree_inputs, word_inputs = translator(texts), translator(texts, reads="words")
    assert word_inputs.keys() == {"input_ids", "attention_mask"}
    for row in range(len(texts)):
        leaves = tree_inputs["input_ids"][row][tree_inputs["attention_mask"][row].bool()].tolist()
        plain = word_inputs["input_ids"][row][word_inputs["attention_mask"][row].bool()].tolist()
        assert plain == [*leaves, END]


def test_classifiers_of_words_read_no_end(sentiment: TreeProcessor) -> None:
    batch = sentiment(["The cat purrs."], reads="words")
    assert sentiment.words(batch["input_ids"][0].tolist()) == ["The", "cat", "purrs", "."]
    assert batch["input_ids"].shape == (1, 4)


def test_inputs_of_the_processor_are_those_of_the_prepared_corpus(tmp_path: Path) -> None:
    data = translation_files(tmp_path / "data")
    corpus = prepared(recipe(translation_task()), data, tmp_path / "out")
    for index, sentences in enumerate(read_tree_lines(data / "train.trees")):
        batch = corpus.processor([document(sentences)])
        example = corpus["test"][index]
        assert batch["input_ids"][0].tolist() == example.input_ids.tolist()
        assert batch["node_ids"][0].tolist() == example.node_ids.tolist()
        assert batch["node_spans"][0].tolist() == example.node_spans.tolist()


def test_a_saved_processor_does_the_same(tmp_path: Path, sentiment: TreeProcessor) -> None:
    sentiment.save_pretrained(tmp_path)
    again = TreeProcessor.from_pretrained(tmp_path)
    assert again.settings == sentiment.settings
    assert equal(again(["The cat howls."]), sentiment(["The cat howls."]))
    with pytest.raises(ValueError, match=r"no processor\.json there"):
        TreeProcessor.from_pretrained(tmp_path / "other")
    (tmp_path / "checksums.json").unlink()
    (tmp_path / "processor.json").write_text("{}")
    with pytest.raises(ValueError, match=r"processor\.json: kind: field required"):
        TreeProcessor.from_pretrained(tmp_path)


def test_inputs_that_are_none_are_refused(sentiment: TreeProcessor) -> None:
    with pytest.raises(ValueError, match="expected a list of texts or trees, got one str"):
        sentiment("The cat")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected words in every text, got none in text 2"):
        sentiment(["The cat", " "])
    with pytest.raises(ValueError, match="at least one text or tree"):
        sentiment([])
