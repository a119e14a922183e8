"""The pretrained encoder that reads the words of a corpus or a model."""

from __future__ import annotations

import os
from pathlib import Path

from tokenizers import Tokenizer

from treeformer.configuration import Settings, printable
from treeformer.data.recipe import EncoderRecipe
from treeformer.encoders import Encoder, installed
from treeformer.encoders.linking import Linker, window_of
from treeformer.encoders.loading import load_tokenizer, unknown_piece
from treeformer.encoders.states import check_layers, default_layers

ENCODER_TOKENIZER = "encoder_tokenizer.json"  #: in the folder of a model whose encoder was trained


class EncoderFacts(Settings):
    """The encoder of a prepared corpus or a model, in ``manifest.json`` and ``processor.json``."""

    source: str  #: name of an installed encoder, or its folder
    sha256: str  #: see `treeformer.encoders.encoder_sha256`
    layers: tuple[int, ...]  #: whose states are stored
    window: int  #: the largest number of pieces that it reads at once
    unknown: int  #: id of the unknown piece
    inside: bool = False  #: its tokenizer is in the same folder, because the encoder was trained

    @classmethod
    def of(cls, encoder: Encoder, recipe: EncoderRecipe) -> EncoderFacts:
        """The facts of an encoder; ``ValueError`` if it does not have the layers of the recipe."""
        layers = recipe.layers or default_layers(encoder.model.config.num_hidden_layers)
        check_layers(encoder.model, layers)
        is_installed = encoder.folder in installed().values()
        return cls(
            source=encoder.name if is_installed else os.path.abspath(encoder.folder),
            sha256=encoder.sha256,
            layers=layers,
            window=window_of(encoder.model, encoder.tokenizer),
            unknown=unknown_piece(encoder.tokenizer),
        )

    def tokenizer(self, folder: Path | None) -> Tokenizer:
        """The tokenizer of the encoder, which is in the folder of a model or is installed."""
        if not self.inside:
            return self._installed_tokenizer(folder)
        if folder is None:
            raise ValueError(
                "encoder: its tokenizer is said to be in the same folder, but there is no folder"
            )
        path = folder / ENCODER_TOKENIZER
        if not path.is_file():
            raise ValueError(f"{path}: no such file, expected the tokenizer of the encoder {self.source}")
        try:
            return Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises no narrower exception
            raise ValueError(f"{path}: not a tokenizer: {printable(str(error))}") from error

    def _installed_tokenizer(self, folder: Path | None) -> Tokenizer:
        """The tokenizer of an encoder outside the folder of a model, which an error names."""
        try:
            return load_tokenizer(self.source, sha256=self.sha256)
        except (OSError, ValueError) as error:
            if folder is None:
                raise
            raise ValueError(f"{folder}: {error}") from error

    def linker(self, tokenizer: Tokenizer) -> Linker:
        """Links words with the pieces of the encoder."""
        return Linker(tokenizer, window=self.window, unknown=self.unknown)
