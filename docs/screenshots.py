"""Take the screenshots of docs/serving.md: python docs/screenshots.py [--translation RUN].

The page runs in Chromium (`make test-browser` installs it). The comparison shows CoreNLP if CORENLP_HOME is
set, otherwise a balanced tree. The screenshot of a translation needs a run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.browser.page import Page, open_chromium
from tests.serving.process import serving

FOLDER = Path(__file__).parent / "pictures"
REVIEW = "The plot is dull, but the actors save it."


def attention(page: Page) -> None:
    page.open(REVIEW)
    page.select("@S: but the actors save it")
    page.wait(lambda driver: page.all(".link"))


def effects(page: Page) -> None:
    page.open("Although the zip is flimsy, the lining is excellent.", show="effect")


def accumulation(page: Page) -> None:
    page.open()
    page.select("NP:")
    page.click('[data-step="next"]')
    page.click('[data-step="next"]')


def comparison(page: Page) -> None:
    known = page.driver.execute_script(
        "return [...document.getElementById('compare').options].map((o) => o.value)"
    )
    page.open(
        "The old man the boats.", compare="parser corenlp" if "parser corenlp" in known else "shape balanced"
    )


def phone(page: Page) -> None:
    page.emulate(390, 844, dark=True, mobile=True)
    page.open()


def translation(page: Page) -> None:
    page.open("A young girl in a red dress plays with a dog.", task="translation")
    page.click(page.all(".targets button")[1])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--translation", help="a run that translates English")
    options = arguments.parse_args()
    pictures: list[Callable[[Page], None]] = [attention, accumulation, comparison, phone, effects]
    serve = []
    if options.translation:
        pictures.append(translation)
        serve = ["--translation", options.translation]
    environment = {
        "CORENLP_HOME": os.environ.get("CORENLP_HOME", "/nowhere"),
        "TREEFORMER_ENCODERS": "/nowhere",  # the small model, which every reader has
    }
    driver = open_chromium()
    try:
        with serving("--seconds", "90", *serve, environment=environment) as service:
            service.ask("parse", inputs=["It is loaded now."], parser="corenlp")
            for make in pictures:
                page = Page(driver, service.address, FOLDER)
                page.emulate(1100, 700)
                page.open()
                make(page)
                page.driver.execute_script(
                    "document.activeElement.blur(); document.getElementById('tooltip').hidden = true"
                )
                page.screenshot(f"page-{make.__name__}", height=1000)
                shrink(FOLDER / f"page-{make.__name__}.png")
    finally:
        driver.quit()


def shrink(path: Path) -> None:
    """Reduce a picture to 128 colours."""
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
