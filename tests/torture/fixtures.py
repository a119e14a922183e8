"""What campaigns start from: small corpora, a trained run and a small parser, made once."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treeformer.training.recipe import Recipe
    from treeformer.trees import Tree

WORDS = [
    "the",
    "a",
    "film",
    "movie",
    "story",
    "actor",
    "dull",
    "witty",
    "gorgeous",
    "great",
    "bad",
    "plain",
    "awful",
    "good",
    "is",
    "was",
    "seems",
    "and",
    "but",
    "not",
    "very",
    "it",
    "they",
    "he",
    "we",
    "saw",
    "liked",
    "hated",
    "slept",
    "laughed",
    "during",
    "before",
    "with",
    "of",
    "in",
    ".",
    ",",
    "!",
    "?",
]
TEXTS = ["The film is good.", "A dull story, but the actors are great!", "It seems plain.", "Awful"]
LABELS = ["S", "NP", "VP", "PP", "FRAG"]
TAGS = ["DT", "NN", "VBZ", "IN", "JJ", ".", ","]


class Fixtures:
    """Folders and files below one folder, see `make`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recipe = folder / "recipe.yaml"  #: trains a small classifier on `prepared`
        self.files = folder / "files"
        self.prepared = folder / "prepared"
        self.run = folder / "run"
        self.stopped = folder / "stopped"  #: the same run, killed before its last update
        self.parser = folder / "parser"  #: a small one, which has not learnt much
        self.labelled = folder / "labelled.yaml"  #: prepares `texts` with the small parser
        self.texts = folder / "texts"
        self.lines = folder / "lines.txt"
        self.encoder = folder / "encoder"  #: a tiny pretrained encoder with checksums
        self.with_states = folder / "with-states"  #: `files` prepared with its states
        self.frozen = folder / "frozen"  #: a run over these states
        self.trained = folder / "trained"  #: a run that trained the encoder

    def over_encoder(self, train: str) -> list[str]:
        """Overrides of `recipe` for training over the encoder, which is ``frozen``, or ``all`` is trained."""
        return [f"encoder={self.encoder}", f"encoder.train={train}"]

    @property
    def encoder_options(self) -> list[str]:
        """The options of a command that prepares or trains over the frozen encoder."""
        return [part for change in self.over_encoder("frozen") for part in ("--set", change)]


def make(folder: Path) -> Fixtures:
    """Write all fixtures in a child, so that this process stays fresh."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            _make(Fixtures(folder))
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError("the fixtures could not be made")
    return Fixtures(folder)


def sentence(generator: random.Random, longest: int = 9) -> str:
    """Words in any order."""
    return " ".join(generator.choices(WORDS, k=generator.randint(1, longest)))


def _make(fixtures: Fixtures) -> None:
    import yaml

    from tests.training.corpora import SIZES, TRAINING, sentiment_files, sentiment_recipe
    from treeformer.data.preparation import prepare
    from treeformer.progress import Progress
    from treeformer.training.loop import train
    from treeformer.training.recipe import Recipe

    generator = random.Random(1)
    fixtures.folder.mkdir(parents=True, exist_ok=True)
    sentiment_files(fixtures.files, {"train": 60, "dev": 20})
    sentiment_recipe(fixtures.recipe, updates=16)
    recipe = Recipe.load(fixtures.recipe)
    prepare(recipe.data, fixtures.files, fixtures.prepared, progress=Progress())
    train(recipe, fixtures.prepared, fixtures.run, device="cpu", progress=Progress())
    _train_and_kill(recipe, fixtures)
    _small_parser(fixtures)
    _train_over_encoder(fixtures)
    fixtures.texts.mkdir()
    for split, count in {"train": 600, "dev": 40}.items():
        rows = [
            json.dumps({"text": sentence(generator), "label": generator.choice(["good", "bad"])})
            for _ in range(count)
        ]
        (fixtures.texts / f"{split}.jsonl").write_text("".join(f"{row}\n" for row in rows))
    fixtures.lines.write_text("".join(f"{sentence(generator)}\n" for _ in range(2100)))
    splits = {split: {"file": f"{split}.jsonl"} for split in ("train", "dev")}
    content: dict[str, Any] = {
        "data": {
            "task": {"name": "labelled", "splits": splits},
            "parser": str(fixtures.parser),
            "vocabulary": {"kind": "bpe", "size": 80},
        },
        "model": "tree-transformer",
        "systems": {"tree-transformer": {"sizes": SIZES}},
        "training": TRAINING,
    }
    fixtures.labelled.write_text(yaml.safe_dump(content))


def _train_and_kill(recipe: Recipe, fixtures: Fixtures) -> None:
    """Train in a child, which is killed after its third checkpoint."""
    from treeformer.progress import Progress
    from treeformer.training.checkpoints import steps
    from treeformer.training.loop import train

    while True:
        shutil.rmtree(fixtures.stopped, ignore_errors=True)
        pid = os.fork()
        if pid == 0:
            train(recipe, fixtures.prepared, fixtures.stopped, device="cpu", progress=Progress())
            os._exit(0)
        while len(steps(fixtures.stopped / "state")) < 3 and not os.waitpid(pid, os.WNOHANG)[0]:
            time.sleep(0.001)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        facts = json.loads((fixtures.stopped / "run.json").read_text())
        if not facts.get("finished"):
            return


def _train_over_encoder(fixtures: Fixtures) -> None:
    """Make an encoder as an installation does, a corpus with its states, and two runs."""
    from tests.encoders import tiny
    from treeformer.data.preparation import prepare
    from treeformer.encoders.installation import MANIFEST
    from treeformer.progress import Progress
    from treeformer.storage import write_json
    from treeformer.training.loop import train
    from treeformer.training.recipe import Recipe

    shutil.move(tiny.folder_of_files(fixtures.folder / "hub"), fixtures.encoder)
    sums = {path.name: tiny.checksum(path) for path in fixtures.encoder.iterdir()}
    write_json(fixtures.encoder / MANIFEST, {"name": "tiny", "sha256": sums})
    for kind, run in {"frozen": fixtures.frozen, "all": fixtures.trained}.items():
        recipe = Recipe.load(fixtures.recipe, fixtures.over_encoder(kind))
        if kind == "frozen":
            prepare(recipe, fixtures.files, fixtures.with_states, progress=Progress())
        train(recipe, fixtures.with_states, run, device="cpu", progress=Progress())


def _small_parser(fixtures: Fixtures) -> None:
    """Train an embedded parser for a moment."""
    from treeformer.progress import Progress
    from treeformer.training.parser_training import ParserRecipe, train_parser

    trees = fixtures.folder / "trees"
    trees.mkdir()
    text = "".join(f"{_tree(random.Random(number))}\n" for number in range(60))
    (trees / "train.trees").write_text(text)
    sizes = {
        "buckets": 50,
        "word_width": 8,
        "width": 16,
        "layers": 1,
        "heads": 2,
        "inner": 16,
        "span_width": 8,
    }
    content = {
        "name": "small",
        "language": "en",
        "trees": [{"file": "train.trees", "licence": "none"}],
        "network": {**sizes, "bits": 8},
        "learning": {"updates": 20, "batch_words": 500, "rare": 1},
    }
    recipe = ParserRecipe.model_validate(content)
    train_parser(recipe, trees, fixtures.parser, device="cpu", progress=Progress())


def _tree(generator: random.Random) -> Tree:
    """A tree of common words, tags and labels."""
    from treeformer.trees import Tree, random_tree

    words = sentence(generator).split()
    shape = random_tree(words, seed=generator.randrange(1000))
    tags, labels = generator.choices(TAGS, k=len(words)), generator.choices(LABELS, k=len(shape))
    return Tree(words, tags, labels, shape.spans)
