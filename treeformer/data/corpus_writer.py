"""``CorpusWriter``: samples with trees to the files of a prepared corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treeformer.data.corpus import FORMAT, LABELS, Labels, Manifest, SplitCounts, settings_of
from treeformer.data.encoder import EncoderFacts
from treeformer.data.examples import Example, integers
from treeformer.data.processor import TreeProcessor, label_list
from treeformer.data.reading import Reading
from treeformer.data.recipe import DataRecipe, Subwords
from treeformer.data.sample import BadLine, BadLines, Sample
from treeformer.data.split import SplitWriter
from treeformer.data.tasks.task import DEV, TRAIN
from treeformer.data.vocabulary import UNKNOWN, SubwordVocabulary, Vocabulary, WordVocabulary
from treeformer.progress import Progress
from treeformer.storage import sha256, write_json

_RARE_LABEL = 2  # labels of nodes with a lower count are read as <unk>


class Origin(NamedTuple):
    """What a prepared corpus is made from. A corpus with the same origin is up to date."""

    version: str
    recipe: dict[str, Any]
    sources: dict[str, str]  #: SHA-256 by file name
    parser: str
    encoder: EncoderFacts | None = None


class CorpusWriter:
    """The vocabulary and the splits of one corpus.

    Args:
        recipe: the ``data`` part of a recipe.
        files: paths of the files of each split, by role.
        parsed: splits whose trees `prepare` parsed.
        progress: where to report.
        overrides: changes to the YAML file of the recipe that `train` repeats; the manifest records them.
    """

    def __init__(
        self,
        recipe: DataRecipe,
        files: Mapping[str, Mapping[str, Path]],
        parsed: Set[str],
        progress: Progress,
        overrides: tuple[str, ...] = (),
    ) -> None:
        self.overrides = overrides
        self.recipe = recipe
        self.files = files
        self.parsed = parsed
        self.progress = progress

    def write(self, folder: Path, origin: Origin) -> Manifest:
        """Write all files of a prepared corpus but its manifest, which is returned."""
        task = self.recipe.task
        vocabulary, labels, classes = self._learn(over_encoder=origin.encoder is not None)
        processor = TreeProcessor(vocabulary, settings_of(self.recipe, labels, classes, origin.encoder))
        names = list(task.splits)
        if task.held_out and DEV not in names:
            names.append(DEV)
        counts = {split: self._write_split(split, processor, folder) for split in names}
        vocabulary.save(folder)
        write_json(folder / LABELS, Labels(nodes=labels, classes=classes).model_dump())
        return Manifest(
            **origin._asdict(),
            overrides=self.overrides,
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

    def _learn(self, *, over_encoder: bool) -> tuple[Vocabulary, tuple[str, ...], tuple[str, ...]]:
        """The vocabulary, the labels of nodes and the names of classes, learnt from train alone."""
        words: Counter[str] = Counter()
        labels: Counter[str] = Counter()
        classes: set[str] = set()
        settings = self.recipe.vocabulary
        for sample in self._samples(TRAIN, Counter()):
            for tree in sample.sentences:
                words.update(tree.words)
                labels.update(tree.labels)
                if isinstance(settings, Subwords) and not over_encoder:
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
        if over_encoder:  # leaves are words, of which the model has no table
            vocabulary = WordVocabulary.learn({}, 1)
        elif isinstance(settings, Subwords):
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
            reading = processor.reading(sample.sentences, exact=True)
            example = _example(sample, reading, processor)
            targets = 0 if example.target_ids is None else len(example.target_ids)
            size = (len(example.input_ids), len(example.node_ids), targets)
            if split == TRAIN and self.recipe.longest and max(size[0], targets) > self.recipe.longest:
                dropped[f"longer than {self.recipe.longest}"] += 1
                continue
            texts = {}
            if sample.target_text is not None and sample.target_tokens is not None:
                texts = {"target_text": sample.target_text, "target_tokens": " ".join(sample.target_tokens)}
            if processor.settings.encoder is not None:
                texts["words"] = " ".join(reading.tree.words)
            writer.add(example, **texts)
            sizes.append(size)
            unknown += _unknown_leaves(example, processor.settings.encoder)
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


def _unknown_leaves(example: Example, encoder: EncoderFacts | None) -> int:
    """The number of leaves unknown to the vocabulary, or with a piece unknown to the encoder."""
    if encoder is None or example.piece_words is None:
        return int((example.input_ids == UNKNOWN).sum())
    words = example.piece_words[example.piece_ids == encoder.unknown]
    return len(np.unique(words[words >= 0]))


def _example(sample: Sample, reading: Reading, processor: TreeProcessor) -> Example:
    """The ids and targets of a sample."""
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
