"""Plans for the clinic."""

from belated.client import Plan
from belated.demo.clinic import ACTIONS, STATES, VISITS


def plan_of(action: str) -> Plan:
    """The same for everybody."""
    steps = [dict.fromkeys(STATES, action)] * VISITS
    return Plan("clinic", 1, VISITS, ACTIONS, steps, [{}] * VISITS, 0.0, "")
