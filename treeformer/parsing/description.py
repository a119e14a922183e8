"""The folder of an embedded parser: ``parser.json`` and ``parser.safetensors``. Read without torch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import model_validator

from treeformer.checksums import check_folder
from treeformer.configuration import Settings
from treeformer.model_folder import check_finite, check_sizes, stored_tensors
from treeformer.parsing.sizes import NetworkSizes
from treeformer.parsing.weights import check_stored, restored

DESCRIPTION, WEIGHTS = "parser.json", "parser.safetensors"  #: the files of a parser


class Description(Settings):
    """What ``parser.json`` holds beside the recipe: names of the numbers that the network computes."""

    name: str
    language: str
    sizes: NetworkSizes
    labels: list[str]  #: chains of labels from top to bottom, such as S+VP
    tags: list[str]
    words: list[str]  #: known words in lower case
    recipe: Any = None

    @model_validator(mode="after")
    def _of_one_parser(self) -> Description:
        for key in ("labels", "tags", "words"):
            count, size = len(getattr(self, key)), getattr(self.sizes, key)
            if count != size:
                raise ValueError(f"{key}: expected {size} as in sizes.{key}, found {count}")
        return self


def read_parser(folder: Path) -> tuple[Description, dict[str, np.ndarray]]:
    """The description of a parser, and the weights of its network in float32."""
    path, weights = folder / DESCRIPTION, folder / WEIGHTS
    check_folder(folder)
    try:
        description = Description.load_json(path)
        stored = stored_tensors([weights])
        check_sizes(path, asdict(description.sizes), stored)
        try:
            description.sizes.check()
        except ValueError as error:
            raise ValueError(f"{path}: sizes: {error}") from error
        check_stored(weights, stored, description.sizes.shapes())
        arrays = restored(_arrays(weights))
        check_finite(weights, arrays)
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder}: not a parser, {error}") from error
    return description, arrays


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a file."""
    from safetensors.numpy import load_file

    arrays: dict[str, np.ndarray] = load_file(path)
    return arrays
