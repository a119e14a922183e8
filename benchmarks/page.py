"""The time from the click on the button to the drawn tree, in Chromium.

python -m benchmarks.page [--times 20] [options of treeformer serve]

Needs Chromium and its driver (make test-browser installs them).
"""

from __future__ import annotations

import argparse
import os
import statistics
from pathlib import Path

from tests.browser.page import Page, open_chromium
from tests.serving.process import serving

_SENTENCES = (
    "The film is a warm, funny and quietly moving story about two brothers who never learned to speak up",
    "Nothing in this dull and endless sequel comes close to the charm that made the first one so good",
    "She plays the tired detective with such grace that even the silliest turns of its plot seem quite right",
)
_WATCH = """
const painted = (then) => requestAnimationFrame(() => setTimeout(then));
window.waited = undefined;
document.getElementById("read").addEventListener("click", ({ timeStamp }) => {
  const watching = new MutationObserver(() => {
    if (!document.querySelector(".tree .part")) return;
    watching.disconnect();
    painted(() => (window.waited = performance.now() - timeStamp));
  });
  watching.observe(document.getElementById("panes"), { childList: true });
}, { capture: true, once: true });
"""  # the frame that requestAnimationFrame announces has been painted when the timer runs


def waited(page: Page, text: str) -> float:
    """Milliseconds from the click to the painted tree of a text."""
    page.driver.execute_script("document.getElementById('text').value = arguments[0]", text)
    page.driver.execute_script(_WATCH)
    page.click("#read")
    return float(page.wait(lambda driver: driver.execute_script("return window.waited")))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--times", type=int, default=20)
    options, rest = arguments.parse_known_args()
    words = {len(text.split()) + 1 for text in _SENTENCES}
    print(f"cores: {os.cpu_count()}, words of the sentences: {', '.join(map(str, words))}")
    driver = open_chromium()
    try:
        with serving(*rest) as service:
            page = Page(driver, service.address, Path(".cache"))
            page.open("A film.")
            times = [
                waited(page, f"{_SENTENCES[number % len(_SENTENCES)]} {number}.")
                for number in range(options.times)
            ]
    finally:
        driver.quit()
    print(f"button to tree: first {times[0]:.0f} ms, median {statistics.median(times):.0f} ms,", end=" ")
    print(f"slowest {max(times):.0f} ms of {len(times)}")


if __name__ == "__main__":
    main()
