"""The table of classifiers over pretrained encoders: frozen and fine-tuned, on all or few sentences."""

from __future__ import annotations

from collections.abc import Iterable

from treeformer.analysis.rows import LABELS, SEEDS, SST, Row

NOTES = (
    "The encoder is frozen, and its states are stored once, or it is fine-tuned with the classifier. "
    "*Usual fine-tuning* is a linear layer over the mean of the words, fine-tuned on the labels of sentences "
    "alone. All others learn from the labels of all words and phrases, as far as the task has them.",
    "Percentages are shares of the training sentences; dev and test are whole.",
)
_USUAL = "usual fine-tuning"
_TREE_LSTM = LABELS["tree-lstm"]
_FROZEN = ("linear", "tree-transformer", "tree-lstm", "composed-tree-transformer")
_FINE_TUNED = ("linear", "tree-lstm", "composed-tree-transformer")
_SHARES = (0.01, 0.03, 0.1, 0.3)


def pretrained_rows() -> Iterable[Row]:
    """The rows of all tasks, and those of shares of SST-5."""
    for task in SST:
        for encoder in ("bge-small", "minilm"):
            yield from _frozen(task, encoder)
            yield from _fine_tuned(task, encoder)
    for share in _SHARES:
        yield from _few("bge-small", share)
    yield from _few("minilm", 0.1)
    yield from _frozen("agreement", "bge-small")
    yield from _fine_tuned("agreement", "bge-small")
    yield from _frozen("imdb", "bge-small", usual=False)


def _frozen(task: str, encoder: str, *, usual: bool = True) -> Iterable[Row]:
    for system in _FROZEN:
        yield _row(task, encoder, system, usual=usual)


def _fine_tuned(task: str, encoder: str) -> Iterable[Row]:
    for system in _FINE_TUNED:
        yield _row(task, encoder, system, fine_tuned=True)


def _few(encoder: str, share: float) -> Iterable[Row]:
    for system in ("linear", "composed-tree-transformer"):
        yield _row("sst5", encoder, system, fine_tuned=True, share=share)
    for system in ("tree-lstm", "composed-tree-transformer"):
        yield _row("sst5", encoder, system, share=share)


def _label(encoder: str, system: str, *, fine_tuned: bool, share: float) -> str:
    """The name of a row.

    >>> _label("bge-small", "tree-lstm", fine_tuned=False, share=0.1)
    'bge-small, 10 %, frozen: Tree-LSTM'
    """
    where = encoder if share == 1 else f"{encoder}, {100 * share:g} %"
    if fine_tuned and system == "linear":
        return f"{where}, {_USUAL}"
    return f"{where}, {'fine-tuned' if fine_tuned else 'frozen'}: {LABELS[system]}"


def _row(
    task: str,
    encoder: str,
    system: str,
    *,
    fine_tuned: bool = False,
    share: float = 1.0,
    usual: bool = True,
) -> Row:
    """A row that is compared with the Tree-LSTM over the same encoder and with the usual fine-tuning."""
    tree_lstm = _label(encoder, "tree-lstm", fine_tuned=fine_tuned and share == 1, share=share)
    usual_row = _label(encoder, "linear", fine_tuned=True, share=share)
    rivals = (usual_row, tree_lstm) if fine_tuned else (tree_lstm, usual_row) if usual else (tree_lstm,)
    few = share < 1
    changes: tuple[str, ...] = (f"encoder={encoder}",)
    changes += ("encoder.train=all",) if fine_tuned else ()
    changes += (f"training.share={share:g}",) if few else ()
    name = encoder + ("-all" if fine_tuned else "") + (f"-share{100 * share:g}" if few else "")
    return Row(
        task,
        _label(encoder, system, fine_tuned=fine_tuned, share=share),
        system,
        name,
        changes,
        SEEDS,
        data=encoder,
        rival=rivals[0],
        further_rivals=rivals[1:],
    )
