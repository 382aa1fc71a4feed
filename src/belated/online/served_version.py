"""Selection of the version of a policy that is served to new episodes.

The served version is the newest one, unless an operator has recorded one of these actions:

    freeze       serve the current version until unfreeze
    roll_back    serve a given version until unfreeze
    shadow_on    serve the current version until shadow_off; newer versions are still published
"""

import threading
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from belated.episode import Policy
from belated.ledger.events import Event, Kind
from belated.ledger.ledger import Ledger

SERVING_KINDS: Final[tuple[Kind, ...]] = ("published", "control")
"""Kinds of events that determine the served version."""

MAX_CACHED_POLICIES: Final = 256


@dataclass(frozen=True)
class ServingState:
    """State that determines the served version of a problem, computed from its events.

    >>> from types import SimpleNamespace
    >>> state = ServingState()
    >>> for body in ({"version": 1}, {"action": "freeze"}, {"version": 2}):
    ...     kind = "control" if "action" in body else "published"
    ...     state = state.after(SimpleNamespace(kind=kind, seq=1, body=body))
    >>> state.version, state.newest, state.frozen
    (1, 2, 1)
    """

    seq: int = 0
    """Sequence number of the last event that the state includes; 0 if there is none."""
    newest: int = 0
    """Newest published version; 0 if no version has been published."""
    frozen: int | None = None
    """Version to serve until an operator unfreezes the problem; None if it is not frozen."""
    shadow: int | None = None
    """Version to serve in shadow mode, unless the problem is frozen; None if shadow mode is off."""

    @property
    def version(self) -> int:
        """Version that new episodes receive; 0 if no version has been published."""
        if self.frozen is not None:
            return min(self.frozen, self.newest)
        return self.newest if self.shadow is None else min(self.shadow, self.newest)

    def after(self, event: Event) -> "ServingState":
        """Return the state after `event`, a publication of a version or an operator's decision."""
        body = event.body
        if event.kind == "published":
            return replace(self, seq=event.seq, newest=body["version"])
        present = max(1, self.version)  # before the first publication, version 1
        changes: dict[str, dict[str, Any]] = {
            "freeze": {"frozen": present},
            "roll_back": {"frozen": body.get("version")},
            "unfreeze": {"frozen": None},
            "shadow_on": {"shadow": present if self.shadow is None else self.shadow},
            "shadow_off": {"shadow": None},
        }
        return replace(self, seq=event.seq, **changes.get(body["action"], {}))


class ServedPolicy(NamedTuple):
    """Served version of a problem: its number, its policy, and the `ServingState` behind it."""

    version: int
    policy: Policy
    state: ServingState


class Serving:
    """Served versions of all problems, computed from the events of a ledger.

    No learner or host is needed. Each call reads only the events that are new since the last call.
    Several threads may share an instance.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._states: dict[int, ServingState] = {}
        self._lock = threading.Lock()
        self._read_policy = lru_cache(MAX_CACHED_POLICIES)(self._read_policy_uncached)

    def served(self, problem: int) -> ServedPolicy | None:
        """Return the served version of the problem with id `problem`.

        Returns None if no version has been published.
        """
        state = self.state(problem)
        policy = self.policy(problem, state.version)
        return None if policy is None else ServedPolicy(state.version, policy, state)

    def state(self, problem: int) -> ServingState:
        """Return the current serving state of the problem with id `problem`."""
        state = self._states.get(problem, ServingState())
        for event in self._ledger.events(problem, after=state.seq, kinds=SERVING_KINDS):
            state = state.after(event)
        with self._lock:
            # another thread may have read further meanwhile
            if state.seq >= self._states.get(problem, state).seq:
                self._states[problem] = state
            return self._states[problem]

    def policy(self, problem: int, version: int) -> Policy | None:
        """Return the policy published as `version` of the problem with id `problem`.

        Returns None if there is no such version.
        """
        try:
            return self._read_policy(problem, version) if version else None
        except LookupError:  # which is not cached, since the version may be published later
            return None

    def _read_policy_uncached(self, problem: int, version: int) -> Policy:
        policy = self._ledger.policies.get(problem, version)
        if policy is None:
            raise LookupError(f"There is no version {version}.")
        return policy
