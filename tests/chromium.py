"""A headless Chromium that opens files from disk, for tests of pages and their benchmark."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REMEDY = (
    "a test marked `browser` needs chromium, chromedriver (Debian: apt install chromium "
    'chromium-driver) and selenium; deselect them with: pytest -m "not browser"'
)


def missing() -> str | None:
    """The missing ones of Chromium, its driver and selenium, as a text; None if all are there."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


@contextmanager
def chromium(javascript: bool = True) -> Iterator[Any]:
    """A selenium driver of a fresh Chromium with an empty profile, 1280 by 900 pixels.

    Fails the test if there is no Chromium: skipped browser tests would look like passed ones.
    """
    if reason := missing():
        pytest.fail(f"{reason}; {REMEDY}", pytrace=False)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        if not javascript:
            setting = "profile.managed_default_content_settings.javascript"
            options.add_experimental_option("prefs", {setting: 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = Service(str(shutil.which("chromedriver")), log_output=os.devnull)
        browser = webdriver.Chrome(options=options, service=service)
        try:
            resize(browser, 1280, 900)
            yield browser
        finally:
            with suppress(Exception):
                browser.quit()


def resize(browser: Any, width: int, height: int) -> None:
    """Set the page's viewport to this many pixels, even below the window's minimum."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )


def prefer(browser: Any, scheme: str) -> None:
    """Emulate the system's preference for `light` or `dark`."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
