"""Print the files and functions of the package that data goes through, as JSON.

    python tests/walk.py [--files]

"episode" is a simulated episode, "answered" a piece of feedback over HTTP until it is answered,
without the thread that plans, and "served" until the version that was learnt from it is served, in
all threads. Kernels run as plain Python. With --files, all files are listed.
"""

import json
import os
import sys
import tempfile
import threading
import time
from types import FrameType
from typing import Any

if __name__ == "__main__":  # not where the module is only imported, to look for doctests
    os.environ["NUMBA_DISABLE_JIT"] = "1"

import belated as bl

ROOT = os.path.dirname(bl.__file__)
DEADLINE_S = 30
PROBLEM = {
    "name": "walk",
    "states": ["x", "y"],
    "actions": ["u", "v"],
    "horizon": 2,
    "rewards": [[0, 0], [1, 0.8]],
    "episodes": 1000,
    "base": {"name": "ucrl2", "options": {"scale": 0.1}},
    "updater": {"name": "active"},
}
FEEDBACK = (
    {"states": ["x", "x", "x"], "actions": ["u", "u"]},
    {"states": ["x", "x", "x"], "actions": ["v", "v"]},
)
"""Two episodes, each of which changes the policy; the second one is followed."""

PLANNER = "belated-host"
"""Name of the thread that plans."""

called: set[tuple[str, str, str]] = set()
"""Threads, files and names of all functions called since it was cleared."""


def note(frame: FrameType, event: str, _: Any) -> None:
    """Add a called function of the package to `called`; see `sys.setprofile`."""
    if event == "call" and frame.f_code.co_filename.startswith(ROOT):
        thread = threading.current_thread().name
        called.add((thread, frame.f_code.co_filename, frame.f_code.co_name))


def counted(*, without: str = "") -> dict[str, Any]:
    """Return the numbers of files and functions in `called`, but for those of one thread."""
    functions = {(file, name) for thread, file, name in set(called) if thread != without}
    files = {file for file, _ in functions}
    counts: dict[str, Any] = {"files": len(files), "functions": len(functions)}
    if "--files" in sys.argv:
        counts["names"] = sorted(os.path.relpath(file, ROOT) for file in files)
    return counts


def walk_episode() -> dict[str, Any]:
    """Return the counts of the second call of `simulate`."""
    learner = {"base": "ucrl2:scale=0.03", "updater": "lazy:10", "delay": "geometric:20"}
    bl.simulate("chain-5", **learner, episodes=5, seed=4)
    called.clear()
    sys.setprofile(note)
    bl.simulate("chain-5", **learner, episodes=60, seed=4)
    sys.setprofile(None)
    return counted()


def walk_feedback(folder: str) -> dict[str, Any]:
    """Return the counts of a piece of feedback, sent to a service with a ledger in `folder`."""
    from starlette.testclient import TestClient

    from belated.ledger.ledger import Ledger
    from belated.online.host import Host
    from belated.service import Settings, create_app

    with Ledger.open(f"sqlite:///{folder}/walk.db") as ledger:
        threading.setprofile(note)  # for threads that start from now on
        app = create_app(ledger, Host(ledger, interval=0.05), Settings(open=True))
        with TestClient(app, base_url="http://127.0.0.1:8000") as client:

            def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
                answer = client.post(f"/v1/{path}", json=body)
                assert answer.status_code == 201, answer.text
                return dict(answer.json())

            def version() -> int:
                return int(client.get("/v1/problems/walk/policy").json()["version"])

            post("problems", PROBLEM)
            for body in FEEDBACK:
                episode, before = post("problems/walk/episodes", {})["episode"], version()
                called.clear()
                sys.setprofile(note)
                post(f"episodes/{episode}/feedback", body)
                answered = counted(without=PLANNER)
                start = time.monotonic()
                while version() == before:
                    assert time.monotonic() - start < DEADLINE_S, "no new version is served"
                sys.setprofile(None)
            return {"answered": answered, "served": counted()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"episode": walk_episode(), **walk_feedback(folder)}))
