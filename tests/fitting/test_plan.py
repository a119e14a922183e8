"""The recipe of a fit suits the number of words; changes of the user come last."""

from __future__ import annotations

import pytest

from treeformer.fitting.plan import fit_recipe


def test_more_words_are_read_fewer_times() -> None:
    epochs = [fit_recipe(words, "en", "minilm", ()).resolved().training.epochs for words in (1, 10**5, 10**7)]
    assert epochs == sorted(epochs, reverse=True)  # type: ignore[type-var]
    assert epochs[0] != epochs[-1]


@pytest.mark.parametrize("encoder", [None, "minilm"])
@pytest.mark.parametrize("words", [1, 10**7])
def test_a_recipe_can_be_trained_on_a_few_rows(words: int, encoder: str | None) -> None:
    recipe = fit_recipe(words, "de", encoder, ())
    assert recipe.data.task.language == "de"
    assert (recipe.encoder is None) == (encoder is None)
    assert sorted(recipe.data.task.splits) == ["dev", "test", "train"]
    training = recipe.resolved().training
    assert training.updates is None  # epochs alone decide
    assert isinstance(training.warm_up, float)  # a share, so that few updates are enough
    assert recipe.system_recipe.sizes


def test_small_data_have_the_faster_system_unless_the_user_chose() -> None:
    assert fit_recipe(10_000, "en", None, ()).model == "tree-lstm"
    assert fit_recipe(10_000_000, "en", None, ()).model == "composed-tree-transformer"
    changed = fit_recipe(10_000, "en", None, ["model=bilstm", "training.epochs=3"]).resolved()
    assert (changed.model, changed.training.epochs) == ("bilstm", 3)
