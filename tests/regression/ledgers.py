"""Ledgers that are filled over HTTP, and one in a file that an earlier version wrote.

Ids, times and random draws are fixed. Salts are not, and nothing here depends on them.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from regression.digesting import Draws, digest
from regression.internals import Clock, Site, cli, site_on, take_snapshots

FILE = Path(__file__).with_name("ledger-0.1.db")
STATES = ["ill", "weak", "well", "gone"]
ACTIONS = ["wait", "treat"]
HORIZON = 3
TICKS = 8
NDJSON = {"content-type": "application/x-ndjson"}


def part(name: str, **options: Any) -> dict[str, Any]:
    """Return a base or an updater as JSON has it."""
    return {"name": name, "options": options}


KINDS: dict[str, dict[str, Any]] = {
    "known": {"rewards": [[0, 0.125], [0.25, 0], [0.5, 0.75], [1, 0.375]]},
    "unknown": {},
    "late-rewards": {"late": "rewards"},
    "pooled": {"stages": "pooled", "base": part("ucrl2", scale=0.02)},
    "bernstein": {"reward_bonus": "bernstein", "base": part("kl-ucrl", scale=0.02)},
    "lazy": {"updater": part("lazy", alpha=2)},
    "lazy-auto": {"updater": part("lazy", alpha="auto")},
    "late-lazy": {"updater": part("lazy", alpha=2), "late": "rewards"},
    "explicit": {"updater": part("explicit", threshold=3)},
    "q-learning": {"base": part("q-learning", scale=0.05, bonus="bernstein")},
    "late-q-learning": {"base": part("q-learning", scale=0.05), "late": "rewards"},
    "psrl": {"base": part("psrl", prior=0.3), "seed": 5},
    "late-psrl": {"base": part("psrl"), "late": "rewards", "seed": 3},
    "epsilon-greedy": {"base": part("epsilon-greedy", epsilon=0.25)},
    "random-ties": {"base": part("ubev", scale=0.1, ties="random"), "seed": 7},
    "two-term": {"base": part("ucbvi-bf", preset="two_term", scale=0.05), "seed": 1},
}


class Reception:
    """Someone who plays the episodes of one problem over HTTP."""

    def __init__(self, site: Site, clock: Clock, kind: str, *, salt: str = "") -> None:
        self.site, self.clock, self.kind = site, clock, kind
        self.home = f"/v1/problems/{kind}"
        self.draws = Draws(kind + salt)
        self.prefix = f"{kind}{salt}".ljust(22, "x")
        self.late = KINDS[kind].get("late") == "rewards"
        self.codes: list[int] = []
        self.opened: list[str] = []
        self.paths: dict[str, dict[str, Any]] = {}
        self.out: dict[str, list[int]] = {}  # the steps that are still to come, by episode
        self.gone: set[str] = set()

    def define(self) -> None:
        """Define the problem."""
        given = {
            "name": self.kind,
            "states": STATES,
            "actions": ACTIONS,
            "horizon": HORIZON,
            "rewards": None,
            "base": part("ucrl2", scale=0.1),
            "updater": part("active"),
            "episodes": 2000,
        }
        answer = self.site.post("/v1/problems", given | KINDS[self.kind])
        assert answer.status_code == 201, answer.text

    def said(self, answer: Any) -> Any:
        """Note the status of an answer."""
        self.codes.append(answer.status_code)
        return answer

    def open(self) -> str:
        """Open an episode and play it with the policy that comes with it."""
        id = f"{self.prefix}{len(self.opened):04d}"
        given: dict[str, Any] = {"id": id}
        subject = (None, "ann", "bob")[self.draws.below(3)]
        if subject is not None:
            given["subject"] = subject
        if self.draws.below(3) == 0:
            given["event_time"] = "2026-11-15T13:50:01Z"
        answer = self.said(self.site.post(f"{self.home}/episodes", given))
        policy = answer.json()["policy"]
        states = [STATES[self.draws.below(len(STATES))] for _ in range(HORIZON + 1)]
        actions = []
        for h in range(HORIZON):
            marked = policy["explore"][h].get(states[h], [])
            if not marked and self.draws.below(8) < 8 * policy["epsilon"]:
                marked = ACTIONS
            one = self.draws.below(12)
            actions.append(marked[one % len(marked)] if marked else policy["plan"][h][states[h]])
        rewards = [self.draws.below(9) / 8 for _ in range(HORIZON)]
        self.opened.append(id)
        self.paths[id] = {"states": states, "actions": actions, "rewards": rewards}
        self.out[id] = list(range(HORIZON))
        if self.late:
            path = {"states": states, "actions": actions}
            self.send(id, {"path": path})
        return id

    def send(self, id: str, content: dict[str, Any]) -> None:
        """Send something that came back."""
        self.said(self.site.post(f"/v1/episodes/{id}/feedback", content))

    def pieces(self, id: str, told: list[int]) -> dict[str, Any]:
        """Return some steps of an episode as they are sent."""
        path = self.paths[id]
        if self.late:
            return {"rewards": {str(h): path["rewards"][h] for h in told}}
        if len(told) == HORIZON:
            return dict(path)
        states, actions = path["states"], path["actions"]
        return {
            "steps": [
                {
                    "step": h,
                    "state": states[h],
                    "action": actions[h],
                    "next_state": STATES.index(states[h + 1]),
                    "reward": path["rewards"][h],
                }
                for h in told
            ]
        }

    def answer(self) -> None:
        """Send some of what is out: alone, in bulk, and some of it twice."""
        lines = []
        for id in list(self.out):
            left, choice = self.out[id], self.draws.below(5)
            if choice == 0 or id in self.gone:
                continue
            told = left if choice > 2 else [left[self.draws.below(len(left))]]
            content = self.pieces(id, told)
            if self.draws.below(3) == 0:
                lines.append(json.dumps({"episode": id, **content}))
            else:
                self.clock.seconds += 1.5
                self.send(id, content)
                if self.draws.below(4) == 0:
                    self.send(id, content)
            self.out[id] = [h for h in left if h not in told]
            if not self.out[id]:
                del self.out[id]
        if lines:
            answer = self.site.post(
                f"{self.home}/feedback", content="\n".join(lines), headers=NDJSON
            )
            results = [json.loads(line) for line in answer.text.splitlines()]
            self.codes += [answer.status_code, *(one["status"] for one in results)]

    def disturb(self, tick: int) -> None:
        """Correct, withdraw, refuse and control, each at a tick of its own."""
        some = self.opened[self.draws.below(len(self.opened))]
        if tick == 2:
            back = [id for id in self.opened if id not in self.out]
            for id in back[:2]:
                path = self.paths[id] | {"rewards": [1, 0.5, 0]}
                self.said(self.site.post(f"/v1/episodes/{id}/correction", path))
        elif tick == 3:
            self.said(self.site.delete(f"/v1/episodes/{some}"))
            self.gone.add(some)
            self.send(some, self.pieces(some, [0]))
        elif tick == 4:
            self.said(self.site.delete(f"{self.home}/subjects/ann"))
            self.said(self.site.post(f"{self.home}/freeze"))
        elif tick == 5:
            self.said(self.site.post(f"{self.home}/unfreeze"))
            self.said(self.site.post(f"{self.home}/shadow", {"on": True}))
            self.send(some, {"states": ["ill"], "actions": []})
            self.send("nobody", {"steps": []})
        elif tick == 6:
            self.said(self.site.post(f"{self.home}/shadow", {"on": False}))
            self.said(self.site.post(f"{self.home}/rollback", {"version": 1}))
        elif tick == 7:
            self.said(self.site.post(f"{self.home}/unfreeze"))

    def tick(self, number: int, *, begun: int = 3) -> dict[str, Any]:
        """Play a while, let the host fold it, and return what can be seen then."""
        for _ in range(begun):
            self.clock.seconds += 2.25
            self.open()
        self.answer()
        self.disturb(number)
        self.clock.seconds += 10
        self.site.host.step()
        return self.seen()

    def seen(self) -> dict[str, Any]:
        """Return digests of all that the service tells of the problem now."""
        asked = {
            "state": STATES[self.draws.below(len(STATES))],
            "step": self.draws.below(HORIZON),
            "episode": self.opened[-1],
        }
        decision = self.said(self.site.post(f"{self.home}/decide", asked)).json()
        status = read_status(self.site, self.home)
        return {
            "codes": digest(self.codes),
            "decision": decision,
            "policy": digest(self.site.get(f"{self.home}/policy").json()),
            "serving": status["serving"],
            "numbers": [status[key] for key in ("begun", "observed", "missing", "updates")],
            "status": digest(status),
            "history": digest(self.site.get(f"{self.home}/history").json()),
        }


def read_status(site: Site, home: str) -> dict[str, Any]:
    """Return the status of a problem, without fields that are newer than the recorded digests."""
    status = dict(site.get(f"{home}/status").json())
    assert status.pop("lost") == 0
    assert status.pop("lateness")["episodes"]["episodes"] == status["begun"]
    return status


def at_rest(site: Site, kind: str) -> dict[str, Any]:
    """Return digests of what a ledger holds of a problem."""
    home = f"/v1/problems/{kind}"
    versions = site.get(f"{home}/versions").json()["versions"]
    policies = [site.get(f"{home}/policy/{one['version']}").json() for one in versions]
    last = len(versions)
    changed = site.get(f"{home}/policy/diff", params={"from": 1, "to": last}).json()
    events = [json.loads(line) for line in site.get(f"{home}/events").text.splitlines()]
    kept = ("seq", "episode", "kind", "event_time", "body", "redacted")
    return {
        "versions": [digest(one) for one in versions],
        "policies": [digest(one) for one in policies],
        "changed": digest(changed),
        "problem": digest(site.get(home).json()),
        "events": digest([[one[key] for key in kept] for one in events]),
        "count": len(events),
    }


def fresh(kind: str) -> dict[str, Any]:
    """Return what comes of a problem in a new ledger, tick by tick and at the end."""
    with tempfile.TemporaryDirectory() as folder:
        file, clock = Path(folder) / "ledger.db", Clock()
        with site_on(file, clock) as site:
            reception = Reception(site, clock, kind)
            reception.define()
            site.host.step()
            ticks = [reception.tick(number) for number in range(TICKS)]
            end = at_rest(site, kind)
        check(file)
        # whoever comes next finds the same, from the events and from a snapshot
        for _ in range(2):
            with site_on(file, clock) as site:
                site.host.step()
                assert at_rest(site, kind) == end
                status = digest(read_status(site, f"/v1/problems/{kind}"))
                assert status == ticks[-1]["status"]
            take_snapshots(file, clock)
            check(file)
    return {"ticks": ticks, "end": end}


def check(file: Path) -> str:
    """Verify a ledger in the way that its owner would, and return what was printed."""
    words = ["ledger", "verify", "--store", f"sqlite:///{file}"]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


STORED = ("late-lazy", "unknown", "q-learning")
"""Problems of the stored ledger."""
LATER = 1000.0
"""Seconds at which the stored ledger is opened again."""


def write_file() -> None:
    """Write the ledger that later versions must be able to read."""
    with tempfile.TemporaryDirectory() as folder:
        file, clock = Path(folder) / "ledger.db", Clock()
        with site_on(file, clock) as site:
            for kind in STORED:
                reception = Reception(site, clock, kind)
                reception.define()
                site.host.step()
                for number in range(TICKS):
                    reception.tick(number, begun=2)
        take_snapshots(file, clock)
        check(file)
        FILE.write_bytes(file.read_bytes())


def stored(kind: str) -> dict[str, Any]:
    """Return what a problem of the stored ledger comes to, and what follows if it goes on."""
    with tempfile.TemporaryDirectory() as folder:
        file, clock = Path(shutil.copy(FILE, folder)), Clock(LATER)
        said = re.findall(r"\b[0-9a-f]{64}\b", check(file))
        with site_on(file, clock) as site:
            before = at_rest(site, kind)
            site.host.step()
            assert at_rest(site, kind) == before
            home = f"/v1/problems/{kind}"
            status = digest(read_status(site, home))
            history = digest(site.get(f"{home}/history").json())
            reception = Reception(site, clock, kind, salt="-later")
            ticks = [reception.tick(number) for number in range(4)]
            after = at_rest(site, kind)
        check(file)
    return {
        "ledger": said,
        "before": before,
        "status": status,
        "history": history,
        "ticks": ticks,
        "after": after,
    }


FRESH: dict[str, Callable[[], Any]] = {kind: partial(fresh, kind) for kind in KINDS}
KEPT: dict[str, Callable[[], Any]] = {kind: partial(stored, kind) for kind in STORED}
