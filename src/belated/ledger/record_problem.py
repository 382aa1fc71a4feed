"""Recording of events about a problem: definitions, ticks, publications, operators' decisions."""

import json
from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.events import (
    AlreadyRecorded,
    Conflict,
    Control,
    Defined,
    Invalid,
    NotFound,
    Outcome,
    Published,
    Recorded,
    Tick,
    chunk_ids,
)
from belated.ledger.policies import check_policy, encode_policy
from belated.ledger.problems import Problem
from belated.ledger.schema import canonical
from belated.ledger.transaction import Transaction

_EVENTS, _PROBLEMS = schema.events.c, schema.problems.c
_LAST_TICK: Final = sa.select(sa.func.max(_EVENTS.seq)).where(
    _EVENTS.problem == _PROBLEMS.id, _EVENTS.kind == "tick", sa.text(schema.RARE)
)
LAST_TICKS: Final = sa.select(_EVENTS.problem, _EVENTS.seq, _EVENTS.body).where(
    _EVENTS.seq.in_(
        sa.select(_LAST_TICK.scalar_subquery()).where(
            _PROBLEMS.id.in_(sa.bindparam("ids", expanding=True))
        )
    )
)
"""Query for the problem, seq and body of the last tick of each problem in the parameter `ids`.

It is written so that the database uses the index of rare events."""


def record_definition(transaction: Transaction, event: Defined) -> Outcome:
    """Record the definition `event` of a problem in `transaction`, and return the outcome.

    If a problem with the same name exists, nothing is recorded. In this case the outcome is
    AlreadyRecorded if the specifications are equal, else Conflict.
    """
    spec = event.spec
    known = transaction.find_problem(spec.name)
    if known is None:
        seq = transaction.add_event("defined", spec.text, event_time=event.event_time).seq
        transaction.add_problem(Problem(seq, spec))
        return Recorded(seq)
    if known.spec == spec:
        return AlreadyRecorded(known.id)
    old, new = known.spec.body, spec.body
    differing = [
        name for name in {**old, **new} if canonical(old.get(name)) != canonical(new.get(name))
    ]
    return Conflict(
        f"Problem {spec.name!r} is already defined with different {', '.join(differing)}; a "
        "definition cannot be changed, so choose another name.",
        known.id,
    )


def record_tick(transaction: Transaction, event: Tick) -> Outcome:
    """Record the tick `event`, the end of a batch, in `transaction`, and return the outcome.

    The outcome is AlreadyRecorded if the previous batch ends at the same seq. It is Invalid if the
    new batch would end before the previous batch, or after the last event of the ledger.
    """
    if transaction.problem(event.problem) is None:
        return problem_not_found(event.problem)
    upto = transaction.seq if event.upto is None else event.upto
    if upto > transaction.seq:
        return Invalid(f"upto must be at most {transaction.seq}, the last seq, got {upto}.", "upto")
    last, done = _find_last_tick(transaction, event.problem)
    if last and upto == done:
        return AlreadyRecorded(last)
    if upto < done:
        return Invalid(
            f"upto must be at least {done}, the end of the last batch, got {upto}.", "upto"
        )
    seq = transaction.add_event(
        "tick", canonical({"upto": upto}), problem=event.problem, event_time=event.event_time
    ).seq
    transaction.last_ticks[event.problem] = seq, upto
    return Recorded(seq)


def record_publication(transaction: Transaction, event: Published) -> Outcome:
    """Record the publication `event` of a policy in `transaction`, and return the outcome.

    The outcome is Invalid if the policy does not fit the problem, if a new version does not have
    the next version number, or if its tick is given and is not the last tick of the problem. If the
    version is published already, the outcome is AlreadyRecorded if the policies are equal, else
    Conflict.
    """
    problem = transaction.problem(event.problem)
    if problem is None:
        return problem_not_found(event.problem)
    try:
        check_policy(event.policy, problem.spec)
    except ValueError as error:
        return Invalid(str(error), "policy")
    encoded = encode_policy(event.policy)
    last = transaction.max_value(schema.policies.c.version, event.problem)
    if event.version <= last:
        return _compare_version(transaction, event, encoded.sha)
    if event.version > last + 1:
        return Invalid(f"version must be {last + 1}, the next one, got {event.version}.", "version")
    if event.tick is not None:
        columns = schema.events.c
        query = sa.select(columns.seq).where(
            columns.seq == event.tick, columns.problem == event.problem, columns.kind == "tick"
        )
        if transaction.execute(query).scalar() is None:
            return Invalid(
                f"tick must be the seq of a tick of this problem, got {event.tick}.", "tick"
            )
        newest, _ = _find_last_tick(transaction, event.problem)
        if newest > event.tick:  # the slower of two hosts must not publish last
            return Invalid(f"tick must be {newest}, the last one, got {event.tick}.", "tick")
    transaction.policy = encoded
    seq = transaction.add_event(
        "published",
        canonical({"version": event.version, "sha": encoded.sha, "tick": event.tick}),
        problem=event.problem,
        event_time=event.event_time,
    ).seq
    return Recorded(seq)


def record_control(transaction: Transaction, event: Control) -> Outcome:
    """Record the operator's decision `event` in `transaction`, and return the outcome.

    The outcome is Invalid if the decision refers to a version that has not been published. It is
    AlreadyRecorded if the decision is to archive a problem that is archived, or to unarchive a
    problem that is not archived.
    """
    problem = transaction.problem(event.problem)
    if problem is None:
        return problem_not_found(event.problem)
    last = transaction.max_value(schema.policies.c.version, event.problem)
    if event.version is not None and event.version > last:
        return Invalid(
            f"version must be at most {last}, the newest of problem {problem.name!r}, "
            f"got {event.version}.",
            "version",
        )
    if event.action in ("archive", "unarchive"):
        archived = transaction.archived(event.problem)
        if (archived is not None) is (event.action == "archive"):
            return AlreadyRecorded(problem.id if archived is None else archived)
    seq = transaction.add_event(
        "control",
        canonical({"action": event.action, "version": event.version, "by": event.by}),
        problem=event.problem,
        event_time=event.event_time,
    ).seq
    return Recorded(seq)


def problem_not_found(problem: int) -> NotFound:
    """Return the outcome of an event whose problem id, `problem`, does not exist."""
    return NotFound(f"There is no problem {problem}.")


def _compare_version(transaction: Transaction, event: Published, sha: str) -> Outcome:
    """Return the outcome of `event`, which publishes an existing version again.

    `sha` is the digest of the policy in `event`. The outcome is AlreadyRecorded if the published
    policy has the same digest, else Conflict.
    """
    columns = schema.policies.c
    query = sa.select(columns.seq, columns.sha)
    known = transaction.execute(
        query.where(columns.problem == event.problem, columns.version == event.version)
    ).one()
    if known.sha == sha:
        return AlreadyRecorded(known.seq)
    return Conflict(
        f"Version {event.version} is already published with different content.", known.seq
    )


def _find_last_tick(transaction: Transaction, problem: int) -> tuple[int, int]:
    """Return the seq of the last tick of `problem`, and the seq at which the tick's batch ends.

    Both are 0 if there is no tick. The first call loads the last ticks of all problems for which
    the transaction records a tick or a publication.
    """
    known = transaction.last_ticks
    if problem not in known:
        ids = {each.problem for each in transaction.events if isinstance(each, Tick | Published)}
        known |= dict.fromkeys(ids | {problem}, (0, 0))
        for chunk in chunk_ids(sorted(known)):
            rows: Iterable[Any] = transaction.execute(LAST_TICKS, ids=chunk)
            known |= {id: (seq, json.loads(body)["upto"]) for id, seq, body in rows}
    return known[problem]
