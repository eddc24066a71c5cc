"""The extension for VS Code: it compiles, passes its own tests against the real server, and works in VS Code itself.

VS Code is code-server, which serves it to a browser; `.ci/hosts` fetches both.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from zipfile import ZipFile

import pytest
from edited_files import SIZE, VM
from running import HOSTS, ROOT

EXTENSION = ROOT / "editors" / "vscode"
CODE_SERVER = HOSTS / "code-server" / "node_modules" / "code-server" / "out" / "node" / "entry.js"
READY = HOSTS / "code-server" / "ready"  # written when all of it is installed
SERVER = Path(sys.executable).with_name("kubevirt-render")
VARIABLES = {**os.environ, "KUBEVIRT_RENDER": str(SERVER)}
TEXTS = "return [...document.querySelectorAll(arguments[0])].map(each => each.textContent)"
MISSPELT = VM.replace("runStrategy: Always", "runStrategy: always")

needs_npm = pytest.mark.skipif(not (shutil.which("npm") and shutil.which("node")), reason="node and npm are not on the PATH")


def test_the_lockfile_names_no_registry() -> None:
    packages = json.loads((EXTENSION / "package-lock.json").read_text())["packages"]
    assert all("resolved" not in each for each in packages.values())
    assert all("integrity" in each for name, each in packages.items() if name)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the extension with the packages of its lockfile."""
    folder = tmp_path_factory.mktemp("extension")
    left_out = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(EXTENSION, folder, ignore=left_out, dirs_exist_ok=True)
    ran = npm(folder, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
    if ran.returncode and any(word in ran.stderr for word in ("ENOTFOUND", "ECONNREFUSED", "EAI_AGAIN", "ETIMEDOUT")):
        pytest.skip("the packages of the extension can't be fetched")
    assert ran.returncode == 0, ran.stderr
    return folder


def npm(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["npm", *words], cwd=folder, env=VARIABLES, capture_output=True, text=True, check=False, timeout=300)


def packaged(folder: Path) -> Path:
    """The package of the extension, made unless it is there."""
    made = folder / "dist" / "kubevirt-render.vsix"
    if not made.exists():
        ran = npm(folder, "run", "package")
        assert ran.returncode == 0, ran.stdout + ran.stderr
    return made


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_for(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with socket.socket() as found:
            if found.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port}")


@needs_npm
@pytest.mark.parametrize("script", ["check", "test", "package"])
def test_the_extension_compiles_passes_its_own_tests_and_is_packaged(built: Path, script: str) -> None:
    ran = npm(built, "run", script)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@needs_npm
def test_the_package_has_the_licence_of_each_package_that_is_bundled(built: Path) -> None:
    with ZipFile(packaged(built)) as vsix:
        notices = vsix.read("extension/dist/ThirdPartyNotices.txt").decode().split("\n---\n\n")
    assert all("Copyright (c) " in notice for notice in notices)
    packages = json.loads((EXTENSION / "package-lock.json").read_text())["packages"]
    bundled = {name.rpartition("node_modules/")[2]: each for name, each in packages.items() if name and not each.get("dev")}
    named = [f"{name} {each['version']} ({each['license']})" for name, each in sorted(bundled.items())]
    assert [notice.partition("\n")[0] for notice in notices] == named


def test_the_settings_of_the_extension_are_those_of_the_docs() -> None:
    package = json.loads((EXTENSION / "package.json").read_text())
    settings = package["contributes"]["configuration"]["properties"]
    for page in (EXTENSION / "README.md", ROOT / "docs" / "editors.md"):
        rows = [line.split("`")[1] for line in page.read_text().splitlines() if line.startswith("| `kubevirtRender.")]
        assert rows == list(settings), page


@pytest.fixture
def editor(built: Path, tmp_path: Path) -> Iterator[str]:
    """The address of VS Code with the extension."""
    pytest.importorskip("selenium", reason="selenium is not installed")
    if not (READY.exists() and shutil.which("chromedriver")):
        pytest.skip("code-server and Chromium are missing; .ci/hosts fetches them")
    (tmp_path / "user" / "User").mkdir(parents=True)
    settings = {"kubevirtRender.path": str(SERVER), "workbench.startupEditor": "none", "editor.hover.delay": 100}
    (tmp_path / "user" / "User" / "settings.json").write_text(json.dumps(settings))
    port = free_port()
    places = [
        "--user-data-dir",
        f"{tmp_path}/user",
        "--extensions-dir",
        f"{tmp_path}/extensions",
        "--config",
        f"{tmp_path}/c.yaml",
    ]
    program = ["node", str(CODE_SERVER), *places]
    vsix = ["--install-extension", str(packaged(built))]
    subprocess.run([*program, *vsix], check=True, capture_output=True, timeout=120)
    quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"]
    with (tmp_path / "log").open("w") as log:
        ran = subprocess.Popen([*program, *quiet, "--bind-addr", f"127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        ran.terminate()
        ran.wait(30)


@needs_npm
def test_vs_code_shows_findings_fixes_them_and_shows_sizes(editor: str, tmp_path: Path) -> None:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "size.yaml").write_text(SIZE)
    (folder / "vm.yaml").write_text(MISSPELT)
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1400,900"):
        options.add_argument(word)
    options.binary_location = str(shutil.which("chromium"))
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))

    def seen(selector: str, word: str = "") -> str:
        """The text of what the page has for a selector, with this word in it; waits for it."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            texts = browser.execute_script(TEXTS, selector)  # at once: the editor makes its elements again and again
            if found := [text for text in texts if word in text.replace("\xa0", " ")]:
                return found[0]
            time.sleep(0.2)
        browser.save_screenshot(str(tmp_path / "seen.png"))
        raise AssertionError(f"no {selector} with {word!r}: {tmp_path}/seen.png")

    try:
        place = f"vscode-remote://{editor.removeprefix('http://')}{folder}/vm.yaml"
        browser.get(f"{editor}/?folder={folder}&payload={quote(json.dumps([['openFile', place]]))}")
        seen(".squiggly-error")
        ActionChains(browser).send_keys(Keys.F8).perform()
        assert "runStrategy 'always' is not supported" in seen(".marker-widget", "refused-run-strategy")
        ActionChains(browser).send_keys(Keys.ESCAPE).key_down(Keys.CONTROL).send_keys(".").key_up(Keys.CONTROL).perform()
        seen(".action-widget", "Change to Always")
        ActionChains(browser).send_keys(Keys.ENTER).perform()
        seen(".view-line", "runStrategy: Always")
        seen(".view-line", "2 vCPUs, 4 GiB")
        assert WebDriverWait(browser, 60).until(lambda page: not page.execute_script(TEXTS, ".squiggly-error"))
        if picture := os.environ.get("SCREENSHOT"):
            browser.save_screenshot(picture)
    finally:
        browser.quit()
