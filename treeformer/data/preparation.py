"""``prepare``: files to a prepared corpus. Parse text, learn the vocabulary, write the splits."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from treeformer import __version__
from treeformer.data.corpus import (
    FORMAT,
    LABELS,
    Labels,
    Manifest,
    PreparedCorpus,
    SplitCounts,
    settings_of,
)
from treeformer.data.examples import Example, integers
from treeformer.data.processor import TreeProcessor, label_list
from treeformer.data.recipe import DataRecipe, Subwords
from treeformer.data.sample import BadLine, BadLines, Sample
from treeformer.data.split import SplitWriter
from treeformer.data.tasks.task import DEV, TRAIN
from treeformer.data.vocabulary import UNKNOWN, SubwordVocabulary, Vocabulary, WordVocabulary
from treeformer.parsing import load_parser
from treeformer.parsing.corpus import parse_lines
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.loading import parser_maker, parser_name
from treeformer.parsing.output import write_lines
from treeformer.progress import Progress, terminal_progress
from treeformer.storage import WorkFolder, move_folder, sha256, write_file, write_json

READY = "ready trees"  #: the parser of a manifest where no parser ran
_NEW, _REPLACED = "corpus", "replaced"  # folders in the work folder
_RARE_LABEL = 2  # labels of nodes with a lower count are read as <unk>


class Origin(NamedTuple):
    """What a prepared corpus is made from. A corpus with the same origin is up to date."""

    version: str
    recipe: dict[str, Any]
    sources: dict[str, str]  #: SHA-256 by file name
    parser: str


class HasData(Protocol):
    """A whole recipe, of which `prepare` needs the ``data`` part."""

    @property
    def data(self) -> DataRecipe: ...


def prepare(
    recipe: HasData | DataRecipe,
    data: str | Path | None,
    output: str | Path,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> PreparedCorpus:
    """Write the corpus of a recipe into the folder ``output``, unless it is there and up to date.

    The folder appears whole or not at all. After an interruption, what was parsed is not parsed again.

    Args:
        recipe: a `Recipe`, or its ``data`` part.
        data: the folder of the files that the recipe names; None for a task that generates its examples.
        output: the folder to write; it must be missing, empty or a prepared corpus.
        workers: processes that parse.
        progress: where to report; by default standard error.
    """
    recipe = recipe if isinstance(recipe, DataRecipe) else recipe.data
    output = Path(output)
    if output.is_symlink():
        output = output.resolve()  # the folder is replaced, not the link to it
    progress = progress or terminal_progress("lines")
    files = _find_files(recipe, data)
    origin = _origin(recipe, data, files)
    corpus = _existing_corpus(output, origin, progress)
    if corpus is not None:
        progress.log(f"{output}: up to date")
        _remove_work(output)
        return corpus
    with WorkFolder(output) as work, progress:
        try:
            _resume(work, output, origin)
            _write_corpus(recipe, files, work, output, origin, workers=workers, progress=progress)
        except BaseException:
            shutil.rmtree(work.path / _NEW, ignore_errors=True)
            if not any(work.path.glob("*.trees*")):  # there is nothing to resume
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


def _origin(recipe: DataRecipe, data: str | Path | None, files: Mapping[str, Mapping[str, Path]]) -> Origin:
    """The origin of the corpus that a recipe describes."""
    paths = {path for split in files.values() for path in split.values()}
    sources = {str(path.relative_to(data or "")): sha256(path) for path in sorted(paths)}
    parser = READY
    if not recipe.task.trees_inside and any("trees" not in split for split in files.values()):
        with load_parser(parser_name(recipe.parser, recipe.task.language)) as loaded:
            parser = loaded.name
    return Origin(__version__, recipe.model_dump(mode="json"), sources, parser)


def _existing_corpus(output: Path, origin: Origin, progress: Progress) -> PreparedCorpus | None:
    """The corpus in a folder if it is up to date, None if it must be written."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return None
    corpus = PreparedCorpus.open(output)
    manifest = corpus.manifest
    if Origin(manifest.version, manifest.recipe, manifest.sources, manifest.parser) != origin:
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
    others = {path.name for path in output.iterdir()} - PreparedCorpus.open(output).manifest.files
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
    content = json.dumps(origin._asdict()).encode()
    if not note.is_file() or note.read_bytes() != content:
        work.remove()
        write_file(note, content)


def _write_corpus(
    recipe: DataRecipe,
    files: dict[str, dict[str, Path]],
    work: WorkFolder,
    output: Path,
    origin: Origin,
    *,
    workers: int,
    progress: Progress,
) -> None:
    """Parse what has no trees, write the corpus in the work folder, and move it to its name."""
    to_parse = [name for name in files if "trees" not in files[name] and not recipe.task.trees_inside]
    for name in to_parse:  # before hours of parsing
        _check_texts(recipe, name, files[name])
    for name in to_parse:
        files[name]["trees"] = _parse(recipe, name, files[name], work.path, workers, progress)
    corpus = work.path / _NEW
    corpus.mkdir()
    _Preparation(recipe, files, set(to_parse), progress).write(corpus, origin)
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


class _Preparation:
    """The vocabulary and the splits of one corpus.

    Args:
        recipe: the ``data`` part of a recipe.
        files: paths of the files of each split, by role.
        parsed: splits whose trees `prepare` parsed.
        progress: where to report.
    """

    def __init__(
        self,
        recipe: DataRecipe,
        files: Mapping[str, Mapping[str, Path]],
        parsed: Set[str],
        progress: Progress,
    ) -> None:
        self.recipe = recipe
        self.files = files
        self.parsed = parsed
        self.progress = progress

    def write(self, folder: Path, origin: Origin) -> None:
        """Write all files of a prepared corpus, the manifest last."""
        task = self.recipe.task
        vocabulary, labels, classes = self._learn()
        processor = TreeProcessor(vocabulary, settings_of(self.recipe, labels, classes))
        names = list(task.splits)
        if task.held_out and DEV not in names:
            names.append(DEV)
        counts = {split: self._write_split(split, processor, folder) for split in names}
        vocabulary.save(folder)
        write_json(folder / LABELS, Labels(nodes=labels, classes=classes).model_dump())
        manifest = Manifest(
            **origin._asdict(),
            kind=task.kind,
            language=task.language,
            vocab_size=processor.vocab_size,
            node_vocab_size=processor.node_vocab_size,
            classes=classes,
            halves=task.halves,
            splits=counts,
            format=FORMAT,
            checksums={path.name: sha256(path) for path in sorted(folder.iterdir())},
        )
        manifest.save(folder)

    def _samples(self, split: str, dropped: Counter[str], classes: tuple[str, ...] = ()) -> Iterator[Sample]:
        """The samples of a split; bad lines are counted if the recipe drops them, else an error."""
        task = self.recipe.task
        every = task.held_out if DEV not in task.splits else None
        source = split if split in task.splits else TRAIN
        bad = BadLines(drop=self.recipe.drop)
        good = 0
        parsed = source in self.parsed
        for sample in task.samples(task.splits[source], self.files[source], self.recipe.unary, parsed=parsed):
            if classes and isinstance(sample, Sample) and sample.label not in classes:
                known = ", ".join(classes[:20])
                problem = f"expected one of the classes of train, {known}, found {sample.label!r}"
                sample = BadLine(sample.location, "unknown class", problem)
            if isinstance(sample, BadLine):
                bad.add(sample)
                continue
            good += 1
            held_out = every is not None and good % every == 0
            if source != TRAIN or every is None or held_out == (split == DEV):
                yield sample
        bad.check(good)
        dropped.update(bad.reasons)

    def _learn(self) -> tuple[Vocabulary, tuple[str, ...], tuple[str, ...]]:
        """The vocabulary, the labels of nodes and the names of classes, learnt from train alone."""
        words: Counter[str] = Counter()
        labels: Counter[str] = Counter()
        classes: set[str] = set()
        settings = self.recipe.vocabulary
        for sample in self._samples(TRAIN, Counter()):
            for tree in sample.sentences:
                words.update(tree.words)
                labels.update(tree.labels)
                if isinstance(settings, Subwords):
                    labels.update(tree.tags)
            words.update(sample.target_tokens or ())
            if sample.label is not None:
                classes.add(sample.label)
        if not words:
            raise ValueError(f"{self.files[TRAIN]['file']}: expected examples to train on, found none")
        if self.recipe.trees not in ("parsed", "shuffled"):
            labels = Counter({"X": _RARE_LABEL})  # the only label of control trees
        known_labels = label_list(label for label, count in labels.items() if count >= _RARE_LABEL)
        vocabulary: Vocabulary
        if isinstance(settings, Subwords):
            vocabulary = SubwordVocabulary.learn(words, settings.size)
        else:
            vocabulary = WordVocabulary.learn(words, settings.min_count, lower=settings.lower)
        self.progress.log(f"{vocabulary.rows} tokens, {len(known_labels)} labels of nodes")
        names = self.recipe.task.class_names
        return vocabulary, known_labels, tuple(sorted(classes)) if names is None else names

    def _write_split(self, split: str, processor: TreeProcessor, folder: Path) -> SplitCounts:
        """Write the Arrow file of a split; its counts."""
        writer = SplitWriter()
        dropped: Counter[str] = Counter()
        sizes = []
        unknown = 0
        for sample in self._samples(split, dropped, processor.settings.classes):
            example = _example(sample, processor)
            targets = 0 if example.target_ids is None else len(example.target_ids)
            size = (len(example.input_ids), len(example.node_ids), targets)
            if split == TRAIN and self.recipe.longest and max(size[0], targets) > self.recipe.longest:
                dropped[f"longer than {self.recipe.longest}"] += 1
                continue
            texts = {}
            if sample.target_text is not None and sample.target_tokens is not None:
                texts = {"target_text": sample.target_text, "target_tokens": " ".join(sample.target_tokens)}
            writer.add(example, **texts)
            sizes.append(size)
            unknown += int((example.input_ids == UNKNOWN).sum())
        if not sizes:
            raise ValueError(f"{split}: expected at least one example, found none")
        writer.write(folder / f"{split}.arrow")
        leaves, nodes, targets = map(int, np.sum(sizes, axis=0))
        widest = np.max(sizes, axis=0)
        counts = SplitCounts(
            examples=len(writer),
            leaves=leaves,
            nodes=nodes,
            targets=targets,
            longest=(int(widest[0]), int(widest[1]), int(widest[2])),
            unknown=unknown / leaves,
            dropped=dict(dropped),
        )
        self.progress.log(f"{split}: {_described(counts)}")
        return counts


def _example(sample: Sample, processor: TreeProcessor) -> Example:
    """The ids and targets of a sample."""
    reading = processor.reading(sample.sentences, exact=True)
    example = reading.example if sample.targets is None else reading.with_targets(sample.targets)
    if sample.label is not None:
        example = example._replace(label=processor.settings.classes.index(sample.label))
    if sample.target_tokens is not None:
        pieces = [number for token in sample.target_tokens for number in processor.vocabulary.ids(token)]
        example = example._replace(target_ids=integers(pieces))
    return example._replace(group=sample.group)


def _described(counts: SplitCounts) -> str:
    """The counts of a split in words."""
    parts = [f"{counts.examples:,} examples", f"{counts.leaves:,} leaves", f"{counts.nodes:,} nodes"]
    if counts.targets:
        parts.append(f"{counts.targets:,} target tokens")
    parts.append(f"{counts.unknown:.1%} unknown")
    parts += [f"{number:,} skipped: {reason}" for reason, number in sorted(counts.dropped.items())]
    return ", ".join(parts)
