"""Reads and actions on a report that is open in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_runs

from conformance.run_files.reading import read_run
from reports.run import write


def report(folder: Path, lines: list[dict[str, Any]], **how: Any) -> str:
    """Write the report of a made run into `folder` and return its address."""
    run = read_run(made_runs.run_file(folder / "run.jsonl", lines, **how))
    return write(run, folder / "report.html").as_uri()


def wait(condition: Callable[[], Any]) -> Any:
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    # The page may redraw between the lookup of an element and its use.
    patience = WebDriverWait(None, 20, 0.02, [StaleElementReferenceException])
    return patience.until(lambda _: condition())


def ready(browser: Any, mark: str = "search-ready") -> None:
    """Wait for the page's performance mark that it is usable."""
    marks = "return performance.getEntriesByName(arguments[0]).length"
    wait(lambda: browser.execute_script(marks, mark))


def all_of(browser: Any, selector: str) -> list[Any]:
    return [one for one in browser.find_elements("css selector", selector) if one.is_displayed()]


def one(browser: Any, selector: str) -> Any:
    return wait(lambda: next(iter(all_of(browser, selector)), None))


def keys(browser: Any, *typed: str) -> None:
    browser.switch_to.active_element.send_keys(*typed)


TEXTS = """
return [...document.querySelectorAll(arguments[0])]
  .filter((one) => one.checkVisibility()).map((one) => (one.innerText ?? one.textContent).trim());
"""


def texts(browser: Any, selector: str) -> list[str]:
    """The texts of the visible elements, read in one step."""
    return browser.execute_script(TEXTS, selector)


def urgent(browser: Any) -> list[str]:
    return texts(browser, "#urgent .row-id")


def address(browser: Any) -> str:
    return browser.execute_script("return location.hash")


def choose(browser: Any, name: str, value: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(browser.find_element("id", f"filter-{name}")).select_by_value(value)


def shows(browser: Any, identifier: str) -> None:
    wait(lambda: texts(browser, "#program-id") == [identifier])
