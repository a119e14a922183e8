"""The page as a test sees it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.serving.process import TEXT


def open_chromium(downloads: Path | None = None) -> webdriver.Chrome:
    """Debian's Chromium without a window."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    if downloads is not None:
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))


class Page:
    """What a person can do on the page."""

    def __init__(self, driver: webdriver.Chrome, address: str, screenshots: Path) -> None:
        self.driver = driver
        self.address = address
        self.screenshots = screenshots
        self.emulate(1280, 900)

    def emulate(self, width: int, height: int, *, dark: bool = False, mobile: bool = False) -> None:
        """A screen of this size, light or dark."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile},
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})

    def open(self, text: str = TEXT, **facts: str) -> None:
        """Load the page with a text in its address, and wait for its tree."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        facts = {"text": text, **facts}
        fragment = "&".join(f"{key}={quote(value)}" for key, value in facts.items())
        self.driver.get(f"{self.address}/#{fragment}")
        self.wait_until_read()

    def wait(self, condition: Any, message: str = "") -> Any:
        return WebDriverWait(self.driver, 20, ignored_exceptions=[StaleElementReferenceException]).until(
            condition, message
        )

    def wait_until_read(self) -> None:
        self.wait(
            lambda driver: self.all(".tree .part") and self.script_busy() == "false", "no tree appeared"
        )

    def script_busy(self) -> str | None:
        return self.one("#results").get_attribute("aria-busy")

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def view_box(self) -> list[float]:
        """The visible part of the first tree: left, top, width, height."""
        box = self.driver.execute_script("return document.querySelector('.tree').getAttribute('viewBox')")
        return [float(number) for number in box.split()]

    def colour(self, label: str, pane: int = 0) -> str | None:
        """The colour behind the part whose spoken name begins like this."""
        return self.part(label, pane).find_element(By.CSS_SELECTOR, ".pill").get_attribute("fill")

    def part(self, label: str, pane: int = 0) -> WebElement:
        """The part whose spoken name begins like this."""
        trees = self.all(".tree")
        return trees[pane].find_element(By.CSS_SELECTOR, f'.part[aria-label^="{label}"]')

    def click(self, element: WebElement | str) -> None:
        if isinstance(element, str):
            element = self.one(element)
        target = element.find_elements(By.CSS_SELECTOR, ".pill") or [element]
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target[0])
        ActionChains(self.driver).move_to_element(target[0]).click().perform()

    def hover(self, element: WebElement) -> None:
        target = element.find_element(By.CSS_SELECTOR, ".pill")
        ActionChains(self.driver).move_to_element(target).perform()

    def choose(self, selector: str, text: str) -> None:
        Select(self.one(selector)).select_by_visible_text(text)

    def choose_labelled(self, label: str, text: str) -> None:
        box = self.driver.find_element(
            By.XPATH, f"//label[starts-with(normalize-space(.), '{label}')]//select"
        )
        Select(box).select_by_visible_text(text)

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def select(self, label: str, pane: int = 0) -> None:
        """Select a part and wait for its attention."""
        self.click(self.part(label, pane))
        self.wait(lambda driver: self.all("#details .attention"), "no attention appeared")

    def screenshot(self, name: str, *, scale: float = 1, height: int = 4000) -> None:
        """All of the page down to some height, as ``name.png``."""
        whole = self.driver.execute_script("return document.documentElement.scrollHeight")
        width = self.driver.execute_script("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, whole), "scale": scale}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        (self.screenshots / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def problems(self) -> list[str]:
        """What the browser complained about since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def hosts(self) -> set[str]:
        """The hosts that were contacted since the page was opened."""
        hosts = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                hosts.add(urlsplit(message["params"]["request"]["url"]).netloc)
        return hosts - {""}
