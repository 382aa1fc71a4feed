"""Policies for the clinic."""

from belated.client import NamedPolicy
from belated.demo.clinic import ACTIONS, STATES, VISITS


def constant_policy(action: str) -> NamedPolicy:
    """Return the policy that always takes `action`."""
    steps = [dict.fromkeys(STATES, action)] * VISITS
    return NamedPolicy("clinic", 1, VISITS, ACTIONS, steps, [{}] * VISITS, 0.0, "")
