"""Results of an experiment: the typed content of ``results/NAME.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from treeformer.configuration import first_problem
from treeformer.storage import write_json


class Record(BaseModel):
    """A JSON object. Fields that a file does not have are not written either."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a JSON file; ``ValueError`` names the file and the key if it holds anything else."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise ValueError(f"{path}: {first_problem(error)}") from error

    def save(self, path: Path) -> None:
        """Write a JSON file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, self.as_json())

    def as_json(self) -> dict[str, Any]:
        """A dictionary that ``json.dumps`` can write."""
        return self.model_dump(mode="json", exclude_unset=True)


class ScoreEntry(Record):
    """An accuracy (percent, counts, interval) or a score of translations (score, signature)."""

    examples: int | None = None
    percent: float | None = None
    right: int | None = None
    count: int | None = None
    interval: tuple[float, float] | None = None
    score: float | None = None
    signature: str | None = None

    @property
    def value(self) -> float:
        """The accuracy in percent, or the score."""
        value = self.score if self.percent is None else self.percent
        assert value is not None
        return value


class SplitScores(Record):
    """Scores of a run on one split, as `treeformer.evaluation.report.evaluate` saved them."""

    scores: dict[str, ScoreEntry]
    by_group: dict[str, ScoreEntry] = {}
    examples: int | None = None
    seconds: float | None = None
    decoding: dict[str, int | float] = {}


class Spread(Record):
    """Mean and quantiles over sentences, in percent."""

    mean: float
    quantiles: dict[str, float]


class AttentionShare(Record):
    """Share of cross-attention on nodes, by decoder layer and over all layers.

    positions: the share of nodes among all positions.
    above: percent of sentences in which nodes receive more than their share of positions.
    """

    split: str
    examples: int
    layers: list[Spread]
    all: Spread
    positions: Spread
    above: float
    device: str
    versions: dict[str, str]


class RunResult(Record):
    """One training: facts of ``run.json``, and scores by split; the first split is the main one."""

    seed: int
    parameters: int | None = None
    updates: int | None = None
    metric: str | None = None
    best: float | None = None
    best_step: int | None = None
    averaged: int | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_memory: int | None = None
    device: str
    versions: dict[str, str]
    commit: str | None = None
    corpus: str | None = None
    tests: dict[str, SplitScores]
    attention: AttentionShare | None = None

    @property
    def main_test(self) -> SplitScores:
        """The scores on the main split."""
        return next(iter(self.tests.values()))


class MissingRun(Record):
    """A seed without a result: how far it is, and why it failed."""

    seed: int
    state: str
    reason: str


class ResultRow(Record):
    """A row of a table: a system with changes to its recipe, trained with several seeds."""

    task: str
    label: str
    system: str
    slug: str
    changes: list[str] = []
    rival: str
    seeds: list[int]
    recipe: dict[str, Any] | None
    runs: list[RunResult]
    missing: list[MissingRun]

    @property
    def metric(self) -> str:
        """The main score of the row."""
        is_bleu = bool(self.runs) and "accuracy" not in self.runs[0].main_test.scores
        return "BLEU of tokens" if is_bleu else "accuracy"

    @property
    def phrases_taught(self) -> bool:
        """Whether its models learn from labels of phrases, as far as the task has them."""
        training = (self.recipe or {}).get("training", {})
        return bool(training.get("targets", "all") == "all")

    @property
    def seeds_run(self) -> set[int]:
        """The seeds with a result."""
        return {run.seed for run in self.runs}

    def values(self, name: str | None = None, split: str | None = None) -> list[float]:
        """A score of every run that has it; by default the main score on the main split."""
        tests = [run.tests.get(split) if split else run.main_test for run in self.runs]
        scores = [test.scores.get(name or self.metric) for test in tests if test is not None]
        return [score.value for score in scores if score is not None]


class RowComparison(Record):
    """A row compared with its rival: paired bootstrap over a split."""

    task: str
    label: str
    rival: str
    split: str = "test"
    metric: str
    score: float | None = None
    other: float | None = None
    low: float | None
    high: float | None
    p: float
    signature: str | None = None
    difference: float
    seeds: list[int] = []


class Timing(Record):
    """Time and memory of one batch.

    ratio, lowest, highest: the time relative to the first system: median, minimum, maximum over rounds.
    peak_bytes: GPU memory above weights and optimiser; 0 where it was not measured.
    """

    length: int
    work: str
    system: str
    milliseconds: float
    sentences_a_second: float
    ratio: float
    lowest: float
    highest: float
    peak_bytes: int

    @property
    def peak_mebibytes(self) -> float:
        """The peak memory in MiB."""
        return self.peak_bytes / 2**20


class ParsingTime(Record):
    """Seconds to parse a sentence of this length."""

    length: int
    seconds_a_sentence: float


class SpeedSettings(Record):
    """How speed was measured."""

    lengths: list[int]
    sentences: int
    rounds: int
    width: int
    trees: str
    parser: str
    threads: int


class MachineSpeed(Record):
    """Times on one machine."""

    rows: list[Timing]
    parsing: list[ParsingTime]
    settings: SpeedSettings
    device: str
    versions: dict[str, str]


class Speed(Record):
    """Times on all machines."""

    machines: list[MachineSpeed]


class SystemParameters(Record):
    """Parameters of a system of a recipe; None where the number of tokens is not known."""

    recipe: str
    system: str
    tokens: int | None
    labels: int
    without_tokens: int
    parameters: int | None


class Parameters(Record):
    """Parameters of the paper's base models and of all recipes."""

    base: dict[str, int]
    rows_of_the_table: int
    recipes: list[SystemParameters]


class Results(Record):
    """Everything that the page and the plot of an experiment show.

    Either ``rows`` and ``comparisons`` are filled, or ``measured``. ``remarks`` is the text of
    ``NAME.remarks.md`` and is not part of the JSON.
    """

    name: str
    title: str
    quick: bool
    notes: list[str]
    rows: list[ResultRow]
    comparisons: list[RowComparison] = []
    commit: str | None = None
    measured: Speed | Parameters | None = None
    remarks: str = Field(default="", exclude=True)

    @property
    def tasks(self) -> dict[str, list[ResultRow]]:
        """The rows by task."""
        tasks: dict[str, list[ResultRow]] = {}
        for row in self.rows:
            tasks.setdefault(row.task, []).append(row)
        return tasks

    def row(self, task: str, slug: str) -> ResultRow | None:
        """The row of a task and system, None if there is none."""
        return next((row for row in self.rows if (row.task, row.slug) == (task, slug)), None)


def load_results(path: Path) -> Results | None:
    """Read results, with the remarks in ``NAME.remarks.md``; None if there is no such file."""
    try:
        results = Results.load(path)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{error}; not written by treeformer reproduce, name another --results") from None
    remarks = path.with_suffix(".remarks.md")
    if remarks.is_file():
        results.remarks = remarks.read_text(encoding="utf-8").strip()
    return results
