"""Training over a pretrained encoder: its settings, its weights, and the corpus with its stored states."""

from __future__ import annotations

import os

from treeformer.data.corpus import PreparedCorpus
from treeformer.data.encoder import EncoderFacts
from treeformer.data.processor import TreeProcessor
from treeformer.data.recipe import EncoderRecipe
from treeformer.data.states import with_stored_states
from treeformer.encoders import Encoder, encoder_name, load_encoder
from treeformer.encoders.states import check_layers
from treeformer.models.pretrained_words import PretrainedSettings
from treeformer.progress import Progress
from treeformer.training.recipe import Recipe


def check_encoder(recipe: Recipe, corpus: PreparedCorpus) -> None:
    """Raise ``ValueError`` unless a corpus was prepared for the encoder of a recipe, or neither has one.

    Args:
        recipe: the experiment, resolved.
        corpus: the prepared corpus.
    """
    encoder, facts = recipe.encoder, corpus.manifest.encoder
    if encoder is None and facts is None:
        return
    if encoder is None or facts is None:
        here, there = (f"the encoder {one.source}" if one else "no encoder" for one in (encoder, facts))
        raise ValueError(
            f"{corpus.folder}: prepared with {there}, but the recipe has {here}; "
            "prepare and train with the same value of encoder"
        )
    if not _is_named(encoder.source, facts):
        raise ValueError(
            f"{corpus.folder}: prepared with the encoder {facts.source}, but the recipe has {encoder.source}"
        )
    if encoder.train == "frozen" and encoder.layers not in (None, facts.layers):
        raise ValueError(
            f"encoder.layers: expected {list(facts.layers)}, whose states {corpus.folder} stores; "
            "run treeformer prepare with the same layers"
        )
    _check_training(recipe, encoder)


def _is_named(source: str, facts: EncoderFacts) -> bool:
    """Whether a recipe names the encoder of a corpus, which need not be on this machine."""
    if facts.source in (source, os.path.abspath(source)):
        return True
    try:
        return encoder_name(source) == facts.source
    except OSError:
        return False


def _check_training(recipe: Recipe, encoder: EncoderRecipe) -> None:
    """Refuse settings that have no effect or no meaning over an encoder."""
    if recipe.vectors is not None:
        raise ValueError("vectors: expected none with encoder, which gives the vectors of words")
    if recipe.training.word_dropout:
        raise ValueError("training.word_dropout: expected 0 with encoder, which knows no unknown words")
    if recipe.training.graphs and encoder.train == "all":
        raise ValueError(
            "training.graphs: expected false with encoder.train: all, whose batches have too many shapes"
        )


def corpus_for(recipe: Recipe, corpus: PreparedCorpus, progress: Progress) -> PreparedCorpus:
    """The corpus as the model of a recipe reads it: with stored states if its encoder is frozen."""
    if recipe.encoder is None or recipe.encoder.train == "all":
        return corpus
    return with_stored_states(corpus, progress)


def processor_for(recipe: Recipe, corpus: PreparedCorpus) -> TreeProcessor:
    """The processor of the model of a recipe; it includes the tokenizer of an encoder that is trained."""
    processor, facts = corpus.processor, corpus.manifest.encoder
    if facts is None or recipe.encoder is None or recipe.encoder.train == "frozen":
        return processor
    return processor.with_encoder(facts.source, inside=True)


def encoder_for(recipe: Recipe, corpus: PreparedCorpus) -> tuple[PretrainedSettings | None, Encoder | None]:
    """The settings of the encoder of a recipe, and the encoder itself if it is trained.

    A frozen one is not loaded: its states are stored.
    """
    facts = corpus.manifest.encoder
    if recipe.encoder is None or facts is None:
        return None, None
    if recipe.encoder.train == "frozen":
        states = corpus["train"][0].leaf_states
        assert states is not None
        settings = PretrainedSettings(
            name=facts.source,
            sha256=facts.sha256,
            train="frozen",
            layers=facts.layers,
            width=states.shape[-1],
        )
        return settings, None
    encoder = load_encoder(facts.source, sha256=facts.sha256)
    layers = recipe.encoder.layers or facts.layers
    check_layers(encoder.model, layers)
    return PretrainedSettings.of(encoder, train="all", layers=layers), encoder


def encoder_rate(recipe: Recipe) -> float | None:
    """The highest learning rate of an encoder that is trained, None if there is none."""
    encoder = recipe.encoder
    return encoder.learning_rate if encoder is not None and encoder.train == "all" else None
