"""Settings shared by all tests, and tiny models that several rooms ask."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# There are virtual machines that announce AMX and kill a program at its first instruction of it.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# Tests do not see the encoders that are installed, unless they are told: `make test-encoders`.
os.environ.setdefault("TREEFORMER_ENCODERS", str(Path(__file__).with_name("no-encoders")))

# The first call of a torch kernel can take seconds, so a deadline per example would say nothing. Under CI
# hypothesis loads its own profile, which has no deadline either and draws the same examples every time.
settings.register_profile("local", deadline=None)
if settings.get_current_profile_name() == "default":
    settings.load_profile("local")


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``sentiment-SYSTEM`` and ``translation-SYSTEM``, and the corpora they come from."""
    from tests.inference.runs import trained
    from tests.training.corpora import sentiment, translation

    folder = tmp_path_factory.mktemp("runs")
    corpora = {
        "sentiment": sentiment(folder / "sentiment"),
        "translation": translation(folder / "translation"),
    }
    for name, corpus in corpora.items():
        for system in ("tree-transformer", "transformer"):
            trained(corpus, folder / f"{name}-{system}", system)
    return folder


@pytest.fixture(scope="session")
def composed(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the Composed Tree Transformer on the corpus of ``sentiment-SYSTEM``."""
    from tests.inference.runs import trained
    from treeformer.data.corpus import PreparedCorpus

    corpus = PreparedCorpus.open(runs / "sentiment" / "prepared")
    return trained(
        corpus, tmp_path_factory.mktemp("composed") / "sentiment-composed", "composed-tree-transformer"
    )
