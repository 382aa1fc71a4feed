"""Policies in JSON, with the names of states and actions: serialization, cache and comparison."""

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
    """One version of a policy, serialized as JSON."""

    text: bytes  # JSON object with the fields of models.policies.Policy
    etag: str  # value of the ETag header, including the quotes

    @classmethod
    def of(cls, spec: ProblemSpec, version: int, policy: Policy) -> "PolicyDocument":
        """Serialize a version of a policy.

        Parameters
        ----------
        spec : ProblemSpec
            Definition of the problem, with the names of states and actions.
        version : int
            Version under which the policy was published.
        policy : Policy
            Policy of that version.

        Returns
        -------
        PolicyDocument
            JSON text and ETag of the policy.
        """
        sha = encode_policy(policy).sha
        body = policy_json(spec, version, policy) | {"sha": sha}
        text = json.dumps(body, separators=(",", ":"))
        return cls(text.encode(), f'"{version}-{sha[:16]}"')


class PolicyCache:
    """Cache of the served versions and the serialized policies of a ledger, for one event loop.

    Parameters
    ----------
    ledger : Ledger
        Ledger in which versions are published.
    run_in_thread : Callable
        `run_in_thread(function, *args)` calls a blocking function in a worker thread; the result is
        awaitable.
    ttl_s : float
        Time in seconds for which a cached served version is used without a query.
    clock : Callable[[], float]
        Returns a monotonic time in seconds.
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
        """Return the served version of the problem with id `problem`, and its policy.

        Return None if no version has been published.
        """
        return self._served.get(problem, lambda: self._run_in_thread(self._serving.served, problem))

    def invalidate(self, problem: int) -> None:
        """Remove the served version of the problem with id `problem` from the cache."""
        self._served.invalidate(problem)

    async def policy(self, problem: int, version: int) -> Policy | None:
        """Return the policy of this `version` of the problem with id `problem`.

        Return None if the version does not exist.
        """
        policy: Policy | None = await self._run_in_thread(self._serving.policy, problem, version)
        return policy

    def document(
        self, problem: Problem, version: int
    ) -> Coroutine[Any, Any, PolicyDocument | None]:
        """Return the policy of this `version` of `problem`, serialized as JSON.

        Return None if the version does not exist.
        """
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
    """Return a policy as JSON, with the names of states and actions.

    Parameters
    ----------
    spec : ProblemSpec
        Definition of the problem, with the names of states and actions.
    version : int
        Version under which the policy was published.
    policy : Policy
        Policy of that version.

    Returns
    -------
    dict[str, Any]
        JSON object with the fields of `models.policies.Policy` except `sha`. For each step,
        `explore` contains only the states in which the policy explores, and `allowed` only those in
        which some action is forbidden. The plan of a terminal state is None.
    """
    explore: list[dict[str, list[str]]] = [{} for _ in range(spec.horizon)]
    ended = dict.fromkeys(spec.terminal or ())
    if policy.explore is not None:
        for step, state in np.argwhere(policy.explore.any(axis=2)).tolist():
            explore[step][spec.states[state]] = action_names(spec, policy, step, state)
    return {
        "problem": spec.name,
        "version": version,
        "horizon": spec.horizon,
        "actions": list(spec.actions),
        "plan": [
            {state: spec.actions[a] for state, a in zip(spec.states, row, strict=True)} | ended
            for row in policy.actions.tolist()
        ],
        "explore": explore,
        "epsilon": policy.epsilon,
        **restrictions_json(spec),
    }


def restrictions_json(spec: ProblemSpec) -> dict[str, Any]:
    """Return the optional fields of a policy in JSON: `terminal`, `allowed` and `factors`.

    Fields that do not apply to the problem `spec` are omitted.
    """
    fields: dict[str, Any] = {}
    if spec.terminal is not None:
        fields["terminal"] = list(spec.terminal)
    mask = spec.shape.allowed
    if mask is not None:
        allowed: list[dict[str, list[str]]] = [{} for _ in range(spec.horizon)]
        restricted = ~mask.all(axis=2) & ~spec.shape.is_terminal
        for step, state in np.argwhere(restricted).tolist():
            names = [spec.actions[a] for a in np.flatnonzero(mask[step, state])]
            allowed[step][spec.states[state]] = names
        fields["allowed"] = allowed
    if spec.factors is not None:
        fields["factors"] = list(spec.factors)
    return fields


def action_names(spec: ProblemSpec, policy: Policy, step: int, state: int) -> list[str]:
    """Return the names of the actions from which a policy draws at one step in one state.

    Parameters
    ----------
    spec : ProblemSpec
        Definition of the problem, with the names of the actions.
    policy : Policy
        Policy that chooses the action. Its `epsilon` is ignored.
    step, state : int
        Indices of the step and the state, from 0.

    Returns
    -------
    list[str]
        Names of the actions, which are equally likely; a single name if the action is not random.
    """
    explored = policy.explored_actions(step, state)
    actions = explored.tolist() if explored.size else [int(policy.actions[step, state])]
    return [spec.actions[a] for a in actions]


def policy_changes(spec: ProblemSpec, old: Policy, new: Policy) -> list[dict[str, Any]]:
    """Return the pairs of step and state in which two policies of a problem differ.

    Parameters
    ----------
    spec : ProblemSpec
        Definition of the problem of both policies.
    old, new : Policy
        Policies to compare. Their values of `epsilon` are not compared.

    Returns
    -------
    list[dict[str, Any]]
        One JSON object for each difference, with the fields of `models.policies.Change`.
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
