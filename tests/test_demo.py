"""The demo, on a tiny budget: both models are trained and scored, and the picture is a drawing."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
BUDGET = ["--updates", "4", "--sentences", "40", "--tests", "2"]


def test_the_demo_scores_both_models_and_leaves_a_picture(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(DEMO), *BUDGET, "--output", str(tmp_path / "new")],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "update    4 of 4" in run.stdout
    for name in ("Tree Transformer", "Transformer"):
        (row,) = re.findall(rf"^{name} +(\d.*)$", run.stdout, re.MULTILINE)
        *accuracies, parameters, seconds = row.split()
        assert len(accuracies) == 6
        assert all(0 <= float(accuracy) <= 100 for accuracy in accuracies)
        assert int(parameters.replace(",", "")) > 70_000
        assert float(seconds) >= 0
    picture = ElementTree.parse(tmp_path / "new" / "agreement.svg").getroot()
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    titles = [title.text or "" for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert any(title.startswith("predicted: ") for title in titles)
