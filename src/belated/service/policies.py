"""Policies as the service sends them: by names of states and actions, cached, and compared."""

import json
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

import numpy as np

from belated.episode import Policy
from belated.ledger.ledger import Ledger
from belated.ledger.policies import encode_policy
from belated.ledger.problems import Problem, ProblemSpec
from belated.online.serving import ServedPolicy, Serving
from belated.service.single_flight import SingleFlightCache

MAX_CACHED_DOCUMENTS: Final = 32


class PolicyDocument(NamedTuple):
    """One version of a policy, serialized."""

    text: bytes  # JSON, as in models.Policy
    etag: str  # value of the ETag header, in quotes

    @classmethod
    def of(cls, spec: ProblemSpec, version: int, policy: Policy) -> "PolicyDocument":
        """Serialize a policy.

        Parameters
        ----------
        spec : ProblemSpec
            Problem of the policy; gives the names of states and actions.
        version : int
            Version under which the policy was published.
        policy : Policy
            Policy of that version.

        Returns
        -------
        PolicyDocument
            Its JSON text and ETag.
        """
        sha = encode_policy(policy).sha
        body = policy_json(spec, version, policy) | {"sha": sha}
        text = json.dumps(body, separators=(",", ":"))
        return cls(text.encode(), f'"{version}-{sha[:16]}"')


class PolicyCache:
    """Served versions and policy documents of a ledger, for one event loop.

    Parameters
    ----------
    ledger : Ledger
        Where versions are published.
    run_in_thread : Callable
        `run_in_thread(function, *args)` calls a blocking function outside of the event loop.
    ttl_s : float
        Seconds for which the served version is reused without a query.
    clock : Callable[[], float]
        Monotonic time in seconds.
    """

    def __init__(
        self,
        ledger: Ledger,
        run_in_thread: Callable[..., Any],
        *,
        ttl_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._serving = Serving(ledger)
        self._run_in_thread = run_in_thread
        self._served: SingleFlightCache[int, ServedPolicy] = SingleFlightCache(
            ttl_s=ttl_s, clock=clock
        )
        self._documents: SingleFlightCache[tuple[int, int], PolicyDocument] = SingleFlightCache(
            max_size=MAX_CACHED_DOCUMENTS
        )

    def served(self, problem: int) -> Coroutine[Any, Any, ServedPolicy | None]:
        """Return the served version of the problem with id `problem`.

        None means that no version has been published.
        """
        return self._served.get(problem, lambda: self._run_in_thread(self._serving.served, problem))

    def invalidate(self, problem: int) -> None:
        """Query the served version of the problem with id `problem` again at the next call."""
        self._served.invalidate(problem)

    async def policy(self, problem: int, version: int) -> Policy | None:
        """Return a `version` of the policy of the problem with id `problem`, or None."""
        policy: Policy | None = await self._run_in_thread(self._serving.policy, problem, version)
        return policy

    def document(
        self, problem: Problem, version: int
    ) -> Coroutine[Any, Any, PolicyDocument | None]:
        """Return a `version` of the policy of `problem` as a document, or None."""
        key = (problem.id, version)
        return self._documents.get(key, lambda: self._serialize(problem, version))

    async def _serialize(self, problem: Problem, version: int) -> PolicyDocument | None:
        policy = await self.policy(problem.id, version)
        if policy is None:
            return None
        document: PolicyDocument = await self._run_in_thread(
            PolicyDocument.of, problem.spec, version, policy
        )
        return document


def policy_json(spec: ProblemSpec, version: int, policy: Policy) -> dict[str, Any]:
    """Return a policy by names, as described by `models.policies.Policy` (without `sha`).

    Parameters
    ----------
    spec : ProblemSpec
        Problem of the policy.
    version : int
        Version under which the policy was published.
    policy : Policy
        Policy of that version.

    Returns
    -------
    dict[str, Any]
        JSON object. `explore` holds only states whose action is drawn at random.
    """
    explore: list[dict[str, list[str]]] = [{} for _ in range(spec.horizon)]
    if policy.explore is not None:
        for step, state in np.argwhere(policy.explore.any(axis=2)).tolist():
            explore[step][spec.states[state]] = action_names(spec, policy, step, state)
    return {
        "problem": spec.name,
        "version": version,
        "horizon": spec.horizon,
        "actions": list(spec.actions),
        "plan": [
            {state: spec.actions[a] for state, a in zip(spec.states, row, strict=True)}
            for row in policy.actions.tolist()
        ],
        "explore": explore,
        "epsilon": policy.epsilon,
    }


def action_names(spec: ProblemSpec, policy: Policy, step: int, state: int) -> list[str]:
    """Return the actions that a policy draws from at one step and state.

    Parameters
    ----------
    spec : ProblemSpec
        Problem of the policy.
    policy : Policy
        Policy to read. Its `epsilon` is ignored.
    step, state : int
        Indices from 0.

    Returns
    -------
    list[str]
        Names of equally likely actions; a single name if the action is not random.
    """
    explored = policy.explored_actions(step, state)
    actions = explored.tolist() if explored.size else [int(policy.actions[step, state])]
    return [spec.actions[a] for a in actions]


def policy_changes(spec: ProblemSpec, old: Policy, new: Policy) -> list[dict[str, Any]]:
    """Return the steps and states at which two policies of a problem differ.

    Parameters
    ----------
    spec : ProblemSpec
        Problem of both policies.
    old, new : Policy
        Policies to compare.

    Returns
    -------
    list[dict[str, Any]]
        One object for each difference, as described by `models.policies.Change`.
    """
    changed = old.actions != new.actions
    for policy in (old, new):
        if policy.explore is not None:
            changed = changed | policy.explore.any(axis=2)
    return [
        {"step": step, "state": spec.states[state], "before": before, "after": after}
        for step, state in np.argwhere(changed).tolist()
        if (before := action_names(spec, old, step, state))
        != (after := action_names(spec, new, step, state))
    ]
