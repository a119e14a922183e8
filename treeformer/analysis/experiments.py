"""The paper's tables and figures as experiments: rows, their runs (cells), and the paper's numbers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from treeformer.analysis.pretrained import NOTES, pretrained_rows
from treeformer.analysis.rows import COMPOSED, LABELS, SEEDS, SST, TREE, Experiment, Row

CLASSIFIERS = ("transformer", "bilstm", "tree-lstm", "tree-transformer", "composed-tree-transformer")
TRANSLATORS = ("tree2seq", "conv-seq2seq", "dynamic-conv", "transformer", "tree-transformer")
CAPTIONS = ("multi30k-en-de", "multi30k-de-en", "multi30k-en-fr", "multi30k-fr-en")
TALKS = ("iwslt14-57k-en-de", "iwslt14-57k-de-en")
LINZEN = ("linzen.val", *(f"linzen.{attractors}" for attractors in range(1, 6)))
SHARES = (0.1, 0.25, 0.5, 1.0)
BEST_CHECKPOINT = "training.prefer_average=false"  #: for rows that overfit before their last updates


def _classification() -> Iterable[Row]:
    for task in (*SST, "imdb", "agreement"):
        splits = ("test", *LINZEN) if task == "agreement" else ("test",)
        for system in CLASSIFIERS:
            row = Row(task, LABELS[system], system, seeds=SEEDS, splits=splits, rival=COMPOSED)
            words = system in ("transformer", "bilstm")
            if task in SST and words:
                alone = (f"systems.{system}.phrases=false", BEST_CHECKPOINT)
                yield replace(row, label=f"{row.label}, sentences", name="sentences", changes=alone)
                yield replace(row, label=f"{row.label}, every phrase")
            else:
                yield row


def _translation() -> Iterable[Row]:
    for task in ("multi30k-en-de", "iwslt14-57k-en-de", *CAPTIONS[1:], *TALKS[1:]):
        for system in TRANSLATORS:
            seeds = SEEDS[:2] if system in ("transformer", "tree-transformer") else SEEDS[:1]
            yield Row(task, LABELS[system], system, seeds=seeds)
        if task in (CAPTIONS[0], TALKS[0]):
            composed = _sizes(node_inputs="composed")
            yield Row(task, f"{TREE}, composed nodes", "tree-transformer", "composed", composed, SEEDS[:2])


def _sizes(system: str = "tree-transformer", **sizes: object) -> tuple[str, ...]:
    """Changes to the sizes of a system."""
    return tuple(f"systems.{system}.sizes.{key}={str(value).lower()}" for key, value in sizes.items())


def _tree_rows(
    task: str,
    seeds: Sequence[int],
    variants: Sequence[tuple[str, str, tuple[str, ...]]],
    system: str = "tree-transformer",
) -> Iterable[Row]:
    """Variants of a system, each compared with the first."""
    first_label = variants[0][0]
    for label, name, changes in variants:
        data = name if any(change.startswith("data.") for change in changes) else ""
        yield Row(task, label, system, name, changes, tuple(seeds), data, first_label)


def _ablations() -> Iterable[Row]:
    variants: list[tuple[str, str, tuple[str, ...]]] = [
        ("full", "", ()),
        ("no hierarchical embeddings", "no-embeddings", _sizes(hierarchical_embeddings=False)),
        ("no subtree mask", "no-mask", _sizes(subtree_mask=False)),
        ("neither", "neither", _sizes(hierarchical_embeddings=False, subtree_mask=False)),
        ("released convention", "released", _sizes(convention="released")),
    ]
    yield from _tree_rows("sst5", SEEDS, variants)
    yield from _tree_rows("multi30k-en-de", SEEDS[:1], variants)
    sizes = partial(_sizes, "composed-tree-transformer")
    composed: list[tuple[str, str, tuple[str, ...]]] = [
        ("composed", "", ()),
        ("composed, words without context", "word", sizes(leaf_inputs="word")),
        ("context, nodes not composed", "label", sizes(node_inputs="label")),
        ("composed, no accumulation", "no-accumulation", sizes(accumulate=False)),
    ]
    for task in ("sst5", "agreement"):
        yield from _tree_rows(task, SEEDS, composed, "composed-tree-transformer")


def _trees(place: str, splits: Iterable[str]) -> tuple[str, ...]:
    """Changes that set the trees of splits; with ``null`` the recipe's parser parses."""
    return tuple(f"data.task.splits.{split}.trees={place.replace('SPLIT', split)}" for split in splits)


def _controls() -> Iterable[Row]:
    shared: list[tuple[str, str, tuple[str, ...]]] = [
        ("parsed trees", "", ()),
        ("no accumulation", "no-accumulation", _sizes(accumulate=False)),
        *((f"{kind} trees", kind, (f"data.trees={kind}",)) for kind in ("balanced", "right", "random")),
        ("labels shuffled", "shuffled", ("data.trees=shuffled",)),
    ]
    sst = ("train", "dev", "test")
    parse = "data.task.shape=parse"
    parsed = [
        # three trees of train are dropped: in SST one of their words has a no-break space
        ("CoreNLP's parse", "corenlp", (parse, "data.drop=true", *_trees("trees/sst.SPLIT.srbeam", sst))),
        ("embedded parser's parse", "embedded", (parse, *_trees("null", sst))),
    ]
    years = ("test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")
    embedded = [("embedded parser's parse", "embedded", _trees("null", (*sst, *years)))]
    yield from _tree_rows("sst5", SEEDS, [*shared, *parsed])
    yield from _tree_rows("multi30k-en-de", SEEDS[:1], [*shared, *embedded])
    composed = [
        (f"composed, {label}", name, changes) for label, name, changes in shared if name != "no-accumulation"
    ]
    yield from _tree_rows("sst5", SEEDS, composed, "composed-tree-transformer")


def _data_size() -> Iterable[Row]:
    for task in ("multi30k-en-de", "sst5", "europarl-en-de"):
        seeds = SEEDS if task in SST else SEEDS[:1]
        for share in SHARES:
            percent = f"{share:.0%}".replace("%", " %")
            composed = ("tree-lstm", "composed-tree-transformer") if task in SST else ()
            for system in ("transformer", "tree-transformer", *composed):
                changes = () if share == 1 else (f"training.share={share}", BEST_CHECKPOINT)
                name = "" if share == 1 else f"share{round(100 * share)}"
                label, rival = f"{LABELS[system]}, {percent}", f"{TREE}, {percent}"
                yield Row(task, label, system, name, changes, seeds, rival=rival)


def _attention_share() -> Iterable[Row]:
    for task in ("multi30k-en-de", "iwslt14-57k-en-de", "multi30k-de-en", "iwslt14-57k-de-en"):
        yield Row(task, TREE, "tree-transformer", attention=True)


def _recursion() -> Iterable[Row]:
    splits = ("test", "deep")
    row = Row(
        "listops",
        COMPOSED,
        "composed-tree-transformer",
        seeds=SEEDS,
        rival=COMPOSED,
        splits=splits,
        compared=splits,
    )
    for system in ("transformer", "bilstm", "tree-lstm"):
        yield replace(row, label=LABELS[system], system=system)
    binary = ("data.task.shape=binary", "systems.tree-lstm.sizes.composition=binary")
    yield replace(
        row, label="Tree-LSTM, binary trees", system="tree-lstm", name="binary", changes=binary, data="binary"
    )
    yield replace(row, label=TREE, system="tree-transformer")
    yield row


def _code() -> Iterable[Row]:
    for system in CLASSIFIERS:
        yield Row("code", LABELS[system], system, seeds=SEEDS, rival=COMPOSED)


_EXPERIMENTS: dict[str, tuple[str, Callable[[], Iterable[Row]], tuple[str, ...]]] = {
    "classification": (
        "Classification",
        _classification,
        (
            "All systems are trained from scratch, without pretrained vectors. Scores are test accuracies.",
            "On SST the paper's baselines learn from labels of sentences only. Here they are also trained on "
            "every phrase, as the tree systems are.",
            "SVA-AMALGUM is not the paper's SVA data: sentences are from AMALGUM, and tree systems read "
            "parses of the words before the verb. Linzen's test sets are an additional check.",
        ),
    ),
    "translation": (
        "Translation",
        _translation,
        (
            "The paper reports BLEU of tokens; BLEU (13a) is computed on running text. The data differs from "
            "the paper's: Multi30k consists of image captions, and IWSLT'14-57K has 57,255 of the 160,239 "
            "training pairs.",
        ),
    ),
    "ablations": ("Ablations of the Tree Transformer", _ablations, ()),
    "controls": (
        "Controls",
        _controls,
        (
            "Balanced, right-branching and random trees have one label for all nodes. On SST their nodes "
            "have a target only where SST has the same phrase. This also applies to parses used in place "
            "of SST's trees.",
        ),
    ),
    "data-size": (
        "Score against the share of the training data",
        _data_size,
        ("All systems and seeds use the same sentences. Each share contains the smaller ones.",),
    ),
    "attention-share": ("Share of cross-attention on nodes", _attention_share, ()),
    "recursion": (
        "Recursion: nested lists",
        _recursion,
        (
            "ListOps (Nangia and Bowman 2018) asks for the value of nested lists of digits; it is not one of "
            "the paper's tasks. Models learn from the value of the whole list alone. Lists have 1 to 5 "
            "levels in train and test, 6 to 10 in deep. No list of test is in train. All systems read "
            "the same tokens, brackets included.",
        ),
    ),
    "code": (
        "Source code: names of functions",
        _code,
        (
            "The task is the first word of the hidden name of a Python function, one of about 50 words, from "
            "the standard library of the running interpreter; it is not one of the paper's tasks. Splits "
            "share no module and no function. All systems read the same tokens; trees are tree-sitter's.",
        ),
    ),
    "pretrained": ("Classifiers over pretrained encoders", pretrained_rows, NOTES),
    "speed": ("Time and memory against length", tuple, ()),
    "parameters": ("Parameters", tuple, ()),
}
NAMES = tuple(_EXPERIMENTS)


def experiment(name: str) -> Experiment:
    """The experiment of this name; the error for an unknown name suggests the nearest."""
    if name not in _EXPERIMENTS:
        near = difflib.get_close_matches(name, [*NAMES, "all", "page"], n=1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(NAMES)}, all or page"
        raise ValueError(f"{name}: no such table or figure, {hint}")
    title, rows, notes = _EXPERIMENTS[name]
    return Experiment(name, title, tuple(rows()), notes)


QUICK_TASKS = {
    "classification": ("sst5", "sst2", "agreement"),
    "translation": ("multi30k-en-de",),
    "ablations": ("sst5",),
    "controls": ("sst5",),
    "data-size": ("sst5",),
    "attention-share": ("multi30k-en-de",),
    "recursion": ("listops",),
    "code": ("code",),
    "pretrained": (),
    "speed": (),
    "parameters": (),
}  #: tasks of the quick version of each experiment
_COMMON = ("bf16=false", "graphs=false", "log_every=50")
_SST = ("updates=1000", "evaluate_every=250", "warm_up=200", "learning_rate=2e-3", "prefer_average=false")
_TRAINING = {
    "sst5": _SST,
    "sst2": _SST,
    "agreement": ("updates=500", "evaluate_every=100", "share=0.25"),
    "listops": ("updates=1000", "evaluate_every=250", "warm_up=100"),
    "code": ("updates=300", "evaluate_every=100"),
    "multi30k-en-de": ("updates=300", "evaluate_every=150", "save_every=50", "warm_up=100", "share=0.25"),
}
_RECIPE = {"multi30k-en-de": ("data.vocabulary.size=4000", "decoding.beams=1")}
_SMALL = {"d_model": 128, "encoder_layers": 2, "decoder_layers": 2}
_SIZES = {
    "transformer": {**_SMALL, "ffn_dim": 256},
    "tree-transformer": {**_SMALL, "ffn_dim": 256},
    "dynamic-conv": {**_SMALL, "ffn_dim": 256},
    "conv-seq2seq": {**_SMALL, "channels": 128},
    "tree2seq": {"d_model": 128},
}  # of translators; classifiers are small already
_TOKENS = {
    "tree-transformer": 1700,
    "tree2seq": 1700,
}  # as many sentences per update as 1000 tokens without nodes


def quick_row(row: Row) -> Row:
    """The quick version of a row: fewer updates, one seed, one split, a share of large training sets."""
    training = [*_COMMON, *_TRAINING[row.task]]
    sizes = []
    if row.task in _RECIPE:
        training.append(f"tokens={_TOKENS.get(row.system, 1000)}")
        sizes = [f"systems.{row.system}.sizes.{key}={value}" for key, value in _SIZES[row.system].items()]
    changes = (*_RECIPE.get(row.task, ()), *sizes, *(f"training.{change}" for change in training))
    return replace(row, changes=(*row.changes, *changes), seeds=row.seeds[:1], splits=row.splits[:1])


_TASKS = {
    "sst5": "SST-5",
    "sst2": "SST-2",
    "imdb": "IMDB",
    "agreement": "SVA-AMALGUM",
    "listops": "ListOps",
    "code": "Names of functions",
    "multi30k-en-de": "Multi30k en→de",
    "multi30k-de-en": "Multi30k de→en",
    "multi30k-en-fr": "Multi30k en→fr",
    "multi30k-fr-en": "Multi30k fr→en",
    "iwslt14-57k-en-de": "IWSLT'14-57K en→de",
    "iwslt14-57k-de-en": "IWSLT'14-57K de→en",
    "europarl-en-de": "Europarl-100K en→de",
}

#: The most similar task of the paper, for tasks that the paper does not have.
NEAREST = {
    "agreement": "SVA of Linzen et al.",
    "multi30k-en-de": "IWSLT'14 En-De",
    "multi30k-de-en": "IWSLT'14 De-En",
    "multi30k-en-fr": "IWSLT'13 En-Fr",
    "multi30k-fr-en": "IWSLT'13 Fr-En",
    "iwslt14-57k-en-de": "IWSLT'14 En-De, all its pairs",
    "iwslt14-57k-de-en": "IWSLT'14 De-En, all its pairs",
}

_TRANSLATORS = ("Tree2Seq", "Conv-Seq2Seq", "Transformer", "Dynamic Conv", "Tree Transformer")
_TRANSLATION = {
    "en-de": dict(zip(_TRANSLATORS, (24.01, 24.76, 28.35, 28.43, 29.47), strict=True)),
    "en-fr": dict(zip(_TRANSLATORS, (40.22, 39.51, 43.75, 43.72, 45.53), strict=True)),
    "de-en": dict(zip(_TRANSLATORS, (29.95, 30.32, 34.42, 34.72, 35.96), strict=True)),
    "fr-en": dict(zip(_TRANSLATORS, (39.41, 39.56, 42.84, 43.08, 44.34), strict=True)),
}
_CLASSIFICATION = {
    "sst5": {"Transformer": 37.6, "BiLSTM": 35.1, "Tree-LSTM": 43.9, "Tree Transformer": 47.4},
    "sst2": {"Transformer": 74.8, "BiLSTM": 76.0, "Tree-LSTM": 82.0, "Tree Transformer": 84.3},
    "imdb": {"Transformer": 86.5, "BiLSTM": 85.8, "Tree Transformer": 90.1},
    "agreement": {"Transformer": 94.4, "BiLSTM": 95.1, "Tree-LSTM": 96.2, "Tree Transformer": 98.0},
}
_VARIANTS = ("full", "no hierarchical embeddings", "no subtree mask", "neither")
_ABLATIONS = {
    "multi30k-en-de": dict(zip(_VARIANTS, (29.47, 29.20, 29.05, 28.98), strict=True)),
    "sst5": dict(zip(_VARIANTS, (47.4, 46.1, 45.7, 45.0), strict=True)),
}
ATTENTION = (59.0, 66.0)  #: percent of cross-attention on nodes, range over the paper's tasks
POSITIONS = (34.0, 41.0)  #: percent of positions that are nodes
PARAMETERS = {"Transformer base": 61_747_200, "Tree Transformer base": 61_810_944}


def task_name(task: str) -> str:
    """The name of a task in tables and plots."""
    return _TASKS.get(task, task)


def papers_score(experiment: str, task: str, label: str) -> float | None:
    """The paper's score for a row, on the same task or the nearest one; None if it reports none.

    >>> papers_score("classification", "sst5", "Transformer, sentences")
    37.6
    >>> papers_score("classification", "sst5", "Transformer, every phrase")
    """
    if experiment == "classification":
        return _CLASSIFICATION[task].get(label.removesuffix(", sentences"))
    if experiment == "translation":
        return _TRANSLATION[task[-5:]].get(label)
    if experiment == "ablations":
        return _ABLATIONS.get(task, {}).get(label)
    return None
