"""Encoders as transformers models with their tokenizers, loaded from this machine only."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treeformer.configuration import read_json
from treeformer.encoders.catalogue import CONFIG, ENCODERS, TOKENIZER
from treeformer.encoders.conversion import expected_checksums
from treeformer.encoders.installation import MANIFEST, find, install_command
from treeformer.extras import require
from treeformer.model_folder import no_progress_bars, read_config, refuse_pickles
from treeformer.storage import check_files, sha256

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_VOCABULARIES = (TOKENIZER, "vocab.txt", "vocab.json", "*.model")
_SETTINGS = (CONFIG, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt")
_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")


@dataclass(frozen=True)
class Encoder:
    """A pretrained encoder.

    name: its name in the catalogue, or its folder.
    folder: where it was loaded from.
    sha256: identifies weights, config and tokenizer, see `encoder_sha256`.
    model: the transformers model, without pooler, in float32 on the CPU, in evaluation mode.
    tokenizer: its fast tokenizer, which knows the characters of each piece.
    """

    name: str
    folder: Path
    sha256: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast


def load_encoder(source: str | os.PathLike[str], *, sha256: str | None = None) -> Encoder:
    """Load an encoder, given its name or a folder that transformers' ``AutoModel`` reads.

    Nothing is downloaded and no code in the folder runs. Weights are read from safetensors only.

    Args:
        source: the name of an installed encoder, or a folder.
        sha256: the expected `encoder_sha256`; another one is a ValueError.
    """
    require("torch", "transformers")
    folder = find(source)
    name = encoder_name(folder)
    actual = _checked_sha256(folder, sha256)
    refuse_pickles(folder)
    read_config(folder)
    if not any(folder.glob("*.safetensors")):
        raise ValueError(f"{folder}: no weights there, expected a safetensors file")
    if not any(path for pattern in _VOCABULARIES for path in folder.glob(pattern)):
        raise ValueError(f"{folder}: no tokenizer there, expected {TOKENIZER}")
    with _errors_of_transformers(folder), no_progress_bars():
        model, tokenizer = _model(folder), _tokenizer(folder)
    if len(tokenizer) > model.config.vocab_size:
        raise ValueError(
            f"{folder}: the tokenizer has {len(tokenizer)} pieces, but the model only "
            f"{model.config.vocab_size}; they do not belong together"
        )
    return Encoder(name, folder, actual, model, tokenizer)


def load_tokenizer(source: str | os.PathLike[str], *, sha256: str | None = None) -> Tokenizer:
    """The tokenizer of an encoder, without its weights; arguments as for `load_encoder`."""
    folder = find(source)
    _checked_sha256(folder, sha256)
    if (folder / MANIFEST).is_file() and (folder / TOKENIZER).is_file():  # transformers takes seconds
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(folder / TOKENIZER))
    with _errors_of_transformers(folder):
        return _tokenizer(folder).backend_tokenizer


def unknown_piece(tokenizer: PreTrainedTokenizerFast) -> int:
    """The id of the unknown piece; ``ValueError`` if a tokenizer has none."""
    if tokenizer.unk_token_id is None:
        raise ValueError("the tokenizer has no unknown piece, expected one for words that it does not know")
    return int(tokenizer.unk_token_id)


def _checked_sha256(folder: Path, expected: str | None) -> str:
    """The `encoder_sha256` of a folder; ``ValueError`` if another one was expected."""
    actual = encoder_sha256(folder)
    if expected is not None and actual != expected:
        raise ValueError(f"{folder}: expected the encoder with SHA-256 {expected}, found {actual}")
    return actual


def encoder_name(source: str | os.PathLike[str]) -> str:
    """The name of an installed encoder, given its name or its folder; any other folder as it is."""
    folder = find(source)
    manifest = folder / MANIFEST
    return str(read_json(manifest).get("name", folder)) if manifest.is_file() else str(folder)


def encoder_sha256(source: str | os.PathLike[str]) -> str:
    """A SHA-256 of all files that decide what an encoder computes; ValueError if an installed one is damaged.

    It is that of lines ``CHECKSUM  NAME``, sorted by name, as ``sha256sum`` prints them.
    """
    folder = find(source)
    _check_installed(folder)
    paths = {path for pattern in (*_SETTINGS, *_VOCABULARIES, *_WEIGHTS) for path in folder.glob(pattern)}
    lines = [f"{sha256(path)}  {path.name}\n" for path in sorted(paths, key=lambda path: path.name)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _check_installed(folder: Path) -> None:
    """Check the files of an installed encoder against the catalogue, or its manifest if it is not there."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return
    facts = read_json(manifest)
    name, sums = facts.get("name", folder.name), facts.get("sha256", {})
    if not isinstance(name, str):
        raise ValueError(f"{manifest}: name: expected the name of an encoder, got {name!r:.60}")
    if not isinstance(sums, dict) or not all(isinstance(one, str) for one in sums.values()):
        raise ValueError(f"{manifest}: sha256: expected a checksum for each file")
    encoder = ENCODERS.get(name)
    try:
        if encoder:
            check_files(folder, expected_checksums(encoder), "the catalogue")
        else:
            check_files(folder, sums, MANIFEST)
    except ValueError as error:
        command = install_command(name, folder.parent)
        raise ValueError(f"{error}; to repair it, run `{command}`") from None


@contextmanager
def _errors_of_transformers(folder: Path) -> Iterator[None]:
    """Errors of transformers and its libraries in one line that names the folder."""
    try:
        yield
    except Exception as error:  # they have no class in common
        line = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(line if str(folder) in line else f"{folder}: {line}") from error


def _model(folder: Path) -> PreTrainedModel:
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    options = _model_class(config)[1]
    model, report = AutoModel.from_pretrained(
        folder,
        config=config,
        dtype="float32",
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        ignore_mismatched_sizes=True,  # reported below
        output_loading_info=True,
        **options,
    )
    wrong = sorted({*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])})
    if wrong:
        raise ValueError(
            f"{folder}: {CONFIG} asks for weights that are missing or of another size: {len(wrong)}, "
            f"the first is {wrong[0]}"
        )
    return model.eval()


def network_of(content: Mapping[str, Any]) -> PreTrainedModel:
    """An encoder with random weights, given the content of its ``config.json``."""
    from transformers import AutoConfig

    config: Any = AutoConfig.for_model(**content)
    model_class, options = _model_class(config)
    model: PreTrainedModel = model_class(config, **options)
    return model


def _model_class(config: Any) -> tuple[Any, dict[str, Any]]:
    """The class of an encoder with this config, and the options that leave out its pooler."""
    from transformers import MODEL_MAPPING

    if config.is_encoder_decoder or type(config) not in MODEL_MAPPING:
        raise ValueError(f"model_type {config.model_type!r}, expected an encoder such as bert")
    model_class: Any = MODEL_MAPPING[type(config)]
    has_pooler = "add_pooling_layer" in inspect.signature(model_class).parameters
    return model_class, {"add_pooling_layer": False} if has_pooler else {}


def _tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise ValueError(f"{folder}: expected a fast tokenizer, with a {TOKENIZER}")
    return tokenizer
