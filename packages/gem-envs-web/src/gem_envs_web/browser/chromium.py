"""A headless Chromium through Selenium: :class:`ChromiumWindow`, and the elements of its page."""

from __future__ import annotations

import re
import shutil
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from gem.discovery.official import install_line
from gem.errors import NotSupportedError

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

__all__ = ["BROWSER_NAMES", "ChromiumWindow", "PageNode"]

BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome")
_DRIVER = "chromedriver"
_SECONDS = 60
"""How long the browser may take for a page."""
# A submit button does nothing while a required field is empty.
_LEADS = """
const element = arguments[0];
window.gemLeaves = true;
const sends = element.form && element.type === "submit" && element.form.checkValidity();
return Boolean(sends || element.closest("a[href]"));
"""
# The middle comes first; places are relative to it.
_UNCOVERED = """
const element = arguments[0];
element.scrollIntoView({block: "center", inline: "center"});
const box = element.getBoundingClientRect();
for (const y of [0, -0.4, 0.4, -0.2, 0.2])
  for (const x of [0, -0.4, 0.4, -0.2, 0.2]) {
    const hit = document.elementFromPoint(box.x + box.width * (0.5 + x), box.y + box.height * (0.5 + y));
    if (hit && element.contains(hit)) return [Math.trunc(box.width * x), Math.trunc(box.height * y)];
  }
return null;
"""
_IS_NEXT = "return !window.gemLeaves && document.readyState === 'complete'"
_HIDDEN_ROLES = ("none", "generic", "InlineTextBox", "LineBreak", "ListMarker")


class PageNode(NamedTuple):
    """An element of a page that can be acted on."""

    ref: str
    """Its number on the page, from 1."""
    role: str
    name: str
    value: str
    options: tuple[str, ...]
    checked: bool | None

    def line(self) -> str:
        """Return the element in words."""
        parts = [f"[{self.ref}] {self.role}"]
        if self.name:
            parts.append(f'"{self.name}"')
        if self.role in ("field", "select"):
            parts.append(f'value "{self.value}"')
        elif self.value:
            parts.append(self.value)
        if self.options:
            parts.append("one of: " + " / ".join(self.options))
        if self.checked is not None:
            parts.append("(checked)" if self.checked else "(not checked)")
        return " ".join(parts)


class ChromiumWindow:
    """A window of a browser of its own.

    Args:
        width: pixels of the page.
        height: the same.

    Raises:
        NotSupportedError: if Selenium, Chromium or its driver is not installed.
    """

    def __init__(self, width: int = 1000, height: int = 800) -> None:
        self._driver = _started(width, height)

    def open(self, address: str) -> None:
        """Go to an address, and wait until the page is loaded."""
        self._driver.get(address)

    def back(self) -> None:
        """Go back in the history of the window."""
        self._driver.back()

    def close(self) -> None:
        """End the browser."""
        self._driver.quit()

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript in the page; return what it returns."""
        return self._driver.execute_script(script, *arguments)

    @property
    def title(self) -> str:
        """The title of the page."""
        return self._driver.title

    def nodes(self, every: bool = False) -> list[PageNode]:
        """Number the elements that can be acted on, and return them.

        Args:
            every: whether any visible element with a text or a shape of its own counts, for pages whose scripts
                listen to clicks anywhere.
        """
        found = self.run(_script(), every)
        return [PageNode(**{**one, "options": tuple(one["options"])}) for one in found]

    def text(self) -> str:
        """Return the visible text of the page."""
        return str(self.run("return document.body.innerText"))

    def html(self) -> str:
        """Return the body of the page as HTML, with the numbers of the elements as ``data-ref``."""
        text = str(self.run("return document.body.outerHTML"))
        return re.sub(r"\n\s*\n+", "\n", text)

    def accessibility_tree(self) -> str:
        """Return the accessibility tree, a line for each node, with the numbers of the elements."""
        self._driver.execute_cdp_cmd("DOM.enable", {})
        document = self._driver.execute_cdp_cmd("DOM.getDocument", {"depth": -1})
        refs = dict(_refs(document["root"]))
        nodes = self._driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        by_id = {node["nodeId"]: node for node in nodes}
        lines: list[str] = []
        pending = [(nodes[0]["nodeId"], 0)]
        while pending:
            node_id, depth = pending.pop()
            if (node := by_id.get(node_id)) is None:
                continue
            line = _tree_line(node, refs)
            if line:
                lines.append("  " * depth + line)
            role = node.get("role", {}).get("value", "")
            below = () if role == "StaticText" else node.get("childIds", ())
            pending += [(child, depth + bool(line)) for child in reversed(below)]
        return "\n".join(lines)

    def picture(self) -> str:
        """Return a picture of the window as the base64 form of a PNG."""
        return str(self._driver.get_screenshot_as_base64())

    def click(self, ref: str) -> None:
        """Move the mouse to a place of an element, its middle if nothing covers that, and click.

        An element that is covered altogether gets the event of a click, as in MiniWoB's own action on elements.
        """
        chains = import_module("selenium.webdriver").ActionChains

        element = self._element(ref)
        place = self.run(_UNCOVERED, element)
        if place is None:
            self.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))", element)
        else:
            chains(self._driver, duration=0).move_to_element_with_offset(element, *place).click().perform()

    def follow(self, ref: str) -> None:
        """Click an element, and wait for the next page if the element leads to one without a script."""
        wait = import_module("selenium.webdriver.support.wait").WebDriverWait

        leads = self.run(_LEADS, self._element(ref))
        self.click(ref)
        if leads:
            wait(self._driver, _SECONDS, poll_frequency=0.01).until(lambda _: self.run(_IS_NEXT))

    def type(self, ref: str, text: str) -> None:
        """Replace the text of a field, by keys."""
        element = self._element(ref)
        element.clear()
        element.send_keys(text)

    def select(self, ref: str, option: str) -> None:
        """Choose an option of a list by its text."""
        choices = import_module("selenium.webdriver.support.select").Select

        choices(self._element(ref)).select_by_visible_text(option)

    def _element(self, ref: str) -> WebElement:
        by = import_module("selenium.webdriver.common.by").By

        return self._driver.find_element(by.CSS_SELECTOR, f'[data-ref="{ref}"]')


def _started(width: int, height: int) -> Chrome:
    try:
        from selenium.webdriver import Chrome, ChromeOptions
        from selenium.webdriver.chrome.service import Service
    except ModuleNotFoundError as error:
        line = install_line("'gem-envs-web[browser]'")
        raise NotSupportedError(f"a browser is driven with selenium; run: {line}") from error
    browser = next(filter(None, map(shutil.which, BROWSER_NAMES)), None)
    driver = shutil.which(_DRIVER)
    if browser is None or driver is None:
        missing = "Chromium" if browser is None else "chromedriver"
        raise NotSupportedError(f"{missing} is not installed; on Debian: apt-get install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        "--no-sandbox",  # the sandbox needs namespaces, which containers lack; the pages are ours or MiniWoB's
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        "--disable-background-networking",
        "--disable-component-update",
        f"--window-size={width},{height}",
    ):
        options.add_argument(argument)
    window = Chrome(options=options, service=Service(executable_path=driver))
    window.set_page_load_timeout(_SECONDS)
    window.set_script_timeout(_SECONDS)
    return window


@cache
def _script() -> str:
    return (files("gem_envs_web.browser") / "elements.js").read_text(encoding="utf-8")


def _refs(node: dict[str, Any]) -> list[tuple[int, str]]:
    """Return the numbers of elements by the browser's own numbers of their nodes."""
    found, pending = [], [node]
    while pending:
        one = pending.pop()
        attributes = one.get("attributes", [])
        values = dict(zip(attributes[::2], attributes[1::2], strict=True))
        if "data-ref" in values:
            found.append((one["backendNodeId"], values["data-ref"]))
        pending += one.get("children", [])
    return found


def _tree_line(node: dict[str, Any], refs: dict[int, str]) -> str:
    role, name = node.get("role", {}).get("value", ""), node.get("name", {}).get("value", "")
    ref = refs.get(node.get("backendDOMNodeId", -1))
    if ref is None and (node.get("ignored") or role in _HIDDEN_ROLES or not name):
        return ""
    line = f'{role} "{name}"'
    if value := node.get("value", {}).get("value", ""):
        line += f' value "{value}"'
    states = [f"{p['name']}: {p['value'].get('value')}" for p in node.get("properties", ()) if p["name"] == "checked"]
    return " ".join([*([f"[{ref}]"] if ref else []), line, *states])
