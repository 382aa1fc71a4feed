"""Versions are read as they were published, or not at all."""

import re

import numpy as np
import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.episode import Policy
from belated.ledger import Ledger, schema


def published(ledger: Ledger) -> int:
    """A problem with a second version, which explores."""
    problem = samples.defined(ledger)
    spec = samples.spec()
    H, S, A = spec.horizon, len(spec.states), len(spec.actions)
    explore = np.zeros((H, S, A), np.bool_)
    explore[0, 0] = True
    policy = Policy(np.zeros((H, S), np.int32), explore, 0.25)
    samples.seq(ledger.publish(problem, policy, version=2))
    assert ledger.policies.get(problem, 2) == policy
    return problem


@pytest.mark.parametrize(
    "change",
    [
        {"actions": b""},
        {"actions": b"\1\0\0\0"},
        {"explore": None},
        {"explore": b"\0"},
        {"epsilon": 0.5},
        {"sha": "0" * 64},
    ],
)
def test_a_version_that_was_changed_is_not_read(ledger: Ledger, change: dict[str, object]) -> None:
    problem, of = published(ledger), schema.policies
    with ledger.store.writing() as connection:
        connection.execute(sa.update(of).where(of.c.version == 2).values(**change))
    name = samples.spec().name
    sentence = f"Version 2 of problem {name!r} has been changed: digest mismatch"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}\\.$"):
        ledger.policies.get(problem, 2)
    assert ledger.policies.get(problem, 1) is not None
