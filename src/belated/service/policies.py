"""Policies with the names of states and actions: serialization and comparison."""

import json
from typing import NamedTuple

import numpy as np

from belated.client import wire
from belated.episode import Policy
from belated.ledger.policies import encode_policy
from belated.ledger.problems import ProblemSpec
from belated.service.responses import Change


class PolicyDocument(NamedTuple):
    """One version of a policy, serialized as JSON."""

    text: bytes  # JSON object with the fields of wire.Policy
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
        named = named_policy(spec, version, policy)
        body = {name: value for name, value in vars(named).items() if value != ()}
        text = json.dumps(body, separators=(",", ":"))
        return cls(text.encode(), f'"{version}-{named.sha[:16]}"')


def named_policy(spec: ProblemSpec, version: int, policy: Policy) -> wire.Policy:
    """Return a policy with the names of states and actions, as a type of the interface.

    Parameters
    ----------
    spec : ProblemSpec
        Definition of the problem, with the names of states and actions.
    version : int
        Version under which the policy was published.
    policy : Policy
        Policy of that version.
    """
    explore: list[dict[str, list[str]]] = [{} for _ in range(spec.horizon)]
    ended = dict.fromkeys(spec.terminal or ())
    if policy.explore is not None:
        for step, state in np.argwhere(policy.explore.any(axis=2)).tolist():
            explore[step][spec.states[state]] = action_names(spec, policy, step, state)
    plan = [
        {state: spec.actions[a] for state, a in zip(spec.states, row, strict=True)} | ended
        for row in policy.actions.tolist()
    ]
    allowed: list[dict[str, list[str]]] = []
    mask = spec.shape.allowed
    if mask is not None:
        allowed = [{} for _ in range(spec.horizon)]
        restricted = ~mask.all(axis=2) & ~spec.shape.is_terminal
        for step, state in np.argwhere(restricted).tolist():
            names = [spec.actions[a] for a in np.flatnonzero(mask[step, state])]
            allowed[step][spec.states[state]] = names
    return wire.Policy(
        spec.name,
        version,
        spec.horizon,
        spec.actions,
        plan,
        explore,
        policy.epsilon,
        encode_policy(policy).sha,
        terminal=spec.terminal or (),
        allowed=allowed or (),
        factors=tuple(spec.factors or ()),
    )


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


def policy_changes(spec: ProblemSpec, old: Policy, new: Policy) -> list[Change]:
    """Return the pairs of step and state in which two policies of a problem differ.

    Parameters
    ----------
    spec : ProblemSpec
        Definition of the problem of both policies.
    old, new : Policy
        Policies to compare. Their values of `epsilon` are not compared.
    """
    changed = old.actions != new.actions
    for policy in (old, new):
        if policy.explore is not None:
            changed = changed | policy.explore.any(axis=2)
    return [
        Change(step=step, state=spec.states[state], before=before, after=after)
        for step, state in np.argwhere(changed).tolist()
        if (before := action_names(spec, old, step, state))
        != (after := action_names(spec, new, step, state))
    ]
