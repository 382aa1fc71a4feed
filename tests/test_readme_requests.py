"""The requests that docs/tour.md and docs/service.md show work as printed.

They are run by bash as they stand, but for the port. A comment beside or below a request shows its
answer, and `…` stands for whatever was left out.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from processes import Program
from service.site import wait_until

pytestmark = pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("bash") is None,
    reason="curl and bash are not installed",
)

ROOT = Path(__file__).parents[1]
BELATED = "from belated.cli.main import main; main()"
PRINTED = "localhost:8000"
SOON = "in a second: "
"""Before an answer that is true after a moment."""


def section(text: str, title: str) -> str:
    """Return the text below a title."""
    return text.split(f"{title}\n")[1].split("\n## ")[0]


AS_A_SERVICE = section((ROOT / "docs/tour.md").read_text(), "## As a service")
OTHER = section((ROOT / "docs/service.md").read_text(), "## Other requests")
FIRST = section((ROOT / "docs/service.md").read_text(), "# Service")
RANK = (ROOT / "docs/coming-from/personalizer.md").read_text()
CHOOSING = section((ROOT / "docs/service.md").read_text(), "## Choosing base, scale and stages")
LATER = [
    section((ROOT / "docs/service.md").read_text(), f"## {title}")
    for title in (
        "Episodes that end early, and actions that are not allowed",
        "States with several factors",
        "Times",
        "Import old episodes",
    )
]


def blocks(text: str, language: str) -> str:
    """All code in a language, as one would paste it."""
    return "\n".join(re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL))


@contextmanager
def running(*words: str) -> Iterator[str]:
    """A command that serves; gives the address without http://."""
    process = Program(BELATED, *words)
    try:
        told = next(line for line in process.stdout if "127.0.0.1:" in line)
        port = re.search(r"127\.0\.0\.1:(\d+)", told)
        assert port
        yield f"localhost:{port[1]}"
    finally:
        process.terminate()  # in order, so that the demo takes its folder away
        process.end()


def bash(script: str, at: str) -> list[str]:
    """The lines that a script prints; no command in it may fail."""
    assert PRINTED in script
    done = subprocess.run(
        ["bash", "-e", "-c", script.replace(PRINTED, at)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def promised(script: str) -> list[str]:
    """The answers that comments show, in order."""
    return re.findall(r"^(?:[^#\n]* )?# (.*)$", script, re.MULTILINE)


def keeps(answer: str, promise: str) -> bool:
    """Whether an answer is as it was shown."""
    parts = [part.strip() for part in promise.removeprefix(SOON).split("…")]
    return re.fullmatch(".*".join(map(re.escape, parts)), answer) is not None


def test_the_tour_shows_what_the_service_answers_while_the_demo_runs() -> None:
    script = blocks(AS_A_SERVICE, "bash")
    assert len(script.splitlines()) <= 25
    promises = promised(script)
    assert len(promises) == script.count("\nask ")
    with running("demo", "--port", "0", "--rate", "20") as at:
        answers = bash(script, at)
        *told, last = zip(answers, promises, strict=True)
        for answer, promise in told:
            assert keeps(answer, promise)
        _, promise = last
        assert promise.startswith(SOON)
        function, *_, request = script.strip().splitlines()
        wait_until(lambda: keeps(bash(f"{function}\n{request}", at)[0], promise))


def test_the_first_requests_of_the_service_work_as_printed(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'belated.db'}"
    with running("serve", "--store", store, "--port", "0") as at:
        others = blocks(OTHER, "bash")
        defined, opened, told, *rest = bash(f"{blocks(FIRST, 'bash')}\n{others}", at)
        assert keeps(defined, '{"name":"clinic", … }')
        assert keeps(opened, '{"episode": … "version": 1, … "plan":[{"ill":"wait", … }')
        assert keeps(told, '{"result":"recorded","seq":…}')
        promises = promised(others)
        assert len(promises) == others.count("\nask ")
        for answer, promise in zip(rest, promises, strict=True):
            assert keeps(answer, promise), answer
        names: dict[str, Any] = {"__name__": "service"}
        exec(blocks(FIRST, "python").replace(PRINTED, at), names)
        client = bl.Client(f"http://{at}")
        wait_until(lambda: client.status("clinic")["observed"] == 2)
        assert client.status("clinic")["missing"] == 0
        rank: dict[str, Any] = {"__name__": "rank"}
        exec(blocks(RANK, "python").replace(PRINTED, at), rank)
        assert rank["client"].problem("coupons")["states"] == ["first", "repeated"]
        for text in LATER:
            exec(blocks(text, "python"), names)
        assert names["states"] == ["looks", "hesitates", "sold"]
        assert "Terminal: sold, gone" in str(client.policy("webshop"))
        wait_until(lambda: client.status("clinic")["observed"] == 5)
        assert client.history("clinic")["times"]["bins"][0]["start"] < "2025-03-02"


def test_the_advice_on_scale_and_stages_holds_in_a_simulated_shop() -> None:
    code = blocks(CHOOSING, "python")
    *definitions, shown = code.strip().splitlines()
    names: dict[str, Any] = {"bl": bl}
    exec("\n".join(definitions), names)
    promise = re.search(r"# about (\d+), (\d+) and (\d+)$", shown)
    assert promise
    assert [round(regret) for regret in eval(shown, names)] == [*map(int, promise.groups())]
