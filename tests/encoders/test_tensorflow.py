"""Weights in TensorFlow checkpoints, written by a writer of our own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.encoders import tiny
from tests.encoders.checkpoint import write_checkpoint
from treeformer.encoders.tensorflow import data_of, read_checkpoint


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "model.index"
    write_checkpoint(path, tiny.weights())
    return path


def test_the_weights_are_those_that_were_written(index: Path) -> None:
    tensors = read_checkpoint(index)
    expected = tiny.weights()
    assert set(tensors) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(tensors[name], value, err_msg=name)


def test_a_file_that_is_no_index_is_refused(index: Path) -> None:
    index.write_bytes(b"x" * 1_000)
    with pytest.raises(ValueError, match="not the index of a TensorFlow checkpoint"):
        read_checkpoint(index)


@pytest.mark.parametrize("cut", [slice(200, None), slice(100, -20), slice(0, 40), slice(0, -1)])
def test_an_index_that_is_cut_off_is_refused(index: Path, cut: slice) -> None:
    index.write_bytes(index.read_bytes()[cut])
    with pytest.raises(ValueError, match=r"model.index: (.*damaged|not the index|.*cut off)"):
        read_checkpoint(index)


def test_a_compressed_index_is_refused(index: Path) -> None:
    write_checkpoint(index, tiny.weights(), compression=1)
    with pytest.raises(ValueError, match=r"model.index: the index is damaged or compressed"):
        read_checkpoint(index)


def test_values_that_are_cut_off_are_refused(index: Path) -> None:
    data = Path(data_of(str(index)))
    data.write_bytes(data.read_bytes()[:-20])
    with pytest.raises(ValueError, match="is not complete there"):
        read_checkpoint(index)
