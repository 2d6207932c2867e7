"""The shop's site as a person meets it: on a phone and on a desk, with keys alone, in the dark."""

from collections.abc import Iterator
from typing import Any

import pytest

from iad_envs.webshop.env import WebShopEnv
from tests.browser import Browsers, missing
from tests.webshop_server.site.looks import check_looks, press, tab_to, wait
from webshop_server.site.server import Server
from webshop_server.site.serving import host_shop

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "everything is there")
PAGES = ("index", "results", "item", "sub_page", "done")
TEXTS = "[data-seen], .quiet, .button, footer p, .complaint"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with host_shop(WebShopEnv().storefront, port=0, split="test") as server:  # type: ignore[arg-type]
        yield server


@pytest.fixture
def desk(browsers: Browsers) -> Any:
    return browsers.selenium((1400, 900)).driver


def pages(driver: Any, server: Server, session: str) -> Iterator[str]:
    """Visit one page of every kind."""
    driver.get(f"{server.address}/{session}")
    yield "index"
    driver.get(f"{server.address}/search_results/{session}/over+ear+headphones/2")
    yield "results"
    driver.get(driver.execute_script("return document.querySelector('.card a').href"))
    driver.get(driver.execute_script("return document.querySelector('.choice').href"))
    yield "item"
    item = driver.current_url
    driver.get(driver.execute_script("return document.querySelector('[data-click=features]').href"))
    yield "sub_page"
    driver.get(item)
    driver.execute_script("document.querySelector('.buy').submit()")
    wait(driver, "/done/")
    yield "done"


def test_every_page_fits_its_window_and_stands_out_in_light_and_dark(server: Server, browsers: Browsers) -> None:
    browser = browsers.selenium((1400, 900))
    for kind in pages(browser.driver, server, "looks"):
        check_looks(browser, kind, TEXTS)


def test_a_product_can_be_bought_with_keys_alone_and_a_script_in_a_query_stays_text(server: Server, desk: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    desk.get(f"{server.address}/keys")
    tab_to(desk, "search_query")
    query = 'running shoes"><img src=x onerror="document.title=1"><script>document.title=2</script>'
    press(desk, query)
    press(desk, Keys.ENTER)
    wait(desk, "/search_results/")
    script = "const s = document.createElement('script'); s.text = 'document.title = 3'; document.body.append(s)"
    desk.execute_script(script)
    assert desk.title.startswith("Results"), "the policy lets a script run"
    assert desk.execute_script("return document.querySelector('[name=search_query]').value") == query
    first = desk.execute_script("return document.querySelector('.card a').dataset.click")
    tab_to(desk, first)
    press(desk, Keys.ENTER)
    wait(desk, "/item_page/")
    value = desk.execute_script("return document.querySelector('.choice').dataset.click")
    tab_to(desk, value)
    press(desk, Keys.ENTER)
    wait(desk, "%2522%253A%2522")
    assert desk.execute_script("return document.querySelector('[aria-current]').dataset.click") == value
    tab_to(desk, "buy now")
    press(desk, Keys.ENTER)
    wait(desk, "/done/")
