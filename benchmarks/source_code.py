"""Modules of the standard library parsed by tree-sitter: failures, lost words, speed.

    python -m benchmarks.source_code [--files 1000]

The modules are those of the running interpreter, its tests included. For each the words of the tree are
compared with the text without white space. Modules that Python itself cannot compile are counted apart.
"""

import argparse
import platform
import random
import re
import sysconfig
import time
import tokenize
import warnings
from pathlib import Path

from treeformer.parsing.source_code import CodeParser

_WHITE_SPACE = re.compile("[ \t\r\n\f\v]+")


def main() -> None:
    """Print how many modules were parsed, and what went wrong with each of the others."""
    parser = argparse.ArgumentParser(description="Parse modules of the standard library.")
    parser.add_argument("--files", type=int, default=1000, help="how many (default: %(default)s)")
    arguments = parser.parse_args()
    texts = modules()
    random.Random(1).shuffle(texts)
    texts = texts[: arguments.files]
    code = CodeParser("python")
    words = nodes = failed = lost = not_python = 0
    seconds = 0.0
    for path, text in texts:
        start = time.process_time()
        [(trees, failures)] = code.try_texts([text])
        seconds += time.process_time() - start
        words += sum(len(tree.words) for tree in trees)
        nodes += sum(map(len, trees))
        if "".join(word for tree in trees for word in tree.words) != _WHITE_SPACE.sub("", text):
            lost += 1
            print(f"{path}: other words than the text")
        for failure in failures:
            if compiles(text):
                failed += 1
                print(f"{path}: {failure.reason}")
            else:
                not_python += 1
    print(
        f"Python {platform.python_version()}: {len(texts):,} modules, {words:,} words, {nodes:,} nodes, "
        f"{failed} failures, {lost} with other words; {not_python} more that Python does not compile"
    )
    print(f"{words / seconds:,.0f} words/s on one core")


def modules() -> list[tuple[Path, str]]:
    """The modules that can be decoded, with their texts."""
    library = Path(sysconfig.get_paths()["stdlib"])
    texts = []
    for path in sorted(library.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        try:
            with tokenize.open(path) as file:
                texts.append((path.relative_to(library), file.read()))
        except (SyntaxError, UnicodeDecodeError):  # examples of wrong encodings among the tests
            continue
    return texts


def compiles(text: str) -> bool:
    """Whether Python accepts the text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "module", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


if __name__ == "__main__":
    main()
