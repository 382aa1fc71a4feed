"""Verification that everything stored about a problem follows from its events."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.audit import check_tables, find_event_fault
from belated.ledger.episodes import Exclusions
from belated.ledger.events import Event
from belated.ledger.ledger import Ledger
from belated.ledger.policies import encode_policy
from belated.ledger.problems import Problem
from belated.online.fold import FORMAT, Fold
from belated.online.follower import read_excluding_events
from belated.online.snapshots import decode_state, digest_state


@dataclass
class Verdict:
    """Result of the verification of a problem."""

    problem: str
    """Name of the problem."""
    events: int = 0
    """Number of events that were read."""
    policy: str | None = None
    """Digest of the policy computed from the events up to the last tick; None if that failed."""
    faults: list[str] = field(default_factory=list)
    """Messages about what is wrong."""
    unsettled: list[str] = field(default_factory=list)
    """Messages about what a host has not done yet, so that it cannot be compared."""

    @property
    def sound(self) -> bool:
        """Whether there are no faults."""
        return not self.faults


def verify(ledger: Ledger, problem: Problem) -> Verdict:
    """Fold all events of `problem` in `ledger` anew, and compare the results with what is stored.

    Returns the verdict.
    """
    while True:
        end = ledger.last
        verdict = _verify(ledger, problem, end)
        # a withdrawal during the verification redacts events; then verify again
        if not any(ledger.events(problem.id, after=end, kinds=["withdrawn"])):
            verdict.faults += check_tables(ledger.store, problem)
            return verdict


def _verify(ledger: Ledger, problem: Problem, end: int) -> Verdict:
    verdict = Verdict(problem.name)
    excluding = list(read_excluding_events(ledger, problem.id, upto=end))
    versions = _check_versions(ledger, problem, end, verdict)
    snapshots = _check_snapshots(ledger, problem, verdict)
    events = _check_events(ledger.events(problem.id, upto=end), verdict)
    try:
        fold = Fold(problem.spec, Exclusions(excluding))
        # versions from before the last exclusion cannot be computed again
        since = excluding[-1].seq if excluding else 0
        _compare(fold, events, versions, snapshots, since=since, verdict=verdict)
    except Exception as error:
        verdict.faults.append(
            f"The fold fails after {verdict.events} events: {type(error).__name__}: {error}"
        )
        for _ in events:  # check the remaining events, which may be the cause
            pass
    return verdict


def _check_events(events: Iterable[Event], verdict: Verdict) -> Iterator[Event]:
    """Yield the events, each compared with its digest."""
    for event in events:
        verdict.events += 1
        fault = find_event_fault(event)
        if fault is not None:
            verdict.faults.append(fault)
        yield event


def _check_versions(
    ledger: Ledger, problem: Problem, end: int, verdict: Verdict
) -> dict[int | None, dict[str, Any]]:
    """Compare stored versions with their publications, and return these by tick."""
    stored = {version.version: version for version in ledger.policies.versions(problem.id)}
    published = {}
    for event in ledger.events(problem.id, upto=end, kinds=["published"]):
        body = event.body
        version, sha = body["version"], body["sha"]
        published[body["tick"]] = body
        if version not in stored:
            verdict.faults.append(f"Version {version} was published, but it is not stored.")
        elif stored[version].sha != sha or _policy_digest(ledger, problem, version) != sha:
            verdict.faults.append(f"Version {version} is not stored as it was published.")
    return published


def _policy_digest(ledger: Ledger, problem: Problem, version: int) -> str | None:
    """Return the digest of the stored policy; None if it cannot be read."""
    try:
        policy = ledger.policies.get(problem.id, version)
    except ValueError:
        return None
    return None if policy is None else encode_policy(policy).sha


def _check_snapshots(ledger: Ledger, problem: Problem, verdict: Verdict) -> dict[int, str]:
    """Compare snapshots with their digests, and return the digests of their states by seq."""
    columns = schema.snapshots.c
    query = sa.select(columns.seq, columns.data, columns.sha)
    query = query.where(columns.problem == problem.id).order_by(columns.seq)
    with ledger.store.reading() as connection:
        rows = connection.execute(query).all()
    digests = {}
    for seq, data, sha in rows:
        try:
            if sha256(data).hexdigest() != sha:
                raise ValueError
            state = decode_state(data)
            # a follower ignores snapshots of another format too
            if isinstance(state, dict) and state.get("format") == FORMAT:
                digests[seq] = digest_state(state)
        except ValueError:
            verdict.faults.append(f"The snapshot at {seq} has been changed: digest mismatch.")
    return digests


def _compare(
    fold: Fold,
    events: Iterable[Event],
    versions: dict[int | None, dict[str, Any]],
    snapshots: dict[int, str],
    *,
    since: int,
    verdict: Verdict,
) -> None:
    """Fold the events, and compare the fold with each version and snapshot on the way."""
    policy = verdict.policy = encode_policy(fold.policy).sha
    _compare_policy(versions.get(None), policy, verdict)
    for event in events:
        fold.apply(event)
        if event.kind == "tick":
            policy = verdict.policy = encode_policy(fold.policy).sha
            if event.seq > since:
                _compare_policy(versions.get(event.seq), policy, verdict)
        if event.seq in snapshots and digest_state(fold.snapshot()) != snapshots[event.seq]:
            verdict.faults.append(f"The snapshot at {event.seq} does not follow from the events.")
    newest = max(versions.values(), key=lambda version: int(version["version"]), default=None)
    tick = fold.tick or 0
    if since > tick:
        verdict.unsettled.append(f"The correction or withdrawal at {since} waits for a tick.")
    elif newest is None:
        verdict.unsettled.append("No version has been published yet.")
    elif newest["sha"] != policy and (newest["tick"] or 0) < tick:
        verdict.unsettled.append(f"The policy after tick {tick} has not been published yet.")


def _compare_policy(version: dict[str, Any] | None, policy: str, verdict: Verdict) -> None:
    if version is not None and version["sha"] != policy:
        verdict.faults.append(f"Version {version['version']} does not follow from the events.")
