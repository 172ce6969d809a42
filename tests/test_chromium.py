"""A machine without a browser: the browser tests fail with the name of the missing part."""

from __future__ import annotations

import shutil
import sys
from types import ModuleType

import pytest
from chromium import chromium, missing


@pytest.mark.parametrize("absent", ["chromium", "chromedriver"])
def test_a_browser_test_fails_where_there_is_no_browser(monkeypatch, absent):
    monkeypatch.setitem(sys.modules, "selenium", ModuleType("selenium"))
    monkeypatch.setattr(shutil, "which", lambda name: None if name == absent else f"/bin/{name}")
    assert missing() == f"{absent} is not installed"
    with pytest.raises(pytest.fail.Exception, match=f"{absent} is not installed; a test marked"):
        chromium().__enter__()


def test_a_browser_test_fails_where_selenium_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "selenium", None)
    with pytest.raises(pytest.fail.Exception, match="selenium is not installed"):
        chromium().__enter__()
