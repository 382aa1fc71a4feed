"""Policies with the names of states and actions: serialization and comparison."""

import json
from typing import Any, NamedTuple

import numpy as np

from belated.episode import Bools, Policy
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
        """
        sha = encode_policy(policy).sha
        ended = dict.fromkeys(spec.terminal or ())
        body: dict[str, Any] = {
            "problem": spec.name,
            "version": version,
            "horizon": spec.horizon,
            "actions": spec.actions,
            "plan": [
                {state: spec.actions[a] for state, a in zip(spec.states, row, strict=True)} | ended
                for row in policy.actions.tolist()
            ],
            "explore": name_actions(spec, policy.explore),
            "epsilon": policy.epsilon,
            "sha": sha,
        }
        if spec.terminal:
            body["terminal"] = spec.terminal
        if spec.shape.allowed is not None:
            restricted = ~spec.shape.allowed.all(axis=2) & ~spec.shape.is_terminal
            body["allowed"] = name_actions(spec, spec.shape.allowed & restricted[:, :, None])
        if spec.factors:
            body["factors"] = list(spec.factors)
        text = json.dumps(body, separators=(",", ":"))
        return cls(text.encode(), f'"{version}-{sha[:16]}"')


def name_actions(spec: ProblemSpec, mask: Bools | None) -> list[dict[str, list[str]]]:
    """Return, for each step, a map from each state with actions in `mask` to their names.

    `mask` has the shape (steps, states, actions), or is None for no actions.
    """
    named: list[dict[str, list[str]]] = [{} for _ in range(spec.horizon)]
    if mask is not None:
        for step, state in np.argwhere(mask.any(axis=2)).tolist():
            actions = np.flatnonzero(mask[step, state])
            named[step][spec.states[state]] = [spec.actions[a] for a in actions]
    return named


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
