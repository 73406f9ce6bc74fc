"""Pages in a browser: they open from a file, sort, filter, unfold and print, and ask nothing of a network."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

from tests.report.page.conftest import SCRIPT

pytest.importorskip("selenium")

DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(DRIVER is None or BROWSER is None, reason="no chromium, or no chromedriver")

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1400,900"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
"""The last one leaves the browser without names of hosts, so that its own pages reach no network either."""

Script = Callable[..., Any]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    """A browser with an empty profile, which notes every request."""
    from selenium.webdriver import ChromeOptions
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.chrome.webdriver import WebDriver

    options = ChromeOptions()
    options.binary_location = cast(str, BROWSER)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = WebDriver(options, Service(cast(str, DRIVER)))
    yield found
    found.quit()


@pytest.fixture
def script(driver: WebDriver, page: bytes, tmp_path: Path) -> Iterator[Script]:
    """Runs a script on the page of a run."""
    yield from opened(driver, page, tmp_path / "report.html")


@pytest.fixture
def sweep_script(driver: WebDriver, sweep_page: bytes, tmp_path: Path) -> Iterator[Script]:
    """Runs a script on the page of a sweep."""
    yield from opened(driver, sweep_page, tmp_path / "report.html")


def opened(driver: WebDriver, page: bytes, file: Path) -> Iterator[Script]:
    """Runs a script on a page just opened; afterwards there must be no word on the console and no other request."""
    file.write_bytes(page)
    driver.get(file.as_uri())
    yield driver.execute_script
    log = cast(Callable[[str], list[dict[str, str]]], driver.get_log)
    assert log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in log("performance")]
    requests = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    asked = {r["request"]["url"] for r in requests if r["documentURL"] == file.as_uri()}
    assert {url for url in asked if not url.startswith("data:")} == {file.as_uri()}


COLUMN = """
const cells = document.querySelectorAll(`#rankings tbody tr:not([hidden]) td:nth-child(${arguments[0] + 1})`);
return Array.from(cells, (cell) => cell.dataset.value ?? cell.textContent);
"""
INDEX = "return Number(document.querySelector(`#rankings th[data-column='${arguments[0]}']`).dataset.index)"
HEAD = "return document.querySelector(`#rankings th[data-column='${arguments[0]}']`)"
CHOOSE = """
const form = document.querySelector("form[data-for=rankings]");
const field = arguments[0] === "text" ? form.elements.text : form.querySelector(`select[data-index='${arguments[0]}']`);
field.value = arguments[1];
field.dispatchEvent(new Event("input", {bubbles: true}));
return form.querySelector("output").textContent;
"""


def column(script: Script, name: str) -> list[str]:
    return cast(list[str], script(COLUMN, script(INDEX, name)))


@pytest.mark.parametrize("name", ["cycles", "energy_pj", "edp_pj_cycles", "utilization"])
def test_a_click_sorts_by_number_and_another_turns_it_round(script: Script, name: str) -> None:
    before = [float(value) for value in column(script, name)]
    head = script(HEAD, name)
    button = script("return arguments[0].querySelector('button')", head)
    for direction, wanted in (("ascending", sorted(before)), ("descending", sorted(before, reverse=True))):
        button.click()
        assert head.get_attribute("aria-sort") == direction
        assert [float(value) for value in column(script, name)] == wanted
    assert before not in (sorted(before), sorted(before, reverse=True))


def test_numbers_are_not_sorted_as_text(script: Script) -> None:
    script("arguments[0].querySelector('button').click()", script(HEAD, "cycles"))
    found = column(script, "cycles")
    assert found == sorted(found, key=int) != sorted(found)


def test_the_keyboard_sorts_and_one_head_is_marked(script: Script) -> None:
    for name in ("energy_pj", "layer"):
        button = script("return arguments[0].querySelector('button')", script(HEAD, name))
        script("arguments[0].focus()", button)
        button.send_keys(" ")
    assert column(script, "layer") == sorted(column(script, "layer"))
    marked = "return document.querySelectorAll('#rankings th:not([aria-sort=none])').length"
    assert script(marked) == 1


def test_empty_cells_come_last_either_way(script: Script) -> None:
    script("const cell = document.querySelector('#layers tbody tr').cells[3]; cell.textContent = '';")
    script("delete document.querySelector('#layers tbody tr').cells[3].dataset.value")
    for _ in range(2):
        script("document.querySelector('#layers th[data-column=\"cycles fw\"] button').click()")
        texts = script(
            "return Array.from(document.querySelectorAll('#layers tbody tr'), (r) => r.cells[3].textContent)"
        )
        assert [text == "" for text in texts] == [False, False, True]


def test_fields_narrow_the_table(script: Script) -> None:
    rows = len(column(script, "rank"))
    assert script(CHOOSE, script(INDEX, "rank"), "1") == f"{rows // 2} of {rows} rows"
    assert set(column(script, "rank")) == {"1"}
    assert script(CHOOSE, script(INDEX, "phase"), "bw").endswith(f" of {rows} rows")
    assert script(CHOOSE, script(INDEX, "layer"), "<script>alert(1)</script>") == f"8 of {rows} rows"
    assert set(column(script, "part")) == {"1/4", "2/4", "3/4", "4/4"}
    assert script(CHOOSE, "text", "KN 3/4") == f"1 of {rows} rows"
    assert (column(script, "partitioning"), column(script, "part")) == (["KN"], ["3/4"])
    assert script(CHOOSE, "text", "nothing has this") == f"0 of {rows} rows"
    script("document.querySelector('form[data-for=rankings] button[type=reset]').click()")
    assert script("return new Promise((done) => setTimeout(() => done(), 50))") is None
    assert len(column(script, "rank")) == rows


def test_a_link_unfolds_its_mapping(script: Script) -> None:
    link = "document.querySelector('#layers tbody a')"
    target = f"document.getElementById({link}.hash.slice(1))"
    script(f"{target}.open = false; {link}.click()")
    assert script("return new Promise((done) => setTimeout(() => done(), 50))") is None
    assert script(f"return {target}.open") is True


def test_all_folds_open_and_close(script: Script) -> None:
    count = "return document.querySelectorAll('#explained details[open]').length"
    every = script("return document.querySelectorAll('#explained details').length")
    assert script(count) == 1
    script("document.querySelector('[data-fold=open]').click()")
    assert script(count) == every
    script("document.querySelector('[data-fold=close]').click()")
    assert script(count) == 0


def test_nothing_is_wider_than_the_window(script: Script) -> None:
    assert script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth") is True


def test_it_prints(script: Script, driver: WebDriver) -> None:  # noqa: ARG001
    pdf = base64.b64decode(driver.print_page())
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000


# The page of a sweep --------------------------------------------------------------------------------------------------

CELLS = """
const index = document.querySelector(`#${arguments[0]} th[data-column="${arguments[1]}"]`).dataset.index;
const rows = document.querySelectorAll(`#${arguments[0]} tbody tr:not([hidden])`);
return Array.from(rows, (row) => row.cells[index].dataset.value ?? row.cells[index].textContent.trim());
"""
PICK = """
const form = document.querySelector(`form[data-for=${arguments[0]}]`);
const list = Array.from(form.querySelectorAll("label")).find((one) => one.firstChild.data === arguments[1]).lastChild;
list.value = arguments[2];
list.dispatchEvent(new Event("input", {bubbles: true}));
return form.querySelector("output").textContent;
"""


def test_points_of_a_sweep_sort_and_narrow_by_what_varies(sweep_script: Script) -> None:
    axis = "density"
    assert len(sweep_script(CELLS, "totals", axis)) == 54
    for name in (axis, "energy_pj"):
        sweep_script(f"document.querySelector('#totals th[data-column={name}] button').click()")
        found = [float(value) for value in sweep_script(CELLS, "totals", name)]
        assert found == sorted(found)
    assert sweep_script(PICK, "totals", SCRIPT, "small & <b>") == "18 of 54 rows"
    assert set(sweep_script(CELLS, "totals", SCRIPT)) == {"small & <b>"}
    assert sweep_script(PICK, "totals", axis, "0.25") == "9 of 54 rows"
    assert sweep_script(PICK, "totals", "Phase", "all") == "3 of 54 rows"
    assert sorted(sweep_script(CELLS, "totals", "partitioning")) == ["CK", "KN", "best"]
    assert sweep_script(PICK, "totals", "Front", "yes").endswith(" of 54 rows")
    assert set(sweep_script(CELLS, "totals", "pareto")) == {"yes"}
    assert sweep_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth") is True
    shades = "return Array.from(document.querySelectorAll('.grid td'), (c) => getComputedStyle(c).backgroundColor)"
    assert len(set(sweep_script(shades))) > 2
