"""From files to a prepared corpus: parse what has no trees, learn the vocabulary, write the splits."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treeformer import __version__
from treeformer.data.corpus import LABELS, MANIFEST, Manifest, PreparedCorpus, SplitCounts, settings_of
from treeformer.data.processor import TreeProcessor, label_list
from treeformer.data.recipe import DataRecipe, Subwords
from treeformer.data.sample import Bad, Sample
from treeformer.data.split import Example, SplitWriter, integers
from treeformer.data.tasks.task import DEV, TRAIN
from treeformer.data.vocabulary import UNKNOWN, SubwordVocabulary, Vocabulary, WordVocabulary
from treeformer.parsing import load_parser
from treeformer.parsing.corpus import LineParser, parse_lines
from treeformer.parsing.loading import parser_maker, parser_name
from treeformer.parsing.output import write_lines

Tell = Callable[[str], None]
READY = "ready trees"  #: who made the trees, where no parser ran
_TELL_EVERY = 10.0  # seconds
_RARE_LABEL = 2  # labels of nodes that are seen less often train <unk>


class Origin(NamedTuple):
    """What a prepared corpus is made from: if this has not changed, neither has the corpus."""

    version: str
    recipe: dict[str, Any]
    sources: dict[str, str]
    parser: str


def prepare(
    recipe: DataRecipe, data: Path, output: Path, *, workers: int = 1, tell: Tell = print
) -> PreparedCorpus:
    """The corpus of a recipe in the folder ``output``, which is left alone if it is up to date.

    A folder appears whole or not at all: it is made beside its place and then moved there. What an
    interrupted run had parsed is not parsed again.

    Args:
        recipe: which corpus and how.
        data: where its files are.
        output: the folder to write; what is in it must be a prepared corpus.
        workers: processes that parse.
        tell: is called with a line for each step.
    """
    files = {split: part.find(data) for split, part in recipe.task.splits.items()}
    origin = _origin(recipe, data, files)
    if output.exists() and any(output.iterdir()):
        before = PreparedCorpus.open(output).manifest
        if Origin(before.version, before.recipe, before.sources, before.parser) == origin:
            tell(f"{output}: up to date")
            return PreparedCorpus.open(output)
        tell(f"{output}: made from other files or settings, so it is made again")
    unfinished = _unfinished_folder(output, origin)
    for split, paths in files.items():
        if "trees" not in paths and not recipe.task.trees_inside:
            paths["trees"] = _parse(recipe, split, paths, unfinished, workers, tell)
    preparation = _Preparation(recipe, files, tell)
    preparation.write(unfinished, origin)
    _move(unfinished, output)
    return PreparedCorpus.open(output)


def _origin(recipe: DataRecipe, data: Path, files: Mapping[str, Mapping[str, Path]]) -> Origin:
    """What the corpus will be made from."""
    paths = {path for split in files.values() for path in split.values()}
    sources = {str(path.relative_to(data)): _sha256(path) for path in sorted(paths)}
    parsed = not recipe.task.trees_inside and any("trees" not in split for split in files.values())
    parser = READY
    if parsed:
        with load_parser(parser_name(recipe.parser, recipe.task.language)) as loaded:
            parser = loaded.name
    return Origin(__version__, recipe.model_dump(mode="json"), sources, parser)


def _sha256(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unfinished_folder(output: Path, origin: Origin) -> Path:
    """A folder beside ``output``, with what an interrupted run of the same origin left in it."""
    folder = output.with_name(output.name + ".unfinished")
    note = folder / "origin.json"
    begun = json.dumps(origin._asdict())
    if not note.is_file() or note.read_text(encoding="utf-8") != begun:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        note.write_text(begun, encoding="utf-8")
    return folder


def _parse(
    recipe: DataRecipe, split: str, files: Mapping[str, Path], folder: Path, workers: int, tell: Tell
) -> Path:
    """A file of trees for a split, made by the parser unless an earlier run did."""
    path = folder / f"{split}.trees"
    if path.exists():
        return path
    name = parser_name(recipe.parser, recipe.task.language)
    tell(f"{split}: parsing {files['file']} with {name}")
    work = recipe.task.to_parse(files)
    line_parser = LineParser(parser_maker(name), tokenized=work.tokenized, one_per_line=work.one_per_line)

    def parsed(done: int) -> Iterator[Any]:
        lines = iter(work.lines)
        for _ in range(done):
            next(lines, None)
        return _told(parse_lines(lines, line_parser, workers=workers), split, done, tell)

    flat = write_lines(parsed, path, {"parser": name})
    if flat:
        tell(f"{split}: the parser failed on {flat} sentences, their trees are flat")
    return path


def _told(parsed: Iterator[Any], split: str, done: int, tell: Tell) -> Iterator[Any]:
    """The same lines, with their number told from time to time."""
    last = time.monotonic()
    for number, line in enumerate(parsed, start=done + 1):
        yield line
        if time.monotonic() - last > _TELL_EVERY:
            last = time.monotonic()
            tell(f"{split}: {number:,} lines parsed")


def _move(unfinished: Path, output: Path) -> None:
    """Put the finished folder in its place; what was there before goes when the new one is there."""
    for path in [unfinished / "origin.json", *unfinished.glob("*.trees*")]:
        path.unlink()
    old = output.with_name(output.name + ".old")
    if old.exists():
        shutil.rmtree(old)
    if output.exists():
        output.rename(old)
    unfinished.rename(output)
    if old.exists():
        shutil.rmtree(old)


class _Preparation:
    """One run: the recipe, the files of each split, and what was dropped of them."""

    def __init__(self, recipe: DataRecipe, files: Mapping[str, Mapping[str, Path]], tell: Tell) -> None:
        self.recipe = recipe
        self.files = files
        self.tell = tell

    def write(self, folder: Path, origin: Origin) -> None:
        """Write all that belongs to a prepared corpus, the manifest last."""
        vocabulary, labels, classes = self._learn()
        settings = settings_of(self.recipe, labels, classes)
        processor = TreeProcessor(vocabulary, settings)
        counts: dict[str, SplitCounts] = {}
        for split in self._split_names():
            counts[split] = self._write_split(split, processor, folder)
        vocabulary.save(folder)
        _write_json(folder / LABELS, {"nodes": labels, "classes": classes})
        manifest = Manifest(
            **origin._asdict(),
            kind=self.recipe.task.kind,
            language=self.recipe.task.language,
            vocab_size=processor.vocab_size,
            node_vocab_size=processor.node_vocab_size,
            classes=classes,
            halves=self.recipe.task.halves,
            splits=counts,
        )
        _write_json(folder / MANIFEST, manifest.model_dump(mode="json"))

    def _split_names(self) -> list[str]:
        task = self.recipe.task
        return [*task.splits, *([DEV] if task.held_out and DEV not in task.splits else [])]

    def _samples(self, split: str, dropped: Counter[str], classes: tuple[str, ...] = ()) -> Iterator[Sample]:
        """The samples of a split; what is bad is counted if the recipe says so, else an error."""
        task = self.recipe.task
        every = task.held_out if DEV not in task.splits else None
        source = TRAIN if split not in task.splits else split
        good = 0
        for sample in task.samples(task.splits[source], self.files[source], self.recipe.unary):
            if classes and isinstance(sample, Sample) and sample.label not in classes:
                story = f"expected one of the classes of train, {', '.join(classes)}, found {sample.label!r}"
                sample = Bad(sample.place, "unknown class", story)
            if isinstance(sample, Bad):
                if not self.recipe.drop:
                    raise ValueError(f"{sample.place}: {sample.story}; drop: true leaves such lines out")
                dropped[sample.reason] += 1
                continue
            good += 1
            if source == TRAIN and every and (good % every == 0) != (split == DEV):
                continue
            yield sample

    def _learn(self) -> tuple[Vocabulary, tuple[str, ...], tuple[str, ...]]:
        """The vocabulary, the labels of nodes and the names of classes, from train alone."""
        words: Counter[str] = Counter()
        labels: Counter[str] = Counter()
        classes: set[str] = set()
        subwords = isinstance(self.recipe.vocabulary, Subwords)
        for sample in self._samples(TRAIN, Counter()):
            for tree in sample.sentences:
                words.update(tree.words)
                labels.update(tree.labels)
                if subwords:
                    labels.update(tree.tags)
            words.update(sample.target_tokens or ())
            if sample.label is not None:
                classes.add(sample.label)
        if not words:
            raise ValueError(f"{self.files[TRAIN]['file']}: expected examples to train on, found none")
        if self.recipe.trees not in ("parsed", "shuffled"):
            labels = Counter({"X": _RARE_LABEL})
        known = label_list(label for label, count in labels.items() if count >= _RARE_LABEL)
        names = self.recipe.task.class_names
        vocabulary: Vocabulary
        if isinstance(self.recipe.vocabulary, Subwords):
            vocabulary = SubwordVocabulary.learn(words, self.recipe.vocabulary.size)
        else:
            settings = self.recipe.vocabulary
            vocabulary = WordVocabulary.learn(words, settings.min_count, lower=settings.lower)
        self.tell(f"{vocabulary.rows} tokens, {len(known)} labels of nodes")
        return vocabulary, known, tuple(sorted(classes)) if names is None else names

    def _write_split(self, split: str, processor: TreeProcessor, folder: Path) -> SplitCounts:
        """Write the Arrow file of a split and say what is in it."""
        writer = SplitWriter()
        dropped: Counter[str] = Counter()
        sizes = []
        unknown = 0
        for sample in self._samples(split, dropped, processor.settings.classes):
            example = self._example(sample, processor)
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
        self.tell(_line(split, counts))
        return counts

    def _example(self, sample: Sample, processor: TreeProcessor) -> Example:
        """The numbers of a sample."""
        example = processor.encode(sample.sentences, sample.targets)
        if sample.label is not None:
            example = example._replace(label=processor.settings.classes.index(sample.label))
        if sample.target_tokens is not None:
            pieces = [number for token in sample.target_tokens for number in processor.vocabulary.ids(token)]
            example = example._replace(target_ids=integers(pieces))
        return example._replace(group=sample.group)


def _line(split: str, counts: SplitCounts) -> str:
    """What a split holds, in words."""
    parts = [f"{counts.examples:,} examples", f"{counts.leaves:,} leaves", f"{counts.nodes:,} nodes"]
    if counts.targets:
        parts.append(f"{counts.targets:,} target tokens")
    parts.append(f"{counts.unknown:.1%} unknown")
    parts += [f"{number:,} left out: {reason}" for reason, number in sorted(counts.dropped.items())]
    return f"{split}: {', '.join(parts)}"


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
