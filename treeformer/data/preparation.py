"""``prepare``: files to a prepared corpus. Parse text, learn the vocabulary, write the splits."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from treeformer import __version__
from treeformer.data.corpus import LABELS, MANIFEST, Manifest, PreparedCorpus, SplitCounts, settings_of
from treeformer.data.processor import TreeProcessor, label_list
from treeformer.data.recipe import DataRecipe, Subwords
from treeformer.data.sample import BadLine, Sample
from treeformer.data.split import Example, SplitWriter, integers
from treeformer.data.tasks.task import DEV, TRAIN
from treeformer.data.vocabulary import UNKNOWN, SubwordVocabulary, Vocabulary, WordVocabulary
from treeformer.parsing import load_parser
from treeformer.parsing.corpus import parse_lines
from treeformer.parsing.line_parser import LineParser
from treeformer.parsing.loading import parser_maker, parser_name
from treeformer.parsing.output import write_lines
from treeformer.progress import Progress, terminal_progress
from treeformer.storage import move_folder, write_json

READY = "ready trees"  #: the parser of a manifest where no parser ran
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
    data: str | Path,
    output: str | Path,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> PreparedCorpus:
    """Write the corpus of a recipe into the folder ``output``, unless it is there and up to date.

    The folder appears whole or not at all. After an interruption, what was parsed is not parsed again.

    Args:
        recipe: a `Recipe`, or its ``data`` part.
        data: the folder of the files that the recipe names.
        output: the folder to write; it must be missing, empty or a prepared corpus.
        workers: processes that parse.
        progress: where to report; by default standard error.
    """
    recipe = recipe if isinstance(recipe, DataRecipe) else recipe.data
    data, output = Path(data), Path(output)
    progress = progress or terminal_progress("lines")
    files = {name: split.find(data) for name, split in recipe.task.splits.items()}
    origin = _origin(recipe, data, files)
    if output.exists() and any(output.iterdir()):
        corpus = PreparedCorpus.open(output)
        manifest = corpus.manifest
        if Origin(manifest.version, manifest.recipe, manifest.sources, manifest.parser) == origin:
            progress.log(f"{output}: up to date")
            return corpus
        progress.log(f"{output}: its sources or settings have changed, preparing it again")
    unfinished = _unfinished_folder(output, origin)
    with progress:
        for split, paths in files.items():
            if "trees" not in paths and not recipe.task.trees_inside:
                paths["trees"] = _parse(recipe, split, paths, unfinished, workers, progress)
        _Preparation(recipe, files, progress).write(unfinished, origin)
    for path in [unfinished / "origin.json", *unfinished.glob("*.trees*")]:
        path.unlink()
    move_folder(unfinished, output)
    return PreparedCorpus.open(output)


def _origin(recipe: DataRecipe, data: Path, files: Mapping[str, Mapping[str, Path]]) -> Origin:
    """The origin of the corpus that a recipe describes."""
    paths = {path for split in files.values() for path in split.values()}
    sources = {str(path.relative_to(data)): _sha256(path) for path in sorted(paths)}
    parser = READY
    if not recipe.task.trees_inside and any("trees" not in split for split in files.values()):
        with load_parser(parser_name(recipe.parser, recipe.task.language)) as loaded:
            parser = loaded.name
    return Origin(__version__, recipe.model_dump(mode="json"), sources, parser)


def _sha256(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unfinished_folder(output: Path, origin: Origin) -> Path:
    """A folder beside ``output``, with the trees that an interrupted run of the same origin parsed."""
    folder = output.with_name(output.name + ".unfinished")
    note = folder / "origin.json"
    content = json.dumps(origin._asdict())
    if not note.is_file() or note.read_text(encoding="utf-8") != content:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        note.write_text(content, encoding="utf-8")
    return folder


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

    failures = write_lines(work.lines, parsed, path, {"parser": name})
    if failures:
        progress.log(f"{split}: the parser failed on {failures} sentences, their trees are flat")
    return path


class _Preparation:
    """The vocabulary and the splits of one corpus.

    Args:
        recipe: the ``data`` part of a recipe.
        files: paths of the files of each split, by role.
        progress: where to report.
    """

    def __init__(
        self, recipe: DataRecipe, files: Mapping[str, Mapping[str, Path]], progress: Progress
    ) -> None:
        self.recipe = recipe
        self.files = files
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
        write_json(folder / LABELS, {"nodes": labels, "classes": classes})
        manifest = Manifest(
            **origin._asdict(),
            kind=task.kind,
            language=task.language,
            vocab_size=processor.vocab_size,
            node_vocab_size=processor.node_vocab_size,
            classes=classes,
            halves=task.halves,
            splits=counts,
        )
        write_json(folder / MANIFEST, manifest.model_dump(mode="json"))

    def _samples(self, split: str, dropped: Counter[str], classes: tuple[str, ...] = ()) -> Iterator[Sample]:
        """The samples of a split; bad lines are counted if the recipe drops them, else an error."""
        task = self.recipe.task
        every = task.held_out if DEV not in task.splits else None
        source = split if split in task.splits else TRAIN
        good = 0
        for sample in task.samples(task.splits[source], self.files[source], self.recipe.unary):
            if classes and isinstance(sample, Sample) and sample.label not in classes:
                known = ", ".join(classes)
                problem = f"expected one of the classes of train, {known}, found {sample.label!r}"
                sample = BadLine(sample.location, "unknown class", problem)
            if isinstance(sample, BadLine):
                if not self.recipe.drop:
                    raise ValueError(f"{sample.location}: {sample.problem}; drop: true skips such lines")
                dropped[sample.reason] += 1
                continue
            good += 1
            held_out = every is not None and good % every == 0
            if source != TRAIN or every is None or held_out == (split == DEV):
                yield sample

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
