"""Small corpora, made up for the tests, written as the tasks read them."""

from __future__ import annotations

import json
from pathlib import Path

from treeformer.data.corpus import PreparedCorpus
from treeformer.data.preparation import prepare
from treeformer.data.recipe import DataRecipe
from treeformer.progress import Progress

SENTIMENTS = """\
(3 (2 (2 The) (2 cat)) (3 (3 purrs) (2 .)))
(1 (2 (2 The) (2 dog)) (1 (1 howls) (2 .)))
(2 (2 (2 The) (2 film)) (2 (2 (2 runs) (2 8\u00a01\\/2)) (2 .)))
(4 (2 (2 The) (2 cat)) (4 (4 (4 loves) (2 (2 the) (2 film))) (2 .)))
(0 (2 (2 The) (2 dog)) (0 (0 (0 hates) (2 (2 the) (2 film))) (2 .)))
(3 Splendid)
"""
PHRASES = """\
(S (NP (DT The) (NN cat)) (@S (VBZ purrs) (. .)))
(S (NP (DT The) (NN dog)) (@S (VBZ howls) (. .)))
(S (NP (DT The) (NN film)) (@S (VP (VBZ runs) (CD 8\u00a01\\/2)) (. .)))
(S (NP (DT The) (NN cat)) (@S (VP (VBZ loves) (NP (DT the) (NN film))) (. .)))
(S (NP (DT The) (NN dog)) (@S (VP (VBZ hates) (NP (DT the) (NN film))) (. .)))
(ADJP (JJ Splendid))
"""
AGREEMENT = [
    {
        "tokens": ["The", "keys", "to", "the", "door", "are", "lost", "."],
        "verb": 5,
        "label": "VBP",
        "n_attractors": 1,
    },
    {
        "tokens": ["The", "key", "to", "the", "doors", "is", "lost", "."],
        "verb": 5,
        "label": "VBZ",
        "n_attractors": 1,
    },
    {"tokens": ["The", "cat", "sleeps", "."], "verb": 2, "label": "VBZ", "n_attractors": 0},
    {"tokens": ["Cats", "sleep", "."], "verb": 1, "label": "VBP", "n_attractors": 0},
]
PREFIXES = """\
(ROOT (NP (NP (DT The) (NNS keys)) (PP (IN to) (NP (DT the) (NN door)))))
(ROOT (NP (NP (DT The) (NN key)) (PP (IN to) (NP (DT the) (NNS doors)))))
(ROOT (NP (DT The) (NN cat)))
(ROOT (NP (NNS Cats)))
"""
ENGLISH = ["A cat sleeps.", "Two dogs bark! The cat wakes.", "A dog sleeps."]
GERMAN = ["Eine Katze schläft.", "Zwei Hunde bellen! Die Katze (eine alte) wacht auf.", "Ein Hund schläft."]
ENGLISH_TREES = """\
(ROOT (S (NP (DT A) (NN cat)) (VP (VBZ sleeps)) (. .)))
(ROOT (S (NP (CD Two) (NNS dogs)) (VP (VBP bark)) (. !))) \
(ROOT (S (NP (DT The) (NN cat)) (VP (VBZ wakes)) (. .)))
(ROOT (S (NP (DT A) (NN dog)) (VP (VBZ sleeps)) (. .)))
"""
REVIEWS = [
    {"id": 0, "label": 1, "text": "A fine film.<br /><br />I laughed."},
    {"id": 1, "label": 0, "text": "Dull."},
    {"id": 2, "label": 1, "text": "A fine film."},
    {"id": 3, "label": 0, "text": "I slept. It was dull."},
]
REVIEW_TREES = """\
(ROOT (NP (DT A) (JJ fine) (NN film) (. .))) (ROOT (S (NP (PRP I)) (VP (VBD laughed)) (. .)))
(ROOT (ADJP (JJ Dull) (. .)))
(ROOT (NP (DT A) (JJ fine) (NN film) (. .)))
(ROOT (S (NP (PRP I)) (VP (VBD slept)) (. .))) (ROOT (S (NP (PRP It)) (VP (VBD was) (ADJP (JJ dull))) (. .)))
"""


def write(folder: Path, **files: str | list[str] | list[dict[str, object]]) -> Path:
    """Write files named by keyword, ``__`` for a dot: text, lines, or objects as JSON lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if not isinstance(content, str):
            lines = [line if isinstance(line, str) else json.dumps(line) for line in content]
            content = "".join(f"{line}\n" for line in lines)
        (folder / name.replace("__", ".")).write_text(content, encoding="utf-8")
    return folder


def recipe(task: dict[str, object], **more: object) -> DataRecipe:
    """A recipe of this task with every word known, unless ``more`` says otherwise."""
    return DataRecipe.model_validate({"task": task, "vocabulary": {"kind": "words", "min_count": 1}, **more})


def prepared(recipe: DataRecipe, data: Path, output: Path) -> PreparedCorpus:
    """The prepared corpus, without a word about it."""
    return prepare(recipe, data, output, progress=Progress())


def sst_files(folder: Path, sentiments: str = SENTIMENTS) -> Path:
    return write(folder, train__txt=sentiments, train__phrases=PHRASES)


def sst_task(**more: object) -> dict[str, object]:
    return {"name": "sst", "splits": {"train": {"file": "train.txt", "trees": "train.phrases"}}, **more}


def agreement_task() -> dict[str, object]:
    return {"name": "agreement", "splits": {"train": {"file": "train.jsonl", "trees": "train.prefix"}}}


def translation_files(folder: Path) -> Path:
    return write(folder, train__en=ENGLISH, train__de=GERMAN, train__trees=ENGLISH_TREES)


def translation_task(**more: object) -> dict[str, object]:
    part = {"file": "train.en", "target": "train.de", "trees": "train.trees"}
    return {"name": "translation", "target_language": "de", "splits": {"train": part, "test": part}, **more}


def inputs(corpus: PreparedCorpus, split: str = "train") -> list[tuple[object, ...]]:
    """All that models read of a split, with the tables that its numbers point into."""
    tables = [(corpus.folder / name).read_text() for name in ("tokenizer.json", "labels.json")]
    examples = (corpus[split][index] for index in range(len(corpus[split])))
    return [
        (*tables, tuple(e.input_ids), tuple(e.node_ids), tuple(map(tuple, e.node_spans))) for e in examples
    ]


def words(corpus: PreparedCorpus, index: int, split: str = "train") -> list[str]:
    return corpus.processor.words(corpus[split][index].input_ids.tolist())


def node_labels(corpus: PreparedCorpus, index: int, split: str = "train") -> list[str]:
    names = corpus.processor.settings.labels
    return [names[number] for number in corpus[split][index].node_ids]
