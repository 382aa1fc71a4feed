"""Headless Chromium, driven over its DevTools protocol."""

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium")
PATIENCE = 30.0
LOOK = """
new Promise(tell => {
  let left = 50;
  const look = () => {
    let found = false;
    try { found = Boolean(CONDITION); } catch {}
    if (found || --left === 0) tell(found); else setTimeout(look, 10);
  };
  look();
})
"""
"""Looks for half a second; the page itself looks, so that nobody is kept busy asking."""


class Tab:
    """A tab; what it writes to the console is in `console`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._asked = 0
        self.console: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **given: Any) -> dict[str, Any]:
        """One command, and its answer."""
        self._asked += 1
        self._socket.send(json.dumps({"id": self._asked, "method": method, "params": given}))
        while True:
            said = json.loads(self._socket.recv(timeout=PATIENCE))
            if said.get("id") == self._asked:
                return dict(said.get("result", {"error": said.get("error")}))
            self._hear(said)

    def _hear(self, said: dict[str, Any]) -> None:
        given = said.get("params", {})
        match said.get("method"):
            case "Runtime.consoleAPICalled":
                texts = [str(one.get("value", one.get("description"))) for one in given["args"]]
                self.console.append(f"{given['type']}: {' '.join(texts)}")
            case "Runtime.exceptionThrown":
                details = given["exceptionDetails"]
                text = details.get("exception", {}).get("description", details["text"])
                self.console.append(f"exception: {text}")
            case "Log.entryAdded":
                entry = given["entry"]
                line = f"{entry['source']}: {entry['text']} {entry.get('url', '')}"
                self.console.append(line.strip())

    def goto(self, url: str) -> None:
        """Open an address, from an empty page, so that one with a #fragment is loaded too."""
        for address in ("about:blank", url):
            self.send("Page.navigate", url=address)
            self.wait_for(
                f"location.href !== 'about:blank' === {json.dumps(address != 'about:blank')}"
                " && document.readyState === 'complete'"
            )

    def evaluate(self, script: str) -> Any:
        """The value of an expression; a promise is awaited."""
        said = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in said, (script, said)
        return said["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Look until an expression is true; what goes wrong on the way is not true."""
        deadline = time.monotonic() + PATIENCE
        look = LOOK.replace("CONDITION", condition)
        while not self._true(look):
            assert time.monotonic() < deadline, f"never true: {condition}; {self.console}"

    def _true(self, script: str) -> bool:
        said = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        return said.get("result", {}).get("value") is True

    def text(self, selector: str) -> str:
        """Return the visible text of an element."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        """Press the middle of an element with the mouse."""
        found = json.dumps(selector)
        self.wait_for(f"document.querySelector({found}).getClientRects().length")
        x, y = self.evaluate(
            f"(() => {{ const one = document.querySelector({found});"
            " one.scrollIntoView({block: 'center'}); const box = one.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, selector: str, text: str) -> None:
        """Write into a field, in place of what is there."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).select()")
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.send("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key that writes nothing, such as ArrowDown."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def resize(self, width: int, height: int, *, scale: float = 1, mobile: bool = False) -> None:
        """Give the page so much room."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=mobile,
        )

    def scheme(self, name: str) -> None:
        """Prefer light or dark."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, path: Path, *, whole: bool = False) -> Path:
        """A picture of what is in sight, or of the whole page."""
        said = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(said["data"]))
        return path


@contextmanager
def chromium(folder: Path, *, options: Sequence[str] = ()) -> Iterator[Tab]:
    """A browser with an empty profile in a folder, and its tab."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        *options,
        "about:blank",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            with connect(_address(folder), max_size=None, open_timeout=PATIENCE) as socket:
                yield Tab(socket)
        finally:
            process.terminate()


def _address(folder: Path) -> str:
    """Return the address of the tab; Chromium writes its port into its profile."""
    deadline = time.monotonic() + PATIENCE
    file = folder / "DevToolsActivePort"
    while not (file.exists() and "\n" in file.read_text()):
        assert time.monotonic() < deadline, "Chromium does not start"
    port = file.read_text().split()[0]
    with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
        tabs = [one for one in json.load(answer) if one["type"] == "page"]
    return str(tabs[0]["webSocketDebuggerUrl"])
