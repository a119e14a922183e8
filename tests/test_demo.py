"""The demo, on a few sentences and updates."""

import lzma
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from treeformer.inference import Classifier

ROOT = Path(__file__).parents[1]
SIZES = {"train": 80, "dev": 10, "test": 30}


def test_the_demo_scores_both_models_and_writes_a_picture_and_runs(tmp_path: Path) -> None:
    data, output = tmp_path / "data", tmp_path / "new"
    data.mkdir()
    for split, size in SIZES.items():
        name = f"agreement.{split}.jsonl"
        with lzma.open(ROOT / "examples" / "data" / f"{name}.xz", "rt", encoding="utf-8") as lines:
            (data / name).write_text("".join(next(lines) for _ in range(size)), encoding="utf-8")

    few = [
        "--data",
        str(data),
        "--output",
        str(output),
        "--set",
        "training.updates=3",
        "--set",
        "training.warm_up=0",
    ]
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py"), *few],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert run.returncode == 0, run.stderr

    assert "update 3: dev loss" in run.stdout
    for name in ("Tree Transformer", "Transformer"):
        (row,) = re.findall(rf"^{name} +(\d.*)$", run.stdout, re.MULTILINE)
        scores = re.findall(r"(\d+\.\d) \((\d+)–(\d+)\)", row)
        assert len(scores) == 4
        assert all(float(low) - 0.5 <= float(score) <= float(high) + 0.5 for score, low, high in scores)
    picture = ElementTree.parse(output / "agreement.svg").getroot()
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    titles = [title.text or "" for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert any(title.startswith("predicted: ") for title in titles)
    for folder in ("tree", "transformer"):
        (answer,) = Classifier.from_pretrained(output / folder, device="cpu")(["The keys to the cabinet"])
        assert answer.label in ("VBZ", "VBP")


def test_the_sentences_of_the_demo_are_in_one_split_each() -> None:
    texts = {}
    for split in SIZES:
        path = ROOT / "examples" / "data" / f"agreement.{split}.jsonl.xz"
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            texts[split] = set(lines)
    assert sum(map(len, texts.values())) == len(set().union(*texts.values())) == 11_140
