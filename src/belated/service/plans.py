"""Policies as a device reads them: by the names of states and actions."""

import json
from typing import Any, NamedTuple

from belated.episode import Policy
from belated.ledger.policies import encode_policy
from belated.ledger.problems import ProblemSpec


class Page(NamedTuple):
    """A version of a policy, written out."""

    text: bytes
    etag: str

    @classmethod
    def of(cls, spec: ProblemSpec, version: int, policy: Policy) -> "Page":
        """Of a policy."""
        sha = encode_policy(policy).sha
        text = json.dumps(plan_of(spec, version, policy) | {"sha": sha}, separators=(",", ":"))
        return cls(text.encode(), f'"{version}-{sha[:16]}"')


def plan_of(spec: ProblemSpec, version: int, policy: Policy) -> dict[str, Any]:
    """What to play in each state at each step, and where to draw.

    `explore` holds only the states in which one of several actions is to be drawn.
    """
    actions = policy.actions.tolist()
    return {
        "problem": spec.name,
        "version": version,
        "horizon": spec.horizon,
        "actions": list(spec.actions),
        "plan": [
            {state: spec.actions[a] for state, a in zip(spec.states, row, strict=True)}
            for row in actions
        ],
        "explore": [_drawn(spec, policy, step) for step in range(spec.horizon)],
        "epsilon": policy.epsilon,
    }


def _drawn(spec: ProblemSpec, policy: Policy, step: int) -> dict[str, list[str]]:
    if policy.explore is None:
        return {}
    marked = policy.explore[step].any(axis=1).nonzero()[0].tolist()
    return {spec.states[s]: [spec.actions[a] for a in policy.marked(step, s)] for s in marked}


def played(spec: ProblemSpec, policy: Policy, step: int, state: int) -> list[str]:
    """The actions of which one is played here, but for `epsilon`."""
    marked = policy.marked(step, state)
    chosen = marked.tolist() if marked.size else [int(policy.actions[step, state])]
    return [spec.actions[a] for a in chosen]


def diff(spec: ProblemSpec, old: Policy, new: Policy) -> list[dict[str, Any]]:
    """Where two policies differ, by step and state."""
    changed = old.actions != new.actions
    for policy in (old, new):
        if policy.explore is not None:
            changed = changed | policy.explore.any(axis=2)
    places = zip(*(axis.tolist() for axis in changed.nonzero()), strict=True)
    return [
        {"step": step, "state": spec.states[state], "before": before, "after": after}
        for step, state in places
        if (before := played(spec, old, step, state)) != (after := played(spec, new, step, state))
    ]
