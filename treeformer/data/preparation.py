"""``prepare``: files to a prepared corpus. Parse text, learn the vocabulary, write the splits."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from treeformer import __version__
from treeformer.data.corpus import MANIFEST, PreparedCorpus
from treeformer.data.corpus_writer import CorpusWriter, Origin
from treeformer.data.encoder import EncoderFacts
from treeformer.data.recipe import DataRecipe, EncoderRecipe
from treeformer.data.row_files import Rows, write_rows
from treeformer.data.sample import BadLine, BadLines
from treeformer.data.states import add_states, with_stored_states
from treeformer.data.tasks.task import TRAIN, GeneratedTask
from treeformer.encoders import load_encoder
from treeformer.parsing import load_parser
from treeformer.parsing.corpus import parse_lines
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.loading import parser_maker, parser_name
from treeformer.parsing.output import write_lines
from treeformer.progress import Progress, terminal_progress
from treeformer.storage import WorkFolder, move_folder, sha256, write_file

READY = "ready trees"  #: the parser of a manifest where no parser ran
_NEW, _REPLACED = "corpus", "replaced"  # folders in the work folder


class HasData(Protocol):
    """A whole recipe, of which `prepare` needs the parts ``data`` and ``encoder``, and their overrides."""

    @property
    def data(self) -> DataRecipe: ...

    @property
    def encoder(self) -> EncoderRecipe | None: ...

    @property
    def overrides(self) -> tuple[str, ...]: ...


def prepare(
    recipe: HasData | DataRecipe,
    data: str | Path | Mapping[str, Rows] | None,
    output: str | Path,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> PreparedCorpus:
    """Write the corpus of a recipe into the folder ``output``, unless it is there and up to date.

    The folder appears whole or not at all. After an interruption, what was parsed is not parsed again.

    Args:
        recipe: a `Recipe`, or its ``data`` part for a corpus without encoder.
        data: the folder of the files that the recipe names, or rows for each split, see `write_rows`; None
            for a task that generates its examples.
        output: the folder to write; it must be missing, empty or a prepared corpus.
        workers: processes that parse.
        progress: where to report; by default standard error.
    """
    if isinstance(data, Mapping):
        task = recipe.task if isinstance(recipe, DataRecipe) else recipe.data.task
        with TemporaryDirectory() as folder:
            write_rows(task, data, Path(folder))
            return prepare(recipe, folder, output, workers=workers, progress=progress)
    encoder = None if isinstance(recipe, DataRecipe) else recipe.encoder
    changes = () if isinstance(recipe, DataRecipe) else recipe.overrides
    overrides = tuple(change for change in changes if change.startswith(("data.", "encoder")))
    recipe = recipe if isinstance(recipe, DataRecipe) else recipe.data
    output = Path(output)
    if output.is_symlink():
        output = output.resolve()  # the folder is replaced, not the link to it
    progress = progress or terminal_progress("lines")
    files = _find_files(recipe, data)
    origin = _origin(recipe, data, files, encoder)
    is_frozen = encoder is not None and encoder.train == "frozen"
    corpus = _existing_corpus(output, origin, progress)
    if corpus is not None:
        if is_frozen and not corpus.manifest.states:
            with progress:
                with_stored_states(corpus, progress)
        progress.log(f"{output}: up to date")
        _remove_work(output)
        return PreparedCorpus.open(output)
    with WorkFolder(output) as work, progress:
        try:
            _resume(work, output, origin)
            to_parse = _parse_missing(recipe, files, work.path, workers, progress)
            writer = CorpusWriter(recipe, files, to_parse, progress, overrides)
            _write_corpus(writer, origin, work, output, store_states=is_frozen)
        except BaseException:
            shutil.rmtree(work.path / _NEW, ignore_errors=True)
            if not any([*work.path.glob("*.trees*"), *work.path.glob("*.states-*")]):  # nothing to resume
                work.remove()
            raise
        work.remove()
    return PreparedCorpus.open(output)


def _find_files(recipe: DataRecipe, data: str | Path | None) -> dict[str, dict[str, Path]]:
    """The paths of the files of each split by role; none for a task that generates its examples."""
    splits = recipe.task.splits
    if recipe.task.generated:
        return {name: {} for name in splits}
    if data is None:
        raise ValueError(f"data: expected the folder of {splits[TRAIN].file} and the other files, got none")
    return {name: split.find(Path(data)) for name, split in splits.items()}


def _origin(
    recipe: DataRecipe,
    data: str | Path | None,
    files: Mapping[str, Mapping[str, Path]],
    encoder: EncoderRecipe | None,
) -> Origin:
    """The origin of the corpus that a recipe describes."""
    facts = None
    if encoder is not None:
        if recipe.task.kind == "translation":
            raise ValueError("encoder: expected none for a translation task, only classifiers have one")
        facts = EncoderFacts.of(load_encoder(encoder.source), encoder)
    paths = {path for split in files.values() for path in split.values()}
    sources = {str(path.relative_to(data or "")): sha256(path) for path in sorted(paths)}
    parser = READY
    if isinstance(recipe.task, GeneratedTask):
        parser = recipe.task.parsed_by or READY
    if not recipe.task.trees_inside and any("trees" not in split for split in files.values()):
        with load_parser(parser_name(recipe.parser, recipe.task.language)) as loaded:
            parser = loaded.name
    return Origin(__version__, recipe.model_dump(mode="json"), sources, parser, facts)


def _existing_corpus(output: Path, origin: Origin, progress: Progress) -> PreparedCorpus | None:
    """The corpus in a folder if it is up to date, None if it must be written."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return None
    if not (output / MANIFEST).is_file():
        raise ValueError(
            f"{output}: contains other files; expected a prepared corpus, an empty folder or a new name"
        )
    corpus = PreparedCorpus.open(output)
    manifest = corpus.manifest
    before = Origin(manifest.version, manifest.recipe, manifest.sources, manifest.parser, manifest.encoder)
    if before != origin:
        progress.log(f"{output}: its sources or settings have changed, preparing it again")
    else:
        try:
            corpus.check()
            return corpus
        except ValueError as error:
            progress.log(f"{error}; preparing the corpus again")
    _check_replaceable(output)
    return None


def _check_replaceable(output: Path) -> None:
    """Raise ``ValueError`` if a folder holds anything but the files of a prepared corpus."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    manifest = PreparedCorpus.open(output).manifest
    others = {path.name for path in output.iterdir()} - manifest.files - manifest.states_files
    if others:
        raise ValueError(
            f"{output / min(others)}: not written by treeformer prepare, which would replace the folder; "
            "move it away or choose another output"
        )


def _remove_work(output: Path) -> None:
    """Remove what a run left that was killed when its output was complete."""
    work = WorkFolder(output)
    if work.path.is_dir():
        with suppress(OSError, ValueError), work:  # another process may use it
            work.remove()


def _resume(work: WorkFolder, output: Path, origin: Origin) -> None:
    """Keep what an interrupted run of the same origin parsed, and remove everything else."""
    replaced, note = work.path / _REPLACED, work.path / "origin.json"
    if replaced.exists() and not output.exists():
        os.rename(replaced, output)  # a run was killed between the two renames of `move_folder`
    shutil.rmtree(replaced, ignore_errors=True)
    shutil.rmtree(work.path / _NEW, ignore_errors=True)
    content = json.dumps(origin._asdict(), default=EncoderFacts.model_dump).encode()
    if not note.is_file() or note.read_bytes() != content:
        work.remove()
        write_file(note, content)


def _parse_missing(
    recipe: DataRecipe, files: dict[str, dict[str, Path]], folder: Path, workers: int, progress: Progress
) -> set[str]:
    """Parse the splits that have no trees and add their trees to ``files``; the names of these splits."""
    to_parse = [name for name in files if "trees" not in files[name] and not recipe.task.trees_inside]
    for name in to_parse:  # before hours of parsing
        _check_texts(recipe, name, files[name])
    for name in to_parse:
        files[name]["trees"] = _parse(recipe, name, files[name], folder, workers, progress)
    return set(to_parse)


def _write_corpus(
    writer: CorpusWriter, origin: Origin, work: WorkFolder, output: Path, *, store_states: bool
) -> None:
    """Write the corpus in the work folder, the manifest last, and move it to its name."""
    corpus = work.path / _NEW
    corpus.mkdir()
    manifest = writer.write(corpus, origin)
    if store_states:
        manifest = add_states(corpus, manifest, work.path, writer.progress)
    manifest.save(corpus)
    _check_replaceable(output)
    move_folder(corpus, output, aside=work.path / _REPLACED)


def _check_texts(recipe: DataRecipe, split: str, files: Mapping[str, Path]) -> None:
    """Raise ``ValueError`` for bad lines in text that is to be parsed, if they are not dropped."""
    bad = BadLines(drop=recipe.drop)
    good = 0
    for problem in recipe.task.checked_texts(recipe.task.splits[split], files):
        if problem is None:
            good += 1
        else:
            bad.add(problem)
    bad.check(good)


def _parse(
    recipe: DataRecipe, split: str, files: Mapping[str, Path], folder: Path, workers: int, progress: Progress
) -> Path:
    """The file of trees of a split, parsed unless an earlier run did."""
    path = folder / f"{split}.trees"
    if path.exists():
        return path
    name = parser_name(recipe.parser, recipe.task.language)
    progress.log(f"{split}: parsing {files['file']} with {name}")
    work = recipe.task.to_parse(files)
    line_parser = LineParser(parser_maker(name), tokenized=work.tokenized, one_per_line=work.one_per_line)

    def parsed(lines: Iterator[str], done: int) -> Iterator[Any]:
        for number, line in enumerate(parse_lines(lines, line_parser, workers=workers), start=done + 1):
            yield line
            progress.update(number, None, f"{split} parsed")

    texts = ("" if isinstance(line, BadLine) else line for line in work.lines)
    failures = write_lines(texts, parsed, path, {"parser": name})
    if failures:
        progress.log(f"{split}: the parser failed on {failures} sentences, their trees are flat")
    return path
