"""Histories of a small problem in a ledger: late, in pieces, twice, corrected and withdrawn."""

from typing import Any

import numpy as np

from belated.ledger import Corrected, Event, Feedback, Ledger, Opened, Part, ProblemSpec, Recorded
from belated.ledger.events import EXCLUDING_KINDS, Exclusions
from belated.online.fold import Fold
from belated.online.learner_factory import build_learner

H, S, A = 3, 4, 2

KINDS: dict[str, dict[str, Any]] = {
    "known": {"rewards": np.linspace(0, 1, S * A).reshape(S, A)},
    "unknown": {},
    "late rewards": {"late": "rewards"},
    "pooled": {"stages": "pooled"},
    "lazy": {"updater": Part("lazy", {"alpha": 2})},
    "lazy auto": {"updater": Part("lazy", {"alpha": "auto"})},
    "late lazy": {"updater": Part("lazy", {"alpha": 2}), "late": "rewards"},
    "explicit": {"updater": Part("explicit", {"threshold": 3})},
    "batched": {"updater": Part("batched", {"grid": [1, 3]})},
    "scheduled": {"updater": Part("scheduled", {"every": 4}), "late": "rewards"},
    "matured": {"updater": Part("matured", {"updater": "lazy:2", "age": 5})},
    "matured by time": {
        "updater": Part("matured", {"updater": "active", "age": 1, "unit": "seconds"})
    },
    "q-learning": {"base": Part("q-learning", {"scale": 0.05, "bonus": "bernstein"})},
    "late q-learning": {"base": Part("q-learning", {"scale": 0.05}), "late": "rewards"},
    "psrl": {"base": Part("psrl", {"prior": 0.3})},
    "late psrl": {"base": Part("psrl"), "late": "rewards", "seed": 3},
    "epsilon-greedy": {"base": Part("epsilon-greedy", {"epsilon": 0.25})},
    "random ties": {"base": Part("ubev", {"scale": 0.1, "ties": "random"}), "seed": 7},
}


def make_spec(name: str = "clinic", **options: Any) -> ProblemSpec:
    """A problem of H, S and A, with unknown rewards unless it is told otherwise."""
    given: dict[str, Any] = {
        "states": [f"state {s}" for s in range(S)],
        "actions": [f"action {a}" for a in range(A)],
        "horizon": H,
        "rewards": None,
        "base": Part("ucrl2", {"scale": 0.1}),
        "updater": Part("active"),
        "episodes": 1000,
        **options,
    }
    return ProblemSpec(name=name, **given)


class History:
    """A problem that is played at random."""

    def __init__(self, ledger: Ledger, spec: ProblemSpec, seed: int = 0) -> None:
        self.ledger = ledger
        self.spec = spec
        defined = ledger.define(spec)
        assert isinstance(defined, Recorded)
        self.problem = defined.seq
        self.rng = np.random.default_rng([seed, self.problem])
        problem = ledger.problem(self.problem)
        assert problem is not None
        self.known = problem
        self.episodes: list[str] = []

    def publish_first(self) -> None:
        """Version 1, so that episodes can be opened where there is no host."""
        self.ledger.publish(self.problem, build_learner(self.spec).policy, version=1)

    @property
    def events(self) -> list[Event]:
        """All events so far."""
        return list(self.ledger.events(self.problem))

    @property
    def exclusions(self) -> Exclusions:
        """The events that corrections and withdrawals so far exclude."""
        return Exclusions(self.ledger.events(self.problem, kinds=EXCLUDING_KINDS))

    def fold(self) -> Fold:
        """Fold all events from nothing."""
        fold = Fold(self.spec, self.exclusions)
        for event in self.events:
            fold.apply(event)
        return fold

    def open(self, count: int = 1, *, subject: str | None = None) -> list[str]:
        """Open episodes; returns their ids."""
        ids = [self.rng.bytes(16).hex() for _ in range(count)]
        made = self.ledger.append([Opened(self.problem, 1, subject, id) for id in ids])
        assert all(isinstance(one, Recorded) for one in made)
        self.episodes += ids
        return ids

    def whole(self) -> dict[str, Any]:
        """Return the feedback that an episode may have."""
        return anything(self.rng)

    def answer(self, *ids: str) -> None:
        """Whole feedback of these episodes."""
        self.ledger.append([Feedback(id, self.whole()) for id in ids])

    def tick(self, upto: int | None = None) -> None:
        """End a batch."""
        self.ledger.tick(self.problem, upto)

    def go_on(self, moves: int, *, ticks: bool = True, undo: bool = True) -> None:
        """Do anything, many times. What contradicts itself is refused and changes nothing."""
        for _ in range(moves):
            self.move(ticks=ticks, undo=undo)

    def move(self, *, ticks: bool, undo: bool) -> None:
        """Do anything."""
        rng, draw = self.rng, self.rng.random()
        if draw < 0.25 or not self.episodes:
            self.open(int(rng.integers(1, 4)))
        elif draw < 0.75:
            id = self.episodes[int(rng.integers(len(self.episodes)))]
            self.ledger.append([Feedback(id, self.piece(id))])
        elif draw < 0.92 or not undo:
            if ticks:
                back = int(rng.integers(0, 3)) if rng.random() < 0.3 else 0
                self.tick(max(1, self.ledger.last - back))
        elif draw < 0.97:
            id = self.episodes[int(rng.integers(len(self.episodes)))]
            self.ledger.append([Corrected(id, self.whole())])
        else:
            self.ledger.withdraw(episode=self.episodes[int(rng.integers(len(self.episodes)))])

    def piece(self, id: str) -> dict[str, Any]:
        """Some of an episode, which is always the same one for the same id."""
        seed = int(id, 16)
        facts = anything(np.random.default_rng(seed))
        states, actions, rewards = facts["states"], facts["actions"], facts["rewards"]
        some = np.flatnonzero(self.rng.random(H) < 0.5).tolist() or [0]
        form = ("whole", "steps", "path")[seed % 3]
        if form == "steps":
            return {"steps": [step_of(facts, h) for h in some]}
        if form == "path" and self.spec.late == "rewards":
            paid: dict[str, Any] = {"rewards": {h: rewards[h] for h in some}}
            path: dict[str, Any] = {"path": {"states": states, "actions": actions}}
            return [path, paid, path | paid][int(self.rng.integers(3))]
        return facts


def step_of(facts: dict[str, Any], h: int) -> dict[str, Any]:
    """One step of a whole episode."""
    states, actions, rewards = facts["states"], facts["actions"], facts["rewards"]
    row = (h, states[h], actions[h], states[h + 1], rewards[h])
    return dict(zip(("step", "state", "action", "next_state", "reward"), row, strict=True))


def anything(rng: np.random.Generator) -> dict[str, Any]:
    """A whole episode."""
    return {
        "states": rng.integers(S, size=H + 1).tolist(),
        "actions": rng.integers(A, size=H).tolist(),
        "rewards": rng.random(H).round(3).tolist(),
    }
