"""Fuzzing of the readers of files that are not trees: tables, settings, models."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

from tests.torture.campaigns import Case
from tests.torture.fixtures import Fixtures
from tests.torture.mutation import (
    VALUES,
    damaged,
    damaged_bytes,
    damaged_value,
    dumped,
    line_of_text,
    random_tree,
)
from tests.torture.reading import Readings, outcome


class Tables(Readings):
    """Labelled files: JSON lines, CSV, TSV and Parquet, read as ``prepare`` does."""

    name = "labelled files"
    share = 3.0

    def run(self, case: Case) -> None:
        from treeformer.data.sample import BadLine, Sample
        from treeformer.data.tasks.labelled import LabelledTask

        generator = case.random
        kind = generator.choice(["jsonl", "jsonl", "csv", "csv", "tsv", "parquet"])
        rows = [
            {
                "text": line_of_text(generator),
                "tree": str(random_tree(generator)),
                "label": generator.choice(_LABELS),
            }
            for _ in range(generator.randint(0, 4))
        ]
        whole = generator.random() < 0.1
        content = _table(generator, kind, rows, whole=whole)
        path = self.written(case, f"train.{kind}", content)
        tree = generator.choice([None, "tree"])
        splits = {"train": {"file": path.name}}
        task = LabelledTask.model_validate({"name": "labelled", "tree": tree, "splits": splits})
        files = {"file": path, "trees": path.with_name("trees")}

        def read() -> list[object]:
            split = task.splits["train"]
            texts = list(task.checked_texts(split, files)) if tree is None else []
            return texts + (list(task.samples(split, files, "keep")) if tree else [])

        found = outcome(read, str(path))
        if isinstance(found, list):
            places = [one.location for one in found if isinstance(one, BadLine | Sample)]
            case.check(all(place.startswith(str(path)) for place in places), f"places: {places}")
            lost = whole and len(found) != len(rows)
            case.check(not lost, f"{len(found)} of {len(rows)} rows are read")


_LABELS: list[Any] = [
    "good",
    "bad",
    1,
    1.0,
    True,
    0,
    None,
    "",
    " x ",
    1.5,
    float("nan"),
    10**20,
    [1],
    {"a": 1},
    "é",
]


def _table(generator: Random, kind: str, rows: list[dict[str, Any]], *, whole: bool) -> bytes:
    """A table as a file of this kind, mostly damaged unless it shall be whole."""
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        if generator.random() < 0.3:
            column: Any = [generator.choice([b"\xff", b"a", None]) for _ in rows]
        else:
            column = [str(row["label"]) for row in rows]
        columns = {
            "text": [row["text"] for row in rows],
            "tree": [row["tree"] for row in rows],
            "label": column,
        }
        sink = io.BytesIO()
        pq.write_table(pa.table(columns), sink, compression=generator.choice(["none", "snappy"]))
        if whole or generator.random() < 0.2:
            return sink.getvalue()
        return damaged_bytes(generator, sink.getvalue())
    if kind == "jsonl":
        values = rows if whole else [damaged_value(generator, row) for row in rows]
        text = "".join(f"{dumped(value)}\n" for value in values)
    else:
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter="," if kind == "csv" else "\t")
        writer.writerow(["text", "tree", "label"])
        writer.writerows([[row["text"], row["tree"], row["label"]] for row in rows])
        text = stream.getvalue()
    if not whole and generator.random() < 0.7:
        text = damaged(generator, text)
    return text.encode("utf-8", "surrogatepass")


class Recipes(Readings):
    """Damaged recipes and overrides."""

    name = "recipes"
    share = 2.0

    def set_up(self, folder: Path) -> None:
        import yaml

        super().set_up(folder)
        texts = [path.read_text() for path in sorted(Path("recipes").glob("*.yaml"))]
        self.recipes = [(text, value) for text in texts if "systems" in (value := yaml.safe_load(text))]

    def run(self, case: Case) -> None:
        import yaml

        from treeformer.training.recipe import Recipe

        generator = case.random
        text, value = generator.choice(self.recipes)
        if generator.random() < 0.5:
            text = damaged(generator, text)
        else:
            value = damaged_value(generator, value)
            try:
                text = dumped(value) if generator.random() < 0.8 else yaml.safe_dump(value)
            except (RecursionError, yaml.YAMLError):
                text = dumped(value)
        content = text.encode("utf-8", "surrogatepass" if generator.random() < 0.5 else "replace")
        path = self.written(case, "recipe.yaml", content)
        recipe = outcome(lambda: Recipe.load(path), str(path))
        if isinstance(recipe, Recipe):
            outcome(recipe.resolved)


class Overrides(Readings):
    """``--set`` with any key and value."""

    name = "overrides"
    share = 1.0

    def set_up(self, folder: Path) -> None:
        super().set_up(folder)
        self.path = folder / "recipe.yaml"
        systems = {"tree-transformer": {"sizes": {"d_model": 16}, "training": {"updates": 3}}}
        content = {
            "data": {"task": {"name": "sst", "splits": {"train": {"file": "a"}}}},
            "model": "tree-transformer",
            "systems": systems,
            "training": {"updates": 10, "tokens": 100, "learning_rate": 0.1},
        }
        self.path.write_text(json.dumps(content))

    def run(self, case: Case) -> None:
        from treeformer.training.recipe import Recipe

        generator = case.random
        key = ".".join(generator.choices(_KEYS, k=generator.randint(1, 4)))
        if generator.random() < 0.5:
            key = generator.choice(
                ["training.updates", "data.drop", "systems.tree-transformer.sizes.d_model", "model"]
            )
        value = generator.choice([str(generator.choice(VALUES)), json.dumps(generator.choice(VALUES))])
        override = f"{key}={value}"
        if generator.random() < 0.5:
            override = damaged(generator, override)
        case.keep("override", override.encode("utf-8", "surrogatepass"))
        outcome(lambda: Recipe.load(self.path, [override]), str(self.path), "--set")


_KEYS = [
    "data",
    "task",
    "training",
    "systems",
    "tree-transformer",
    "sizes",
    "updates",
    "model",
    "splits",
    "train",
    "",
    "a",
]


class Jsons(Readings):
    """Damaged JSON files of prepared corpora, runs, parsers and encoders, each opened as the commands do."""

    name = "JSON of our folders"
    share = 2.0

    def __init__(self, fixtures: Fixtures) -> None:
        self.fixtures = fixtures

    def set_up(self, folder: Path) -> None:
        super().set_up(folder)
        shutil.copytree(self.fixtures.run, folder / "run")
        shutil.copytree(self.fixtures.prepared, folder / "prepared")
        shutil.copytree(self.fixtures.parser, folder / "parser")
        shutil.copytree(self.fixtures.frozen, folder / "frozen")
        shutil.copytree(self.fixtures.encoder, folder / "encoder")
        names = ["run/processor.json", "run/tokenizer.json", "run/run.json", "run/config.json"]
        names += ["prepared/manifest.json", "prepared/labels.json", "parser/parser.json"]
        names += ["frozen/processor.json", "frozen/config.json"]
        names += ["encoder/config.json", "encoder/tokenizer.json", "encoder/encoder.json"]
        # Checksums would refuse all damage.
        for path in folder.rglob("checksums.json"):
            path.unlink()
        (folder / "encoder" / "encoder.json").write_text(json.dumps({"name": "tiny", "sha256": {}}))
        path = folder / "prepared" / "manifest.json"
        manifest = json.loads(path.read_text())
        del manifest["digest"]
        path.write_text(json.dumps({**manifest, "format": 1, "checksums": {}}))
        self.contents = {name: (folder / name).read_text() for name in names}
        self.with_checksums = json.dumps(manifest)
        row = {"source": "a b", "length": 2, "group": 0, "label": "x", "predicted": "y", "right": False}
        self.contents["run/predictions/dev.jsonl"] = json.dumps({**row, "probabilities": [0.5, 0.5]}) + "\n"
        (folder / "run" / "predictions").mkdir(exist_ok=True)

    def run(self, case: Case) -> None:
        generator = case.random
        name = generator.choice([*self.contents])
        text = self.contents[name]
        if name == "prepared/manifest.json" and generator.random() < 0.5:
            text = self.with_checksums
        if generator.random() < 0.4:
            text = damaged(generator, text)
        else:
            value = damaged_value(generator, json.loads(text))
            text = dumped(value) + "\n"
        content = text.encode("utf-8", "surrogatepass" if generator.random() < 0.5 else "replace")
        case.keep(name.replace("/", "-"), content)
        path = self.folder / name
        path.write_bytes(content)
        try:
            others = _OTHER_FILES.get(path.name, ())
            folders = [f"{path.parent}: "] if path.parent.name in ("encoder", "frozen") else []
            found = outcome(lambda: _open(name, path.parent), path.name, *others, *folders)
            if path.name == "config.json" and path.parent.name in ("run", "frozen"):
                _check_quick_reader(case, found, path, *others, *folders)
        finally:
            path.write_text(self.contents[name])


def _check_quick_reader(case: Case, found: object, path: Path, *others: str) -> None:
    """`Failure` unless the classifier without torch refuses a run where `load_run` did."""
    from treeformer.inference.onnx_classifier import quick_classifier

    quick = outcome(lambda: quick_classifier(path.parent, device="cpu"), path.name, *others)
    same = isinstance(quick, Exception) == isinstance(found, Exception)
    case.check(same, f"without torch: {quick!r}, with torch: {found!r}")


# What a message may name where two files do not fit together.
_OTHER_FILES = {
    "parser.json": ("parser.safetensors",),
    "config.json": ("model.safetensors",),
    "manifest.json": ("train.arrow", "dev.arrow"),
}


def _open(name: str, folder: Path) -> object:
    """Read a file of a folder as the commands do."""
    if folder.name == "encoder":
        from treeformer.encoders import load_encoder

        return load_encoder(folder)
    match Path(name).name:
        case "processor.json" | "tokenizer.json":
            from treeformer.data.processor import TreeProcessor
            from treeformer.trees import Tree

            processor = TreeProcessor.from_pretrained(folder)
            return processor([Tree.from_brackets("(S (NP (DT the) (NN film)) (VBZ is))")])
        case "run.json":
            from treeformer.inference.loading import run_facts

            return run_facts(folder)
        case "config.json":
            from treeformer.inference.loading import load_run

            return load_run(folder, device="cpu")
        case "manifest.json" | "labels.json":
            from treeformer.data.corpus import PreparedCorpus

            corpus = PreparedCorpus.open(folder)
            corpus.check()
            return [corpus[split][0] for split in corpus.manifest.splits]
        case "dev.jsonl":
            from treeformer.evaluation.predictions import load_predictions

            return load_predictions(folder / "dev.jsonl")
    from treeformer.parsing import load_parser

    return str(load_parser(str(folder)).parse_tokens([["the", "film"]]))


class Splits(Readings):
    """Damaged Arrow files and stored states: an error that names the file, or examples that can be read."""

    name = "Arrow splits"
    share = 4.0

    def __init__(self, fixtures: Fixtures) -> None:
        self.fixtures = fixtures

    def set_up(self, folder: Path) -> None:
        super().set_up(folder)
        self.content = (self.fixtures.prepared / "dev.arrow").read_bytes()
        self.states = (self.fixtures.with_states / "dev.states.npy").read_bytes()

    def run(self, case: Case) -> None:
        from treeformer.data.split import Split

        arrow = path = self.folder / "dev.arrow"
        states = None
        if case.random.random() < 0.2:
            arrow = self.fixtures.with_states / "dev.arrow"
            states = path = self.written(case, "dev.states.npy", self._damaged_states(case.random))
        else:
            self.written(case, "dev.arrow", damaged_bytes(case.random, self.content))

        def read() -> object:
            split = Split(arrow, states)
            return [split[number] for number in range(min(len(split), 50))], split.sizes, split.groups

        outcome(read, str(path))

    def _damaged_states(self, generator: Random) -> bytes:
        """A file of states with damage in its header or anywhere."""
        if generator.random() < 0.5:
            return damaged_bytes(generator, self.states[:128]) + self.states[128:]
        return damaged_bytes(generator, self.states)


class Weights(Readings):
    """Damaged safetensors: of runs, of a checkpoint, of a parser and of an encoder."""

    name = "safetensors"
    share = 1.5

    def __init__(self, fixtures: Fixtures) -> None:
        self.fixtures = fixtures

    def set_up(self, folder: Path) -> None:
        super().set_up(folder)
        shutil.copytree(self.fixtures.run, folder / "run")
        shutil.copytree(self.fixtures.parser, folder / "parser")
        shutil.copytree(self.fixtures.frozen, folder / "frozen")
        shutil.copytree(self.fixtures.encoder, folder / "encoder")
        (folder / "encoder" / "encoder.json").unlink()
        for path in folder.rglob("checksums.json"):  # it would refuse all damage
            path.unlink()
        [*_, state] = sorted((folder / "run" / "state").iterdir())
        self.paths = [folder / "parser" / "parser.safetensors", folder / "run" / "model.safetensors"]
        self.paths += [state / "model.safetensors", folder / "frozen" / "model.safetensors"]
        self.paths += [folder / "encoder" / "model.safetensors"]
        self.contents = {path: path.read_bytes() for path in self.paths}
        self.hashes = json.loads((state / "manifest.json").read_bytes())

    def run(self, case: Case) -> None:
        from treeformer.encoders import load_encoder
        from treeformer.inference.loading import Loaded, load_run
        from treeformer.parsing import load_parser
        from treeformer.training import checkpoints

        path = case.random.choice(self.paths)
        content = self.contents[path]
        size = 8 + int.from_bytes(content[:8], "little")
        if case.random.random() < 0.6:  # the header
            content = damaged_bytes(case.random, content[:size]) + content[size:]
        else:
            content = damaged_bytes(case.random, content)
        case.keep(f"{path.parent.name}-{path.name}", content)
        path.write_bytes(content)
        try:
            match path.parent.name:
                case "parser":
                    outcome(lambda: load_parser(str(path.parent)), str(path))
                case "encoder":
                    outcome(lambda: load_encoder(path.parent), f"{path.parent}: ", str(path))
                case "run" | "frozen":
                    run = outcome(lambda: load_run(path.parent, device="cpu"), str(path))
                    _check_quick_reader(case, run, path)
                    if isinstance(run, Loaded):
                        finite = all(weight.isfinite().all() for weight in run.model.parameters())
                        case.check(finite, "infinite weights were loaded")
                case _:  # with the right hash, or all damage would be refused
                    hashes = {**self.hashes, path.name: hashlib.sha256(content).hexdigest()}
                    (path.parent / "manifest.json").write_text(json.dumps(hashes))
                    outcome(lambda: checkpoints.load(path.parent), str(path))
        finally:
            path.write_bytes(self.contents[path])
