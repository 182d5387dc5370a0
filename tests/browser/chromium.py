"""A headless Chromium, spoken to over a pipe in its own protocol (no driver, no port)."""

from __future__ import annotations

import base64
import itertools
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """One browser process with an empty profile, and one tab."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def place() -> None:  # the protocol is spoken on descriptors 3 (to the browser) and 4 (from it)
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(a, 3)
            os.dup2(b, 4)

        command = [program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdout=quiet, stderr=quiet, preexec_fn=place, close_fds=False)
        os.close(theirs_in)
        os.close(theirs_out)
        self._numbers, self._held, self._events = itertools.count(1), b"", list[dict[str, Any]]()
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def open(self, page: Path, width: int, *, dark: bool = False) -> list[str]:
        """Open a file at a width; everything that went wrong, and everything that was fetched besides."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self.call("Page.navigate", url=page.as_uri())
        while not any(e["method"] == "Page.loadEventFired" for e in self._events):
            self._events.append(self._read())
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        return [*self._complaints(page)]

    def _complaints(self, page: Path) -> Any:
        for event in self._events:
            given = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                yield str(given["exceptionDetails"].get("exception", {}).get("description", given))
            elif event["method"] == "Log.entryAdded" and given["entry"]["level"] == "error":
                yield given["entry"]["text"]
            elif event["method"] == "Network.requestWillBeSent" and given["request"]["url"] != page.as_uri():
                yield f"fetched {given['request']['url']}"

    def evaluate(self, script: str) -> Any:
        """What an expression comes to in the page."""
        made = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in made, made["exceptionDetails"]
        return made["result"].get("value")

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Move, press or release the mouse at a place of the window."""
        down = kind == "mousePressed"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left",
                  clickCount=int(kind != "mouseMoved"), buttons=int(down or kind == "mouseDragged"))  # fmt: skip

    def centre(self, selector: str) -> tuple[float, float]:
        """The middle of an element, scrolled into view."""
        script = f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{ block: "center", behavior: "instant" }});
            const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"""
        x, y = self.evaluate(script)
        return x, y

    def click(self, selector: str) -> None:
        """Click an element with the mouse."""
        x, y = self.centre(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def screenshot(self, path: Path) -> None:
        """Keep a picture of the whole page."""
        made = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(made["data"]))

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Call a method of the protocol in the tab."""
        return self._call(method, session=self._session, **given)

    def _call(self, method: str, session: str | None = None, **given: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": given}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])
            self._events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._held:
            more = os.read(self._in, 1 << 20)
            assert more, "the browser ended"
            self._held += more
        message, _, self._held = self._held.partition(b"\0")
        made: dict[str, Any] = json.loads(message)
        return made

    def close(self) -> None:
        """End the browser."""
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(timeout=20)
        self._profile.cleanup()
