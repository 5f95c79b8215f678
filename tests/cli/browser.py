"""A headless Chromium, driven over pipes by its DevTools protocol: no port, no library."""

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from project import TIMEOUT_S

PROGRAM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
# What the browser would otherwise ask the network for on its own account.
QUIET = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
]


class Browser:
    """One page; what it asks for and what it says is kept."""

    def __init__(self, profile: Path):
        commands_read, self.commands = os.pipe()
        self.answers, answers_write = os.pipe()

        def give_pipes() -> None:
            """Make them the descriptors 3 and 4, as the browser expects."""
            low = [os.dup(fd) for fd in (commands_read, answers_write)]
            high = [os.dup2(fd, 100 + i) for i, fd in enumerate(low)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        assert PROGRAM is not None
        self.process = subprocess.Popen(
            [
                PROGRAM,
                "--headless",
                "--no-sandbox",  # root has none, and the page is ours
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
                *QUIET,
                "about:blank",
            ],
            close_fds=False,
            preexec_fn=give_pipes,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_read)
        os.close(answers_write)
        self.number = 0
        self.left = b""
        self.session: str | None = None
        self.requests: list[str] = []
        self.messages: list[str] = []
        self.loaded = 0

    def __enter__(self) -> Self:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)

    # ---- protocol -------------------------------------------------------------------------------

    def read(self) -> dict[str, Any]:
        while b"\0" not in self.left:
            ready, _, _ = select.select([self.answers], [], [], TIMEOUT_S)
            part = os.read(self.answers, 1 << 20) if ready else b""
            assert part, "the browser does not answer"
            self.left += part
        text, _, self.left = self.left.partition(b"\0")
        return json.loads(text)

    def note(self, event: dict[str, Any]) -> None:
        kind, what = event.get("method"), event.get("params", {})
        if kind == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif kind == "Runtime.consoleAPICalled":
            self.messages.append(str(what["args"]))
        elif kind == "Runtime.exceptionThrown":
            self.messages.append(str(what["exceptionDetails"]))
        elif kind == "Log.entryAdded":
            self.messages.append(what["entry"]["text"])
        elif kind == "Page.loadEventFired":
            self.loaded += 1

    def call(self, method: str, **params: Any) -> Any:
        """Send a command; return its result, and keep what happened meanwhile."""
        self.number += 1
        command: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while (answer := self.read()).get("id") != self.number:
            self.note(answer)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    # ---- pages ----------------------------------------------------------------------------------

    def open(self, url: str) -> None:
        self.requests, self.messages, self.loaded = [], [], 0
        self.call("Page.navigate", url=url)
        while self.loaded == 0:
            self.note(self.read())

    def eval(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        code = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}[key]
        text = {"text": "\r"} if key == "Enter" else {"text": key} if key == " " else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code="Space" if key == " " else key,
                windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def show(self, width: int, *, dark: bool = False, medium: str = "") -> None:
        """Set the width of the window in CSS pixels, the scheme, and the medium."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=medium, features=[scheme])

    def screenshot(self, path: Path) -> None:
        image = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(image["data"]))
