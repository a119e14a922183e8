"""CoreNLP's jars: the ones a language needs, where they are, and how to install them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from treeformer.downloads import data_folder, run_maven
from treeformer.storage import WorkFolder

VERSION = "4.5.10"  #: installed by `install`
MODELS = {
    "en": ("models", "models-english"),
    "de": ("models-german",),
    "fr": ("models-french",),
}
_MEGABYTES = {"models": 474, "models-english": 445, "models-german": 200, "models-french": 281}
_CORE_JAR = re.compile(r"stanford-corenlp-(\d+(?:\.\d+)*)\.jar")
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
    """CoreNLP with the models of one language: its version, and the class path for Java."""

    version: str
    class_path: str


def chosen_folder() -> Path:
    """The folder of CoreNLP: ``CORENLP_HOME`` where it is set, else in the user's data folder."""
    if folder := os.environ.get("CORENLP_HOME"):
        return Path(folder)
    return data_folder() / "corenlp"


def find(language: str, folder: str | os.PathLike[str] | None = None) -> Jars:
    """The newest CoreNLP in ``folder``, by default in `chosen_folder`."""
    place = Path(folder) if folder else chosen_folder()
    names = sorted(jar.name for jar in place.glob("*.jar"))
    versions = [match[1] for match in map(_CORE_JAR.fullmatch, names) if match]
    if not versions:
        raise FileNotFoundError(
            f"no CoreNLP in {place}: run `{_INSTALL}`, or name its folder (folder=, or CORENLP_HOME)"
        )
    version = max(versions, key=lambda text: [int(number) for number in text.split(".")])
    required = _jar_names(version, language)
    for name in required:
        if name not in names:
            raise FileNotFoundError(
                f"{place} lacks {name} for language {language!r}: run `{_INSTALL} --language {language}`"
            )
    libraries = [name for name in names if not name.startswith("stanford-corenlp-")]
    return Jars(version, os.pathsep.join(str(place / name) for name in [*required, *libraries]))


def install(folder: Path, languages: Iterable[str]) -> None:
    """Install CoreNLP and the models of these languages into ``folder`` with Maven, unless present.

    Jars appear whole or not at all, and models last, so a folder with the models is complete.
    """
    languages = sorted(set(languages))
    for language in languages:
        if language not in MODELS:
            raise ValueError(f"language = {language!r}: expected one of {', '.join(MODELS)}")
    missing = [
        language
        for language in languages
        if not all((folder / name).is_file() for name in _jar_names(VERSION, language))
    ]
    if not missing:
        print(f"CoreNLP {VERSION} for {', '.join(languages)} is already in {folder}")
        return
    maven = shutil.which("mvn")
    if maven is None:
        raise FileNotFoundError(
            "mvn not found: installing CoreNLP needs Maven (Debian, Ubuntu: apt install maven)"
        )
    models = sorted({model for language in missing for model in MODELS[language]})
    size = sum(_MEGABYTES[model] for model in models)
    print(f"Installing CoreNLP {VERSION} for {', '.join(missing)}: {size} MB into {folder}")
    print("Maven caches its downloads; the first time takes minutes.")
    folder.mkdir(parents=True, exist_ok=True)
    with WorkFolder(folder / "corenlp") as work:  # inside the folder, so that jars can be renamed into place
        work.remove()
        try:
            _fetch(maven, models, work.path)
            for jar in sorted(work.path.glob("*.jar"), key=lambda jar: "-models" in jar.name):
                jar.replace(folder / jar.name)
        finally:
            work.remove()
    total = sum(jar.stat().st_size for jar in folder.glob("*.jar"))
    print(f"{folder} now holds {total / 1e6:.0f} MB")


def _jar_names(version: str, language: str) -> list[str]:
    """The jars of CoreNLP itself and of the models of a language."""
    models = [f"stanford-corenlp-{version}-{model}.jar" for model in MODELS[language]]
    return [f"stanford-corenlp-{version}.jar", *models]


def _fetch(maven: str, models: Iterable[str], target: Path) -> None:
    """Have Maven copy CoreNLP, its libraries and these models into ``target``."""
    classifiers = ["", *(f"\n      <classifier>{model}</classifier>" for model in models)]
    dependencies = "".join(_DEPENDENCY.format(version=VERSION, classifier=one) for one in classifiers)
    pom = target / "pom.xml"
    pom.write_text(_POM.format(dependencies=dependencies), encoding="utf-8")
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
    folder = f"-DoutputDirectory={target.absolute()}"
    run_maven(maven, "CoreNLP", ["--file", str(pom), *goal, folder])
