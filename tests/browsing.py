"""A real browser: headless Chromium, driven as a person uses it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from running import CHROMIUM, HOSTS, absent
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-sync"),
)
AXE = HOSTS / "axe" / "axe.min.js"
HEIGHT = 900
PATIENCE = 20  # seconds
RUN_AXE = """
const done = arguments[0];
axe.run(document, {resultTypes: ["violations"]}).then(({violations, passes}) => done([violations, passes.length]));
"""


class Browser:
    """A page in Chromium."""

    def __init__(self, folder: Path) -> None:
        program, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if not (program and driver):
            absent(CHROMIUM)
        options = Options()
        for flag in (*FLAGS, f"user-data-dir={folder}"):
            options.add_argument(f"--{flag}")
        options.binary_location = program
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(driver))

    def shown_as(self, *, width: int, dark: bool, media: str = "screen") -> None:
        """The width of the window in pixels, the colours that the system prefers, and what the page is shown on."""
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})

    def open(self, page: Path, address: str = "") -> None:
        """Load a page anew."""
        self.driver.get("about:blank")
        self.driver.get(f"{page.as_uri()}{address}")

    def errors(self) -> list[str]:
        """What the console has since it was asked last."""
        return [each["message"] for each in self.driver.get_log("browser")]

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def comes_to(self, script: str, wanted: Any) -> None:
        """Wait until a script returns a value: the page draws another part only after its address has changed."""
        WebDriverWait(self.driver, PATIENCE).until(lambda _: self.run(script) == wanted, f"{script}: {wanted}")

    def all(self, selector: str) -> list[WebElement]:
        """The elements that are shown."""
        return [each for each in self.driver.find_elements(By.CSS_SELECTOR, selector) if each.is_displayed()]

    def one(self, selector: str) -> WebElement:
        return self.all(selector)[0]

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def point_at(self, element: WebElement) -> None:
        ActionChains(self.driver).move_to_element(element).perform()

    @property
    def address(self) -> str:
        """What comes after the # in the address."""
        return str(self.driver.current_url).partition("#")[2]

    def violations(self) -> list[tuple[str, str, str]]:
        """What axe finds serious or worse: rule, the first element, and what to do."""
        if not AXE.exists():
            pytest.skip("no axe-core: run .ci/hosts")
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
        found, passed = self.driver.execute_async_script(RUN_AXE)
        assert passed > 5  # it has looked at something
        bad = [each for each in found if each["impact"] in ("serious", "critical")]
        return [(each["id"], each["nodes"][0]["html"], each["nodes"][0]["failureSummary"]) for each in bad]
