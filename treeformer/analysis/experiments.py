"""The paper's tables and figures as experiments: which cells each of them needs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from treeformer.analysis.cells import LABELS, TREE, Row
from treeformer.analysis.quick import QUICK_TASKS, quick_row

SEEDS = (1, 2, 3)
SST = ("sst5", "sst2")
CLASSIFIERS = ("transformer", "bilstm", "tree-lstm", "tree-transformer")
TRANSLATORS = ("tree2seq", "conv-seq2seq", "dynamic-conv", "transformer", "tree-transformer")
CAPTIONS = ("multi30k-en-de", "multi30k-de-en", "multi30k-en-fr", "multi30k-fr-en")
TALKS = ("iwslt14-57k-en-de", "iwslt14-57k-de-en")
LINZEN = ("linzen.val", *(f"linzen.{attractors}" for attractors in range(1, 6)))
SHARES = (0.1, 0.25, 0.5, 1.0)
BEST_LOOK = "training.prefer_average=false"  #: for a row that overfits before its last updates


@dataclass(frozen=True)
class Experiment:
    """A table or figure.

    title: its heading.
    rows: what is trained for it; none for what is only measured.
    notes: what a reader must know to read the table right.
    """

    name: str
    title: str
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()

    def quick(self) -> Experiment:
        """The small version for two CPU cores: fewer updates, one seed, a share of the data."""
        chosen = [row for row in self.rows if row.task in QUICK_TASKS[self.name]]
        return replace(self, rows=tuple(map(quick_row, chosen)))

    def with_seeds(self, seeds: Sequence[int]) -> Experiment:
        """The same with these seeds, too."""
        rows = [replace(row, seeds=tuple(sorted({*row.seeds, *seeds}))) for row in self.rows]
        return replace(self, rows=tuple(rows))

    def changed(self, changes: Sequence[str]) -> Experiment:
        """The same with more changes to every recipe."""
        return replace(self, rows=tuple(row.changed(*changes) for row in self.rows))


def _classification() -> Iterable[Row]:
    for task in (*SST, "imdb", "agreement"):
        splits = ("test", *LINZEN) if task == "agreement" else ("test",)
        for system in CLASSIFIERS:
            row = Row(task, LABELS[system], system, seeds=SEEDS, splits=splits)
            words = system in ("transformer", "bilstm")
            if task in SST and words:
                alone = (f"systems.{system}.phrases=false", BEST_LOOK)
                yield replace(row, label=f"{row.label}, sentences", name="sentences", changes=alone)
                yield replace(row, label=f"{row.label}, every phrase")
            else:
                yield row


def _translation() -> Iterable[Row]:
    for task in ("multi30k-en-de", "iwslt14-57k-en-de", *CAPTIONS[1:], *TALKS[1:]):
        for system in TRANSLATORS:
            seeds = SEEDS[:2] if system in ("transformer", "tree-transformer") else SEEDS[:1]
            yield Row(task, LABELS[system], system, seeds=seeds)


def _sizes(**sizes: object) -> tuple[str, ...]:
    """Changes to the Tree Transformer's config."""
    return tuple(f"systems.tree-transformer.sizes.{key}={str(value).lower()}" for key, value in sizes.items())


def _tree_rows(
    task: str, seeds: Sequence[int], variants: Iterable[tuple[str, str, tuple[str, ...]]]
) -> Iterable[Row]:
    """Tree Transformers with changes, each compared with the first, which has none."""
    listed = list(variants)
    for label, name, changes in listed:
        data = name if any(change.startswith("data.") for change in changes) else ""
        yield Row(task, label, "tree-transformer", name, changes, tuple(seeds), data, listed[0][0])


def _ablations() -> Iterable[Row]:
    variants = [
        ("full", "", ()),
        ("no hierarchical embeddings", "no-embeddings", _sizes(hierarchical_embeddings=False)),
        ("no subtree mask", "no-mask", _sizes(subtree_mask=False)),
        ("neither", "neither", _sizes(hierarchical_embeddings=False, subtree_mask=False)),
        ("released convention", "released", _sizes(convention="released")),
    ]
    yield from _tree_rows("sst5", SEEDS, variants)
    yield from _tree_rows("multi30k-en-de", SEEDS[:1], variants)


def _trees(place: str, splits: Iterable[str]) -> tuple[str, ...]:
    """Changes that name other trees for splits; ``null`` lets the recipe's parser make them."""
    return tuple(f"data.task.splits.{split}.trees={place.replace('SPLIT', split)}" for split in splits)


def _controls() -> Iterable[Row]:
    shared = [
        ("parsed trees", "", ()),
        ("no accumulation", "no-accumulation", _sizes(accumulate=False)),
        *((f"{kind} trees", kind, (f"data.trees={kind}",)) for kind in ("balanced", "right", "random")),
        ("labels shuffled", "shuffled", ("data.trees=shuffled",)),
    ]
    sst = ("train", "dev", "test")
    parse = "data.task.shape=parse"
    parsed = [
        # three trees of train have another word, with a no-break space in SST
        ("CoreNLP's parse", "corenlp", (parse, "data.drop=true", *_trees("trees/sst.SPLIT.srbeam", sst))),
        ("embedded parser's parse", "embedded", (parse, *_trees("null", sst))),
    ]
    years = ("test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")
    embedded = [("embedded parser's parse", "embedded", _trees("null", (*sst, *years)))]
    yield from _tree_rows("sst5", SEEDS, [*shared, *parsed])
    yield from _tree_rows("multi30k-en-de", SEEDS[:1], [*shared, *embedded])


def _data_size() -> Iterable[Row]:
    for task in ("multi30k-en-de", "sst5", "europarl-en-de"):
        seeds = SEEDS if task in SST else SEEDS[:1]
        for share in SHARES:
            percent = f"{share:.0%}".replace("%", " %")
            for system in ("transformer", "tree-transformer"):
                changes = () if share == 1 else (f"training.share={share}", BEST_LOOK)
                name = "" if share == 1 else f"share{round(100 * share)}"
                label, rival = f"{LABELS[system]}, {percent}", f"{TREE}, {percent}"
                yield Row(task, label, system, name, changes, seeds, rival=rival)


def _attention_share() -> Iterable[Row]:
    for task in ("multi30k-en-de", "iwslt14-57k-en-de", "multi30k-de-en", "iwslt14-57k-de-en"):
        yield Row(task, TREE, "tree-transformer", attention=True)


_ROWS: dict[str, tuple[str, Callable[[], Iterable[Row]], tuple[str, ...]]] = {
    "classification": (
        "Classification",
        _classification,
        (
            "Trained from scratch, without pretrained vectors; accuracy on test.",
            "The paper's baselines on SST see labels of sentences alone; here they also learn from every "
            "phrase, as the tree systems do.",
            "SVA is not the paper's: AMALGUM, parses of the words before the verb; Linzen's test sets are a "
            "check.",
        ),
    ),
    "translation": (
        "Translation",
        _translation,
        (
            "BLEU of tokens is that of the paper; BLEU (13a) is of running text. Tasks are not the paper's: "
            "Multi30k is captions, IWSLT'14-57K has 57,255 of 160,239 training pairs.",
        ),
    ),
    "ablations": ("Ablations of the Tree Transformer", _ablations, ()),
    "controls": (
        "Controls",
        _controls,
        (
            "Balanced, right and random trees have one label for all nodes; on SST only those of their "
            "phrases that SST has too have a target. The same holds for parses in place of SST's own trees.",
        ),
    ),
    "data-size": (
        "Score against the share of the training data",
        _data_size,
        ("The same sentences for every system and seed; each share is part of the next.",),
    ),
    "attention-share": ("Share of cross-attention on nodes", _attention_share, ()),
    "speed": ("Time and memory against length", tuple, ()),
    "parameters": ("Parameters", tuple, ()),
}
NAMES = tuple(_ROWS)


def experiment(name: str) -> Experiment:
    """The experiment of this name; an error names the nearest."""
    if name not in _ROWS:
        near = difflib.get_close_matches(name, [*NAMES, "all", "page"], n=1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(NAMES)}, all or page"
        raise ValueError(f"{name}: no such table or figure, {hint}")
    title, rows, notes = _ROWS[name]
    return Experiment(name, title, tuple(rows()), notes)
