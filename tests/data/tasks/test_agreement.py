"""Agreement: what a model reads knows nothing of the verb."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data import corpora
from tests.data.corpora import (
    agreement_task,
    inputs,
    node_labels,
    prepared,
    recipe,
    words,
    write,
)


def files(folder: Path, examples: list[dict[str, object]] | None = None) -> Path:
    return write(folder, train__jsonl=examples or corpora.AGREEMENT, train__prefix=corpora.PREFIXES)


def test_models_read_the_words_before_the_verb(tmp_path: Path) -> None:
    corpus = prepared(recipe(agreement_task()), files(tmp_path / "data"), tmp_path / "out")
    assert words(corpus, 0) == ["The", "keys", "to", "the", "door"]
    assert words(corpus, 3) == ["Cats"]
    assert node_labels(corpus, 3) == ["NP"]
    assert [corpus.manifest.classes[label] for label in corpus["train"].labels] == [  # type: ignore[union-attr]
        "VBP", "VBZ", "VBZ", "VBP",
    ]  # fmt: skip
    assert corpus["train"].groups.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("ready", [True, False])
def test_swapping_verbs_for_their_other_form_changes_no_input(tmp_path: Path, ready: bool) -> None:
    forms = {"are": "is", "is": "are", "sleeps": "sleep", "sleep": "sleeps"}
    swapped = []
    for example in corpora.AGREEMENT:
        tokens = list(example["tokens"])  # type: ignore[call-overload]
        verb = example["verb"]
        tokens[verb] = forms[tokens[verb]]
        label = "VBZ" if example["label"] == "VBP" else "VBP"
        swapped.append({**example, "tokens": tokens, "label": label})
    one, two = files(tmp_path / "one"), files(tmp_path / "two", swapped)
    if not ready:
        (one / "train.prefix").unlink()
        (two / "train.prefix").unlink()
    first = prepared(recipe(agreement_task()), one, tmp_path / "out1")
    second = prepared(recipe(agreement_task()), two, tmp_path / "out2")
    assert inputs(first) == inputs(second)
    assert (first["train"].labels != second["train"].labels).all()  # type: ignore[attr-defined, operator]


def test_a_tree_that_saw_the_verb_is_refused(tmp_path: Path) -> None:
    data = write(
        files(tmp_path / "data"),
        train__prefix=corpora.PREFIXES.replace("(NN cat))", "(NN cat)) (VBZ sleeps)"),
    )
    with pytest.raises(ValueError, match=r"train\.prefix:3: expected a tree over exactly the words"):
        prepared(recipe(agreement_task()), data, tmp_path / "out")


def test_linzens_columns_are_read_with_the_number_of_attractors_of_the_file(tmp_path: Path) -> None:
    data = files(tmp_path / "data")
    write(data, numpred="VBZ\tthe key to the doors\nVBP\tthe keys to the door\n")
    task = agreement_task()
    task["splits"]["linzen.1"] = {"file": "numpred", "attractors": 1}  # type: ignore[index]
    corpus = prepared(recipe(task), data, tmp_path / "out")
    assert words(corpus, 0, "linzen.1")[2:] == ["to", "the", "doors"]
    assert corpus["linzen.1"].groups.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"tokens": ["It"], "verb": 0, "label": "VBZ"}', "expected words before the verb"),
        (
            '{"tokens": ["It", "is"], "verb": 1, "label": "VB"}',
            "expected the label VBZ or VBP, found",
        ),
        ('{"tokens": ["It", "is"]}', "expected words, a verb and its label"),
        ("It is", "expected words, a verb and its label"),
    ],
)
def test_a_line_that_is_no_example_is_named(tmp_path: Path, line: str, reason: str) -> None:
    data = write(tmp_path / "data", train__jsonl=[line], train__prefix="(X It)\n")
    with pytest.raises(ValueError, match=rf"train\.jsonl:1: {reason}"):
        prepared(recipe(agreement_task()), data, tmp_path / "out")
