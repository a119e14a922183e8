"""``--quick``: the same cells made so small that two CPU cores do them in minutes."""

from __future__ import annotations

from dataclasses import replace

from treeformer.analysis.cells import Row

QUICK_TASKS = {
    "classification": ("sst5", "sst2", "agreement"),
    "translation": ("multi30k-en-de",),
    "ablations": ("sst5",),
    "controls": ("sst5",),
    "data-size": ("sst5",),
    "attention-share": ("multi30k-en-de",),
    "speed": (),
    "parameters": (),
}  #: tasks of each experiment; the others are left out
_COMMON = ("bf16=false", "graphs=false", "log_every=50")
_SST = ("updates=1000", "evaluate_every=250", "warm_up=200", "learning_rate=2e-3", "prefer_average=false")
_TRAINING = {
    "sst5": _SST,
    "sst2": _SST,
    "agreement": ("updates=500", "evaluate_every=100", "share=0.25"),
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
}  # of translators; classifiers are small as they are
_TOKENS = {"tree-transformer": 1700, "tree2seq": 1700}  # the same sentences an update as 1000 of words alone


def quick_row(row: Row) -> Row:
    """The small version of a row: fewer updates, one seed, its first split, of large tasks a share."""
    training = [*_COMMON, *_TRAINING[row.task]]
    sizes = []
    if row.task in _RECIPE:
        training.append(f"tokens={_TOKENS.get(row.system, 1000)}")
        own = _SIZES[row.system].items()
        sizes = [f"systems.{row.system}.sizes.{key}={value}" for key, value in own]
    changes = (*_RECIPE.get(row.task, ()), *sizes, *(f"training.{change}" for change in training))
    return replace(row.changed(*changes), seeds=row.seeds[:1], splits=row.splits[:1])
