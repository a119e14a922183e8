"""``fit``: from a table of labelled texts to a trained model and its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from treeformer.configuration import Settings
from treeformer.data.preparation import prepare
from treeformer.data.tasks.task import DEV, TRAIN
from treeformer.encoders.installation import installed
from treeformer.evaluation.accuracy import Accuracy
from treeformer.evaluation.classes import Confusion
from treeformer.evaluation.predictions import (
    ClassPrediction,
    column,
    load_predictions,
    predictions_path,
    save_predictions,
)
from treeformer.evaluation.report import evaluate
from treeformer.evaluation.significance import compare
from treeformer.fitting.baselines import majority, tf_idf
from treeformer.fitting.document import to_html, to_markdown
from treeformer.fitting.loading import Columns, FitData, load_rows
from treeformer.fitting.plan import fit_recipe
from treeformer.fitting.report import (
    MAJORITY,
    MODEL,
    TF_IDF,
    WITHOUT_TREES,
    Facts,
    Mistake,
    SystemScores,
    ask_command,
    finding,
    report_blocks,
)
from treeformer.fitting.rows import TEST, class_counts
from treeformer.fitting.source import Ask
from treeformer.machine import cores
from treeformer.progress import Progress, terminal_progress
from treeformer.storage import write_file, write_json
from treeformer.training.loop import train
from treeformer.training.recipe import Recipe
from treeformer.training.runs import RunFacts

INSTALLED = "installed"  #: an encoder that is installed, if there is one
_ENCODERS = {  # the best first; the last ones are large for a CPU
    "en": ("bge-small", "e5-small", "minilm", "bert", "bert-multilingual"),
    "de": ("bert-multilingual",),
    "fr": ("bert-multilingual",),
}
_FACTS = "fit.json"
_FEW_WORDS = 20_000  # are parsed before a second process has loaded the parser
_FOLDERS = {
    MODEL: "run",
    WITHOUT_TREES: "baselines/without-trees",
    TF_IDF: "baselines/tf-idf",
    MAJORITY: "baselines/majority",
}
_LINEAR = "linear"  # system that classifies the mean of the words of a text


class FitFacts(Settings):
    """Content of ``fit.json``: what was fitted, and the scores when it is finished."""

    data: str  #: SHA-256 of the splits
    settings: dict[str, Any]
    finished: bool = False
    scores: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Fit:
    """A finished fit; ``print(fit)`` shows its scores.

    folder: everything that `fit` wrote.
    scores: the scores on test by name of the system: the tree model, its encoder without trees if it has
        one, TF-IDF, the most frequent class.
    """

    folder: Path
    scores: Mapping[str, SystemScores]

    @property
    def run(self) -> Path:
        """The folder of the tree model, for ``Classifier.from_pretrained``."""
        return self.folder / _FOLDERS[MODEL]

    @property
    def report(self) -> Path:
        """The report as an HTML file; ``report.md`` is beside it."""
        return self.folder / "report.html"

    def __str__(self) -> str:
        width = max(map(len, self.scores))
        lines = [f"{name:<{width}}  {one.accuracy}" for name, one in self.scores.items()]
        ends = [f"report: {self.report}", f"ask:    {ask_command(self.run)}"]
        return "\n".join([finding(self.scores), "", *lines, "", *ends])


def fit(
    data: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    test: Any = None,
    output: str | Path | None = None,
    language: str = "en",
    encoder: str | Path | None = INSTALLED,
    seed: int = 1,
    drop: bool = False,
    overrides: Sequence[str] = (),
    device: str | None = None,
    progress: Progress | None = None,
    ask: Ask | None = None,
) -> Fit:
    """Train a classifier on a table of labelled texts, and compare it with two baselines in a report.

    An interrupted fit resumes when it is called again with the same data; a finished one is returned.

    Args:
        data: a CSV, JSON-lines or Parquet file, a data frame, or rows as dictionaries.
        text, label: the columns of texts and labels; by default they are found by their names and values.
        test: rows for the test, in any of these forms; by default a fifth of the data.
        output: folder of the results; by default named after the file, such as ``reviews-fit``.
        language: ``en``, ``de`` or ``fr``.
        encoder: name or folder of a pretrained encoder, ``installed`` for an installed one if there is any;
            None trains from scratch.
        seed: decides the split, weights, order and dropout.
        drop: leave out rows that cannot be used; by default they are an error that lists all of them.
        overrides: changes to the recipe ``labelled``, such as ``training.epochs=5``.
        device: ``cpu`` or ``cuda``; by default a GPU where there is one.
        progress: receives log lines; by default they go to standard error.
        ask: asks the user for a column that cannot be found.
    """
    given, progress = progress, progress or terminal_progress("rows")
    columns = Columns(text, label)
    loaded = load_rows(
        data, test, columns, language=language, seed=seed, drop=drop, ask=ask, progress=progress
    )
    if encoder == INSTALLED:
        encoder = _installed_encoder(language)
    words = sum(len(row.text.split()) for row in loaded.splits[TRAIN])
    recipes = {MODEL: fit_recipe(words, language, encoder, overrides)}
    if recipes[MODEL].encoder is not None and recipes[MODEL].model != _LINEAR:
        recipes[WITHOUT_TREES] = fit_recipe(words, language, encoder, [*overrides, f"model={_LINEAR}"])
    folder = Path(output or _default_folder(data))
    settings = {"seed": seed, "recipe": recipes[MODEL].model_dump(mode="json")}
    facts = FitFacts(data=loaded.digest(), settings=settings)
    if _is_finished(folder, facts):
        progress.log(f"{folder}: this fit is finished, with the same data and settings")
        return Fit(folder, _scores(folder))
    _write_data(folder, loaded, facts)
    _predict_baselines(folder, loaded, seed, progress)
    training = _train(folder, recipes, words > _FEW_WORDS, seed=seed, device=device, progress=given)
    return _finish(folder, loaded, facts, training)


def _train(
    folder: Path,
    recipes: Mapping[str, Recipe],
    is_large: bool,
    *,
    seed: int,
    device: str | None,
    progress: Progress | None,
) -> str:
    """Parse the texts, train and evaluate each system; a sentence about the tree model."""
    recipe = recipes[MODEL]
    if recipe.encoder is None:
        (progress or terminal_progress("rows")).log(f"the tree model: {_advice(recipe)}")
    workers = cores() if is_large else 1
    corpus = prepare(recipe, folder / "data", folder / "prepared", workers=workers, progress=progress)
    runs = {}
    for name, one in recipes.items():
        place = folder / _FOLDERS[name]
        runs[name] = train(one, corpus, place, seed=seed, device=device, progress=progress)
        evaluate(place, TEST, device=device)
    return _training(runs[MODEL], recipe)


def _default_folder(data: Any) -> str:
    """The name of the file without its endings, and ``-fit``."""
    return f"{Path(data).name.partition('.')[0]}-fit" if isinstance(data, (str, Path)) else "fit"


def _installed_encoder(language: str) -> str | None:
    """The best encoder for a language that is installed; None if there is none."""
    there = installed()
    return next((name for name in _ENCODERS[language] if name in there), None)


def _is_finished(folder: Path, facts: FitFacts) -> bool:
    """Whether a folder holds this fit, finished; ``ValueError`` if it holds something else."""
    if not (folder / _FACTS).is_file():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ValueError(f"{folder}: contains other files; choose another folder with --output FOLDER")
        return False
    existing = FitFacts.load_json(folder / _FACTS)
    if existing.data != facts.data:
        raise ValueError(f"{folder}: a fit of other rows; choose another folder with --output FOLDER")
    if existing.settings != facts.settings:
        raise ValueError(f"{folder}: a fit with other settings; choose another folder with --output FOLDER")
    return existing.finished


def _write_data(folder: Path, loaded: FitData, facts: FitFacts) -> None:
    """Write the rows of each split, and what is fitted."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for name, content in loaded.contents().items():
        path = folder / "data" / f"{name}.jsonl"
        if not path.is_file() or path.read_bytes() != content:
            write_file(path, content)
    write_json(folder / _FACTS, facts.model_dump(mode="json"))


def _predict_baselines(folder: Path, loaded: FitData, seed: int, progress: Progress) -> None:
    """Save what the baselines predict for test; they learn from train and dev."""
    splits = loaded.splits
    known, classes = [*splits[TRAIN], *splits[DEV]], sorted(class_counts(splits[TRAIN]))
    for name, predictions in (
        (MAJORITY, majority(known, splits[TEST], classes)),
        (TF_IDF, tf_idf(known, splits[TEST], classes, seed)),
    ):
        save_predictions(predictions_path(folder / _FOLDERS[name], TEST), predictions)
        progress.log(f"{name}: accuracy {_accuracy(predictions)}")


def _finish(folder: Path, loaded: FitData, facts: FitFacts, training: str) -> Fit:
    """Write the report, and that the fit is finished."""
    scores, run = _scores(folder), folder / _FOLDERS[MODEL]
    counts = {name: class_counts(rows) for name, rows in loaded.splits.items()}
    about = Facts(loaded.title, counts, loaded.remarks, training, run)
    pairs = zip(_predictions(folder, MODEL), loaded.splits[TEST], strict=True)
    mistakes = [Mistake(one, row.text, row.location) for one, row in pairs if not one.right]
    blocks = report_blocks(scores, mistakes, about)
    write_file(folder / "report.md", to_markdown(blocks).encode())
    write_file(folder / "report.html", to_html(blocks).encode())
    entries = {name: one.as_json() for name, one in scores.items()}
    finished = facts.model_copy(update={"finished": True, "scores": entries})
    write_json(folder / _FACTS, finished.model_dump(mode="json"))
    return Fit(folder, scores)


def _predictions(folder: Path, name: str) -> list[ClassPrediction]:
    """The predictions of a system for test."""
    predictions = load_predictions(predictions_path(folder / _FOLDERS[name], TEST))
    return [one for one in predictions if isinstance(one, ClassPrediction)]


def _scores(folder: Path) -> dict[str, SystemScores]:
    """The scores of all systems by name, from their predictions."""
    scores = {}
    for name, place in _FOLDERS.items():
        if not predictions_path(folder / place, TEST).is_file():
            continue
        predictions = _predictions(folder, name)
        labels, predicted = column(predictions, "label"), column(predictions, "predicted")
        classes = sorted({*labels, *predicted})
        against = (
            None if name == MODEL else compare(folder / _FOLDERS[MODEL], folder / place, TEST)["accuracy"]
        )
        confusion = Confusion.of(classes, labels, predicted)
        scores[name] = SystemScores(_accuracy(predictions), confusion, against)
    return scores


def _accuracy(predictions: Sequence[ClassPrediction]) -> Accuracy:
    return Accuracy(sum(column(predictions, "right")), len(predictions))


def _training(run: RunFacts, recipe: Recipe) -> str:
    """A sentence about the model and its training."""
    words = "word vectors from scratch"
    if recipe.encoder is not None:
        words = f"the states of the pretrained encoder {recipe.encoder.source}, which stays as it is"
    sentence = (
        f"The tree model is a {recipe.model} over {words}: {run.parameters:,} parameters, {run.updates:,} "
        f"updates in {run.seconds:.0f} s on {run.device}, seed {run.seed}. Dev chose the weights "
        "to keep; the baselines learn from train and dev."
    )
    return sentence if recipe.encoder is not None else f"{sentence} {_advice(recipe)}"


def _advice(recipe: Recipe) -> str:
    """What helps a model without a pretrained encoder."""
    name = _ENCODERS[recipe.data.task.language][0]
    return (
        "It has no pretrained encoder, so it learns the words from these rows alone. With one, a few hundred "
        f"rows go further: treeformer encoder install {name}, then fit into another folder."
    )
