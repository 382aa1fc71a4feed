"""Ledgers with every kind of event and every form of feedback, one of them stored by version 0.2.

The stored ledger stands for those of users: the texts of its events, what the service answers to
repeated feedback, and the learners that follow from it must stay the same.
"""

import json
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from belated.ledger import (
    Control,
    Corrected,
    Feedback,
    Ledger,
    Lost,
    Opened,
    Part,
    ProblemSpec,
    Withdrawn,
)
from regression.digesting import Draws, digest
from regression.internals import Clock, StoredResponse, learnt_from, plan_once, take_snapshots
from regression.ledgers import check

FILE = Path(__file__).with_name("ledger-0.2.db")
HORIZON = 4
STATES = ("ill", "weak", "well", "dead")
ACTIONS = ("wait", "treat", "operate")
ROUNDS = 7
LATER = 5000.0
"""Seconds at which the stored ledger is opened again."""

KINDS: dict[str, dict[str, Any]] = {
    "steps": {"rewards": None, "terminal": ["dead"], "updater": Part("lazy", {"alpha": 2})},
    "rewards": {"rewards": None, "late": "rewards", "terminal": ["dead"], "reward_range": [0, 10]},
    "known": {
        "rewards": [[0, 0.125, 0.5], [0.25, 0, 0.5], [0.5, 0.75, 1], [1, 0.375, 0.25]],
        "states": {"pain": ["no", "yes"], "sleep": ["good", "bad"]},
        "allowed": {"no/bad": ["wait", "treat"]},
    },
    "matured": {
        "rewards": None,
        "updater": Part("matured", {"updater": "lazy:2", "age": 40, "unit": "seconds"}),
    },
    "batched": {"rewards": None, "updater": Part("batched"), "stages": "pooled"},
}


class Clinic:
    """Someone who records the episodes of one problem."""

    def __init__(self, ledger: Ledger, clock: Clock, kind: str, *, salt: str = "") -> None:
        self.ledger, self.clock, self.kind = ledger, clock, kind
        self.draws = Draws(kind + salt)
        self.prefix = f"{kind}{salt}".ljust(22, "x")
        self.outcomes: list[Any] = []
        self.sent: list[Feedback] = []
        self.opened: list[str] = []
        self.paths: dict[str, dict[str, Any]] = {}
        self.out: dict[str, list[int]] = {}  # the steps that are still to come, by episode

    @property
    def spec(self) -> ProblemSpec:
        """Definition of the problem."""
        given = {
            "name": self.kind,
            "states": STATES,
            "actions": ACTIONS,
            "horizon": HORIZON,
            "base": Part("ucrl2", {"scale": 0.1}),
            "updater": Part("active"),
            "episodes": 2000,
        }
        return ProblemSpec(**{**given, **KINDS[self.kind]})

    def define(self) -> None:
        """Define the problem and publish its first policy."""
        self.record(self.ledger.define(self.spec))
        plan_once(self.ledger)

    @property
    def problem(self) -> int:
        """Id of the problem."""
        found = self.ledger.problem(self.kind)
        assert found is not None
        return found.id

    def record(self, *outcomes: Any) -> None:
        """Note outcomes, without what differs between two ledgers."""
        for one in outcomes:
            episode = getattr(one, "episode", None)
            fields = {key: value for key, value in vars(one).items() if key != "episode"}
            record = {} if episode is None else vars(episode)
            later = ("feedback", "replaced")  # fields that are newer than the recorded digests
            known = {key: value for key, value in record.items() if key not in later}
            self.outcomes.append([one.name, fields, known or None])

    def append(self, *events: Any) -> None:
        """Record events in one transaction."""
        self.record(*self.ledger.append(events))

    def open(self) -> None:
        """Open an episode and draw what will happen in it."""
        id = f"{self.prefix}{len(self.opened):04d}"
        subject = (None, "ann", "bob")[self.draws.below(3)]
        time = self.clock() - 500_000 if self.draws.below(3) == 0 else None
        versions = self.ledger.policies.versions(self.problem)
        version = versions[0 if self.draws.below(4) == 0 else -1].version
        self.append(Opened(self.problem, version, subject, id, time))
        spec, states, actions = self.spec, [self.draws.below(2)], []
        terminal = spec.shape.is_terminal
        while len(actions) < HORIZON and not terminal[states[-1]]:
            allowed = spec.shape.available[len(actions), states[-1]].nonzero()[0]
            actions.append(int(allowed[self.draws.below(len(allowed))]))
            states.append(self.draws.below(len(STATES)))
        high = (spec.reward_range or (0, 1))[1]
        rewards = [self.draws.below(9) * high / 8 for _ in actions]
        self.opened.append(id)
        self.paths[id] = {"states": states, "actions": actions, "rewards": rewards}
        self.out[id] = list(range(len(actions)))

    def padded(self, id: str) -> dict[str, Any]:
        """Return a whole episode, padded to the horizon."""
        path = self.paths[id]
        left = HORIZON - len(path["actions"])
        return {
            "states": [self.spec.states[s] for s in path["states"] + path["states"][-1:] * left],
            "actions": path["actions"] + [0] * left,
            "rewards": path["rewards"] + [0] * left,
        }

    def content(self, id: str, told: list[int]) -> dict[str, Any]:
        """Return some steps of an episode in one of the forms in which they can be sent."""
        path, choice = self.paths[id], self.draws.below(4)
        states, actions, rewards = path["states"], path["actions"], path["rewards"]
        if self.kind == "rewards" and choice < 3:
            late: dict[str, Any] = {"rewards": {str(h): rewards[h] for h in told}}
            if choice == 0 and len(told) == len(actions):
                late["path"] = {"states": states, "actions": actions}
            return late
        if len(told) == len(actions) and choice > 1:
            return self.padded(id) if choice == 2 else dict(path)
        names = self.spec.states
        steps = [
            {
                "step": h,
                "state": names[states[h]],
                "action": ACTIONS[actions[h]],
                "next_state": states[h + 1],
                "reward": rewards[h],
            }
            for h in told
        ]
        if len(actions) < HORIZON and choice == 1:  # padding after the end of the episode
            end = states[-1]
            steps.append({"step": HORIZON - 1, "state": end, "action": 0, "next_state": end})
        return {"steps": steps}

    def send(self, id: str, content: dict[str, Any]) -> None:
        """Send feedback."""
        time = self.clock() - 1_000_000 if self.draws.below(3) == 0 else None
        event = Feedback(id, content, time)
        self.sent.append(event)
        self.append(event)

    def answer(self) -> None:
        """Send some of what is out, sometimes twice or in contradiction to what was sent."""
        for id in list(self.out):
            left, choice = self.out[id], self.draws.below(5)
            if choice == 0:
                continue
            told = left if choice > 2 else [left[self.draws.below(len(left))]]
            if self.kind == "rewards" and self.draws.below(3) == 0:
                path = {name: self.paths[id][name] for name in ("states", "actions")}
                self.send(id, {"path": path})
            self.clock.seconds += 1.5
            content = self.content(id, told)
            self.send(id, content)
            if self.draws.below(4) == 0:
                self.append(*self.sent[-2:])
            if self.draws.below(6) == 0:
                self.send(id, self.padded(id) | {"rewards": [0.5] * HORIZON})
            self.out[id] = [h for h in left if h not in told]
            if not self.out[id]:
                del self.out[id]

    def disturb(self, number: int) -> None:
        """Correct, withdraw, give up, refuse and control, each in a round of its own."""
        problem, some = self.problem, self.opened[self.draws.below(len(self.opened))]
        if number == 1:
            self.append(Lost(next(iter(self.out), some), "moved away"))
            self.append(Lost(some, "no answer"), Lost(some, "died"))
        elif number == 2:
            for id in [id for id in self.opened if id not in self.out][:2]:
                new = self.paths[id] | {"rewards": [0.25] * len(self.paths[id]["actions"])}
                event = Corrected(id, new, self.clock())
                self.append(event, event)
            self.append(Corrected(some, self.paths[some], None))
        elif number == 3:
            self.append(Lost(some, "withdrew"), Withdrawn(some), Feedback(some, {"steps": []}))
            self.append(Control(problem, "freeze", None, "eve"))
        elif number == 4:
            self.record(*self.ledger.withdraw(subject="ann"))
            self.append(Control(problem, "unfreeze"), Control(problem, "shadow_on"))
        elif number == 5:
            self.append(Control(problem, "shadow_off"), Control(problem, "roll_back", 1))
            self.append(Control(problem, "archive"), Opened(problem, 1))
            self.append(Control(problem, "unarchive"))
            response = StoredResponse("a" * 64, "b" * 64, 201, "application/json", b"{}")
            self.append(response, Feedback("nobody" * 5, {"steps": []}))
        elif number == 6:
            self.append(*self.sent)  # everything once more

    def round(self, number: int, *, begun: int = 3) -> None:
        """Play a while, and let the host fold and publish."""
        for _ in range(begun):
            self.clock.seconds += 2.25
            self.open()
        self.answer()
        self.disturb(number)
        self.clock.seconds += 10
        plan_once(self.ledger)


def seen(ledger: Ledger, kind: str) -> dict[str, Any]:
    """Return digests of the events of a problem, and of what is learnt from them."""
    problem = ledger.problem(kind)
    assert problem is not None
    events = list(ledger.events(problem.id))
    facts = [[one.seq, one.episode, one.kind, one.event_time, one.redacted] for one in events]
    versions = ledger.policies.versions(problem.id)
    return {
        "kinds": {name: sum(one.kind == name for one in events) for name in sorted(KNOWN)},
        "events": digest(facts),
        "texts": digest([one.text for one in events]),
        "versions": digest([[one.version, one.tick, one.sha] for one in versions]),
        "archived": sorted(ledger.archived()),
        "learnt": digest(learnt_from(ledger, problem)),
    }


KNOWN = (
    *("defined", "opened", "feedback", "corrected", "lost"),
    *("withdrawn", "tick", "published", "control"),
)
"""All kinds of events."""


def quarantined(ledger: Ledger, problem: int) -> str:
    """Return a digest of the rejected requests of a problem."""
    rows = ledger.quarantine.read(problem)
    return digest([[one.episode, one.outcome, one.reason, one.text, one.times] for one in rows])


def fresh(kind: str) -> dict[str, Any]:
    """Return what comes of a problem in a new ledger."""
    with tempfile.TemporaryDirectory() as folder:
        file, clock = Path(folder) / "ledger.db", Clock()
        with Ledger.open(f"sqlite:///{file}", clock=clock) as ledger:
            clinic = Clinic(ledger, clock, kind)
            clinic.define()
            rounds = []
            for number in range(ROUNDS):
                clinic.round(number)
                rounds.append(seen(ledger, kind))
            rejected = quarantined(ledger, clinic.problem)
        check(file)
    return {"rounds": rounds, "outcomes": digest(clinic.outcomes), "rejected": rejected}


def write_file() -> None:
    """Write the ledger that later versions must be able to read."""
    with tempfile.TemporaryDirectory() as folder:
        file, clock = Path(folder) / "ledger.db", Clock()
        with Ledger.open(f"sqlite:///{file}", clock=clock) as ledger:
            for kind in KINDS:
                clinic = Clinic(ledger, clock, kind)
                clinic.define()
                for number in range(ROUNDS):
                    clinic.round(number)
            ledger.tokens.add("nurse", b"hash of a secret", scopes=["feedback"], lifetime_s=60)
            clinic.append(Control(clinic.problem, "archive"))
        take_snapshots(file, clock)
        check(file)
        FILE.write_bytes(file.read_bytes())


def stored(kind: str) -> dict[str, Any]:
    """Return what a problem of the stored ledger comes to, and what follows if it goes on."""
    with tempfile.TemporaryDirectory() as folder:
        file, clock = Path(shutil.copy(FILE, folder)), Clock(LATER)
        check(file)
        with Ledger.open(f"sqlite:///{file}", clock=clock) as ledger:
            before = seen(ledger, kind)
            clinic = Clinic(ledger, clock, kind, salt="-later")
            repeats = [
                Feedback(str(one.episode), json.loads(one.text), one.event_time)
                for one in ledger.events(clinic.problem, kinds=["feedback", "corrected"])
                if one.text is not None
            ]
            clinic.append(*repeats)
            plan_once(ledger)
            if clinic.problem in ledger.archived():
                clinic.append(Control(clinic.problem, "unarchive"))
            rounds = []
            for number in range(5):
                clinic.round(number)
                rounds.append(seen(ledger, kind))
            rejected = quarantined(ledger, clinic.problem)
        check(file)
    return {
        "before": before,
        "rounds": rounds,
        "outcomes": digest(clinic.outcomes),
        "rejected": rejected,
    }


FRESH: dict[str, Callable[[], Any]] = {kind: partial(fresh, kind) for kind in KINDS}
KEPT: dict[str, Callable[[], Any]] = {kind: partial(stored, kind) for kind in KINDS}
