"""Looks at a page of a site as a person would: what sticks out, is broken, too small, or too faint. And uses keys."""

from pathlib import Path
from typing import Any

from iad_envs.browser.selenium import SeleniumBrowser

SCRIPT = Path(__file__).with_name("looks.js").read_text(encoding="utf-8")


def check_looks(browser: SeleniumBrowser, what: str, texts: str, targets: str = "[data-click]") -> None:
    """Check a page on a phone and on a desk, light and dark: `texts` have to be legible, `targets` hit with a thumb."""

    def see(seen: str, *given: str) -> Any:
        return browser.driver.execute_script(f"{SCRIPT}\nreturn {seen}", *given)

    for size in ((400, 800), (1400, 900)):
        browser.resize(size)
        width = see("[document.documentElement.scrollWidth, innerWidth]")
        assert width[0] <= width[1] == size[0], what
        assert see("clipped()") == see("broken()") == [], what
        assert min(see("sizes(arguments[0])", targets), default=99) >= 24, what
    for scheme, ground in (("light", "rgb(251, 250, 247)"), ("dark", "rgb(20, 24, 23)")):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.command("Emulation.setEmulatedMedia", {"features": features})
        assert see("faint(arguments[0])", texts) == [], what
        assert see("getComputedStyle(document.body).backgroundColor") == ground, what


def press(driver: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver).send_keys(*keys).perform()


def tab_to(driver: Any, name: str, outline_px: float = 0.0) -> None:
    """Press Tab until what begins with a name has the focus, and is seen to have it, by an outline of a width."""
    for _ in range(60):
        press(driver, "\ue004")
        focused = driver.execute_script("const e = document.activeElement; return e.dataset.click ?? e.name ?? ''")
        if focused.startswith(name):
            assert driver.execute_script("return document.activeElement.matches(':focus-visible')"), name
            width = driver.execute_script("return getComputedStyle(document.activeElement).outlineWidth")
            assert float(width.removesuffix("px")) >= outline_px, name
            return
    raise AssertionError(f"{name} can't be reached by Tab")


def wait(driver: Any, path: str, element: str = "") -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    whole = "return document.readyState === 'complete' && (!arguments[0] || !!document.getElementById(arguments[0]))"
    waiting = WebDriverWait(driver, 20, 0.01)
    waiting.until(lambda one: path in one.current_url and one.execute_script(whole, element), path)
