"""CoreNLP's jars: which ones a language needs, where they are looked for, and how they get there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

VERSION = "4.5.10"  #: what `install` installs
MODELS = {
    "en": ("models", "models-english"),
    "de": ("models-german",),
    "fr": ("models-french",),
}
_MEGABYTES = {"models": 474, "models-english": 445, "models-german": 200, "models-french": 281}
_CORE = re.compile(r"stanford-corenlp-(\d+(?:\.\d+)*)\.jar")
_INSTALL = "treeformer parser install corenlp"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>treeformer</groupId>
  <artifactId>corenlp</artifactId>
  <version>1</version>
  <dependencies>{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency>
      <groupId>edu.stanford.nlp</groupId>
      <artifactId>stanford-corenlp</artifactId>
      <version>{version}</version>{classifier}
    </dependency>"""


@dataclass(frozen=True)
class Jars:
    """CoreNLP with the models of one language: its version, and the class path that Java takes."""

    version: str
    class_path: str


def default_folder() -> Path:
    """Where CoreNLP is installed unless the user names a folder: among the user's data."""
    if data := os.environ.get("XDG_DATA_HOME"):
        base = Path(data)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path.home() / ".local" / "share"
    return base / "treeformer" / "corenlp"


def chosen_folder() -> Path:
    """``CORENLP_HOME`` where it is set, else `default_folder`."""
    return Path(os.environ.get("CORENLP_HOME") or default_folder())


def find(language: str, folder: str | os.PathLike[str] | None = None) -> Jars:
    """The newest CoreNLP in ``folder``, by default in `chosen_folder`."""
    place = Path(folder) if folder else chosen_folder()
    versions = [found[1] for jar in place.glob("*.jar") if (found := _CORE.fullmatch(jar.name))]
    if not versions:
        raise FileNotFoundError(
            f"no CoreNLP in {place}: run `{_INSTALL}`, or name its folder (folder=, or CORENLP_HOME)"
        )
    version = max(versions, key=lambda text: [int(number) for number in text.split(".")])
    own = _jar_names(version, language)
    for name in own:
        if not (place / name).is_file():
            raise FileNotFoundError(
                f"{place} lacks {name} for language {language!r}: run `{_INSTALL} --language {language}`"
            )
    others = [jar.name for jar in place.glob("*.jar") if not jar.name.startswith("stanford-corenlp-")]
    return Jars(version, os.pathsep.join(str(place / name) for name in [*own, *sorted(others)]))


def install(folder: Path, languages: Iterable[str], say: Callable[[str], object] = print) -> None:
    """Have Maven fetch CoreNLP and the models of these languages into ``folder``, unless they are there.

    Jars appear whole or not at all, and models last, so a folder that has the models has all they need.
    """
    languages = sorted(set(languages))
    for language in languages:
        if language not in MODELS:
            raise ValueError(f"language = {language!r}: expected one of {', '.join(MODELS)}")
    missing = [language for language in languages if not _complete(folder, language)]
    if not missing:
        say(f"CoreNLP {VERSION} for {', '.join(languages)} is already in {folder}")
        return
    maven = shutil.which("mvn")
    if maven is None:
        raise FileNotFoundError(
            "mvn not found: installing CoreNLP needs Maven (Debian, Ubuntu: apt install maven)"
        )
    models = sorted({model for language in missing for model in MODELS[language]})
    size = sum(_MEGABYTES[model] for model in models)
    say(f"Installing CoreNLP {VERSION} for {', '.join(missing)}: {size} MB into {folder}")
    say("Maven keeps what it downloads; the first time takes minutes.")
    unfinished = folder / ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)  # of an attempt that was killed
    unfinished.mkdir(parents=True)
    try:
        _fetch(maven, models, unfinished)
        for jar in sorted(unfinished.glob("*.jar"), key=lambda jar: (_jar_rank(jar.name), jar.name)):
            jar.replace(folder / jar.name)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    held = sum(jar.stat().st_size for jar in folder.glob("*.jar"))
    say(f"{folder} now holds {held / 1e6:.0f} MB")


def _complete(folder: Path, language: str) -> bool:
    return all((folder / name).is_file() for name in _jar_names(VERSION, language))


def _jar_names(version: str, language: str) -> list[str]:
    models = [f"stanford-corenlp-{version}-{model}.jar" for model in MODELS[language]]
    return [f"stanford-corenlp-{version}.jar", *models]


def _jar_rank(name: str) -> int:
    """Libraries come first, then CoreNLP, then models."""
    return name.startswith("stanford-corenlp-") + ("-models" in name)


def _fetch(maven: str, models: Iterable[str], target: Path) -> None:
    """Have Maven put CoreNLP, the libraries it needs, and these models into ``target``."""
    classifiers = ["", *(f"\n      <classifier>{model}</classifier>" for model in models)]
    dependencies = "".join(_DEPENDENCY.format(version=VERSION, classifier=one) for one in classifiers)
    pom = target / "pom.xml"
    pom.write_text(_POM.format(dependencies=dependencies), encoding="utf-8")
    command = [maven, "--batch-mode", "--quiet", "-Dstyle.color=never", "--file", str(pom)]
    goal = [
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={target.absolute()}",
    ]
    done = subprocess.run([*command, *goal], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise OSError(f"Maven could not fetch CoreNLP: {lines[0] if lines else f'status {done.returncode}'}")
