"""A headless Chromium under control of its DevTools protocol (https://chromedevtools.github.io/devtools-protocol)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import shutil
import subprocess
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_PATIENCE = 60
"""Seconds after which an answer of the browser is given up."""

_OPTIONS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions"),
    *("--no-first-run", "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-port=0"),
    *("--disable-component-update", "--disable-sync", "--mute-audio", "--force-color-profile=srgb"),
]


class BackgroundLoop:
    """An event loop in a thread, so that tests, which are plain functions, can use servers and sockets."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_PATIENCE)

    def close(self) -> None:
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Chromium:
    """A browser process; a context manager."""

    def __init__(self, profile: Path) -> None:
        assert BROWSER is not None
        self.loop = BackgroundLoop()
        command = [BROWSER, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._pages: dict[str, ChromiumPage] = {}
        self._number = 0
        self.loop.run(self._connect(self._address()))

    def page(self, width: int = 1280, height: int = 800, *, dark: bool = False) -> ChromiumPage:
        """Open an empty page without cookies or storage of other pages."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = ChromiumPage(self, session, target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.set_dark(dark)
        return page

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        return self.loop.run(self._call(method, session, parameters))

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        self.loop.run(self._disconnect())
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()
        self.loop.close()

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _address(self) -> str:
        assert self._process.stderr is not None
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            if "DevTools listening on" in line:
                return line.split()[-1]
        raise RuntimeError("the browser does not start:\n" + "".join(lines))

    async def _connect(self, address: str) -> None:
        import aiohttp

        self._http = aiohttp.ClientSession()
        self._socket: aiohttp.ClientWebSocketResponse = await self._http.ws_connect(address, max_msg_size=0)
        self._reader = asyncio.create_task(self._read())

    async def _disconnect(self) -> None:
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader
        await self._socket.close()
        await self._http.close()

    async def _call(self, method: str, session: str | None, parameters: dict[str, Any]) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        answer = self._calls[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_str(json.dumps(message))
        return await asyncio.wait_for(answer, _PATIENCE)

    async def _read(self) -> None:
        async for message in self._socket:
            content = json.loads(message.data)
            if "id" in content:
                answer = self._calls.pop(content["id"])
                if answer.done():
                    continue
                if "error" in content:
                    answer.set_exception(RuntimeError(content["error"]["message"]))
                else:
                    answer.set_result(content["result"])
            elif (page := self._pages.get(content.get("sessionId", ""))) is not None:
                page.note(content["method"], content["params"])
                if content["method"] == "Page.javascriptDialogOpening":
                    asyncio.get_running_loop().create_task(
                        self._call("Page.handleJavaScriptDialog", content["sessionId"], {"accept": False})
                    )


class ChromiumPage:
    """A page, with a record of all that it asked for and complained about."""

    def __init__(self, browser: Chromium, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self._loaded = threading.Event()
        self._saved = threading.Semaphore(0)
        self.requests: list[str] = []
        """The address of each request."""
        self.dialogs: list[str] = []
        """The text of each alert, confirm and prompt."""
        self.errors: list[str] = []
        """Exceptions that were not caught, and errors in the console, which breaches of the policy are."""

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol on this page."""
        return self._browser.call(method, self._session, **parameters)

    def note(self, event: str, about: dict[str, Any]) -> None:
        """Record an event."""
        if event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Page.loadEventFired":
            self._loaded.set()
        elif event == "Page.javascriptDialogOpening":
            self.dialogs.append(about["message"])
        elif event == "Browser.downloadProgress" and about["state"] == "completed":
            self._saved.release()
        elif event == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif event == "Runtime.consoleAPICalled" and about["type"] == "error":
            self.errors.append(str(about["args"]))

    def goto(self, address: str) -> None:
        """Load an address, or go to another part of the same page."""
        self._loaded.clear()
        if "loaderId" in self.call("Page.navigate", url=address) and not self._loaded.wait(_PATIENCE):
            raise RuntimeError(f"{address} does not load")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, waited for where it is a promise."""
        result = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            allowUnsafeEvalBlockedByCSP=False,
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true.

        Raises:
            RuntimeError: if it takes too long; the message says what the page complained about.
        """
        # In the page, so that nothing is asked again and again.
        look = f"""new Promise((resolve) => {{
            const end = Date.now() + {_PATIENCE * 500};
            const look = () => {{
                let found = false;
                try {{ found = Boolean({condition}); }} catch {{ /* not yet */ }}
                if (found || Date.now() > end) resolve(found);
                else setTimeout(look, 10);
            }};
            look();
        }})"""
        if not self.evaluate(look):
            shown = self.evaluate("location.href + ' ' + document.body.innerText.slice(0, 500)")
            raise RuntimeError(f"never true: {condition}; the page complains: {self.errors}; it shows: {shown}")

    def save_to(self, folder: Path) -> None:
        """Let files that the page hands over go to a folder; see :meth:`wait_for_file`."""
        context = self.call("Target.getTargetInfo")["targetInfo"]["browserContextId"]
        where = {"behavior": "allow", "downloadPath": str(folder), "eventsEnabled": True}
        self.call("Browser.setDownloadBehavior", browserContextId=context, **where)

    def wait_for_file(self) -> None:
        """Wait until one more file is in the folder of :meth:`save_to`.

        Raises:
            RuntimeError: if it takes too long.
        """
        if not self._saved.acquire(timeout=_PATIENCE):
            raise RuntimeError(f"no file was saved; the page complains: {self.errors}")

    def text(self, selector: str = "body") -> str:
        """Return the text of the first element that fits a selector, once there is one: pages draw when they can."""
        self.wait_for(f"document.querySelector({json.dumps(selector)})")
        text: str = self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")
        return text

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements that fit a selector."""
        found: list[str] = self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)"
        )
        return found

    def click(self, selector: str) -> None:
        """Click the middle of an element, as a hand does."""
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = "none" if kind == "mouseMoved" else "left"
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def hover(self, selector: str) -> None:
        """Move the pointer over an element."""
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, *keys: str) -> None:
        """Press keys, named as in ``KeyboardEvent.key``."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else ({"text": "\r"} if key == "Enter" else {})
            code = {
                "Enter": 13,
                "Escape": 27,
                "ArrowLeft": 37,
                "ArrowUp": 38,
                "ArrowRight": 39,
                "ArrowDown": 40,
                "Tab": 9,
            }
            number = {"windowsVirtualKeyCode": code[key]} if key in code else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **number)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **number)

    def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        """Give the window a size in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def set_dark(self, dark: bool) -> None:
        """Let the system prefer dark or light colours."""
        value = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a picture of the window, or of the whole page, as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """Close the page."""
        self._browser.call("Target.closeTarget", targetId=self._target)
