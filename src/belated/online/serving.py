"""Serving: which version of the policy is to be played now.

The last one that was published, unless a person decided otherwise:

    freeze, unfreeze         keep to what is served at that moment, and no more
    roll_back                keep to that version until unfreeze
    shadow_on, shadow_off    learn and publish, but serve what was served when it went on
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from belated.episode import Policy
from belated.ledger.events import Event, Kind
from belated.ledger.ledger import Ledger

TELLING: Final[tuple[Kind, ...]] = ("published", "control")
"""The events that tell what is served."""

KEPT: Final = 256
"""How many policies to keep at hand."""


@dataclass(frozen=True)
class Choice:
    """What the events so far say about what is served.

    >>> from types import SimpleNamespace as Said
    >>> choice = Choice()
    >>> for body in ({"version": 1}, {"action": "freeze"}, {"version": 2}):
    ...     choice = choice.after(Said(kind="control" if "action" in body else "published",
    ...                                seq=1, body=body))
    >>> choice.version, choice.newest, choice.frozen
    (1, 2, 1)
    """

    seq: int = 0
    """The last event that was read."""
    newest: int = 0
    """The last version that was published; 0 for none."""
    frozen: int | None = None
    """What is served until unfreeze."""
    shadow: int | None = None
    """What is served until shadow mode is off, unless it is frozen."""

    @property
    def version(self) -> int:
        """What is served; 0 while nothing has been published."""
        if self.frozen is not None:
            return min(self.frozen, self.newest)
        return self.newest if self.shadow is None else min(self.shadow, self.newest)

    def after(self, event: Event) -> "Choice":
        """What an event makes of it."""
        body, said = event.body, replace(self, seq=event.seq)
        if event.kind == "published":
            return replace(said, newest=body["version"])
        kept = max(1, self.version)  # before the first version, that one
        match body["action"]:
            case "freeze":
                return replace(said, frozen=kept)
            case "roll_back":
                return replace(said, frozen=body["version"])
            case "unfreeze":
                return replace(said, frozen=None)
            case "shadow_on":
                return replace(said, shadow=kept if self.shadow is None else self.shadow)
            case "shadow_off":
                return replace(said, shadow=None)
        return said


class Served(NamedTuple):
    """A version, what it plays, and why it is this one."""

    version: int
    policy: Policy
    choice: Choice


class Serving:
    """Answers from the database alone, so that any process can; several threads may share one.

    It asks each time what is new, and reads only that.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._choices: dict[int, Choice] = {}
        self._policies: OrderedDict[tuple[int, int], Policy] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, problem: int) -> Served | None:
        """What is served now; None while nothing has been published."""
        choice = self.choice(problem)
        policy = self.policy(problem, choice.version)
        return None if policy is None else Served(choice.version, policy, choice)

    def choice(self, problem: int) -> Choice:
        """What the events so far say about what is served."""
        with self._lock:
            choice = self._choices.get(problem, Choice())
        for event in self._ledger.events(problem, after=choice.seq, kinds=TELLING):
            choice = choice.after(event)
        with self._lock:
            # another thread may have read further meanwhile
            if choice.seq >= self._choices.get(problem, Choice()).seq:
                self._choices[problem] = choice
            return self._choices[problem]

    def policy(self, problem: int, version: int) -> Policy | None:
        """What a version plays; None if there is no such version."""
        key = (problem, version)
        with self._lock:
            known = self._policies.get(key)
            if known is not None:
                self._policies.move_to_end(key)
                return known
        policy = self._ledger.policies.get(problem, version) if version else None
        if policy is not None:
            with self._lock:
                self._policies[key] = policy
                while len(self._policies) > KEPT:
                    self._policies.popitem(last=False)
        return policy
