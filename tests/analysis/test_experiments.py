"""What is trained for each table of the paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformer.analysis.experiments import NAMES, experiment, papers_score, task_name
from treeformer.analysis.reproduction import Selection
from treeformer.analysis.rows import Cell
from treeformer.analysis.workspace import Workspace
from treeformer.training.recipe import Recipe

RECIPES = Path(__file__).parents[2] / "recipes"
TRAINED = [name for name in NAMES if experiment(name).rows]


def all_cells(*, quick: bool = False) -> list[Cell]:
    chosen = [Selection(quick=quick).experiment(name) for name in NAMES]
    return [cell for one in chosen for row in one.rows for cell in row.cells]


@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_is_a_recipe_that_can_be_trained(quick: bool) -> None:
    for row in dict.fromkeys(cell.row for cell in all_cells(quick=quick)):
        recipe = Recipe.load(RECIPES / f"{row.task}.yaml", row.all_changes).resolved()
        assert recipe.model == row.system
        assert row.system in recipe.systems
        assert set(row.splits) <= set(recipe.data.task.splits)
        assert task_name(row.task) != row.task


@pytest.mark.parametrize("quick", [False, True])
def test_cells_of_one_name_are_one_training_and_corpora_of_one_name_one_corpus(quick: bool) -> None:
    trainings: dict[str, object] = {}
    corpora: dict[str, object] = {}
    for cell in all_cells(quick=quick):
        recipe = Recipe.load(RECIPES / f"{cell.row.task}.yaml", cell.row.all_changes).resolved()
        assert trainings.setdefault(cell.name, recipe) == recipe
        assert corpora.setdefault(cell.row.corpus, recipe.data) == recipe.data


@pytest.mark.parametrize("name", TRAINED)
def test_a_line_is_there_once_and_its_rival_is_there(name: str) -> None:
    rows = experiment(name).rows
    lines = [(row.task, row.label) for row in rows]
    assert len(set(lines)) == len(lines)
    assert all((row.task, row.rival) in lines for row in rows)
    assert {cell.name for row in rows for cell in row.cells} == {
        cell.name for row in dict.fromkeys(rows) for cell in row.cells
    }


def test_the_tables_have_the_systems_and_seeds_that_were_asked_for() -> None:
    classification, translation = experiment("classification").rows, experiment("translation").rows
    assert {row.task for row in classification} == {"sst5", "sst2", "imdb", "agreement"}
    assert all(row.seeds == (1, 2, 3) for row in classification)
    assert len([row for row in classification if row.task == "sst5"]) == 7
    assert len(translation) == 6 * 5 + 2  # two rows of composed nodes
    assert all((len(row.seeds) == 2) == row.system.endswith("transformer") for row in translation)
    assert papers_score("classification", "sst5", "Tree Transformer") == 47.4
    assert papers_score("translation", "iwslt14-57k-en-de", "Tree Transformer") == 29.47
    assert papers_score("ablations", "multi30k-en-de", "neither") == 28.98


@pytest.mark.parametrize("name", TRAINED)
def test_the_papers_scores_are_known_or_none_for_every_row(name: str) -> None:
    scores = [papers_score(name, row.task, row.label) for row in experiment(name).rows]
    assert all(score is None or 20 < score < 100 for score in scores)


def test_the_error_for_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"ablation: no such table or figure, did you mean ablations\?"):
        experiment("ablation")


def test_classifiers_over_encoders_are_compared_with_the_tree_lstm_and_the_usual_fine_tuning() -> None:
    rows = experiment("pretrained").rows
    labels = {(row.task, row.label) for row in rows}
    for row in rows:
        rivals = (row.rival, *row.further_rivals)
        assert {(row.task, rival) for rival in rivals} <= labels
        recipe = Recipe.load(RECIPES / f"{row.task}.yaml", row.all_changes).resolved()
        assert recipe.encoder is not None
        assert (row.data, recipe.training.share or 1.0) == (recipe.encoder.source, share_of(row.label))
        is_usual = row.label.endswith("usual fine-tuning")
        assert is_usual == (row.system == "linear" and recipe.encoder.train == "all")
        assert any("Tree-LSTM" in rival for rival in rivals)
        assert row.task == "imdb" or any("usual fine-tuning" in rival for rival in rivals)
    assert len({cell.name for row in rows for cell in row.cells}) == 3 * len(rows) == 177


def share_of(label: str) -> float:
    """The share of the sentences that the label of a row names."""
    parts = [part for part in label.split(", ") if part.endswith(" %")]
    return float(parts[0].removesuffix(" %")) / 100 if parts else 1.0


def test_a_corpus_for_an_encoder_is_prepared_with_it(tmp_path: Path) -> None:
    rows = {row.slug: row for row in experiment("pretrained").rows if row.task == "sst5"}
    workspace = Workspace(tmp_path, RECIPES, data=tmp_path)
    for slug in ("tree-lstm-bge-small", "linear-bge-small-all-share10"):
        preparation, training, *_ = workspace.jobs(rows[slug].cells)
        (command,) = preparation.commands()
        assert command[command.index("--set") + 1] == "encoder=bge-small"
        assert not any(part.startswith("training.") for part in command)
        assert training.needs is preparation
    assert {rows[slug].corpus for slug in rows} == {"sst5-bge-small", "sst5-minilm"}
