"""Verify: whether all that is stored of a problem follows from its events."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from belated.ledger import audit, schema
from belated.ledger.canonical import digest
from belated.ledger.episodes import Omissions
from belated.ledger.events import Event
from belated.ledger.ledger import Ledger
from belated.ledger.policies import pack
from belated.ledger.problems import Problem
from belated.online.fold import FORMAT, Fold
from belated.online.follower import undoing
from belated.online.snapshots import digest as digest_state
from belated.online.snapshots import unpack


@dataclass
class Verdict:
    """What came of a verification, in sentences."""

    problem: str
    events: int = 0
    """How many were read."""
    policy: str | None = None
    """The digest of the policy that they come to by the last tick; None if they come to none."""
    faults: list[str] = field(default_factory=list)
    """What is wrong."""
    unsettled: list[str] = field(default_factory=list)
    """What a host has yet to do, so that there is nothing to compare with."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def verify(ledger: Ledger, problem: Problem) -> Verdict:
    """Fold the events from nothing, and compare what they come to with what is stored."""
    while True:
        end = ledger.last
        verdict = _verify(ledger, problem, end)
        # what was withdrawn meanwhile is gone from events that had been read, or had not
        if not any(ledger.events(problem.id, after=end, kinds=["withdrawn"])):
            verdict.faults += audit.problem_faults(ledger.store, problem)
            return verdict


def _verify(ledger: Ledger, problem: Problem, end: int) -> Verdict:
    verdict = Verdict(problem.name)
    undone = list(undoing(ledger, problem.id, upto=end))
    versions = _versions(ledger, problem, end, verdict)
    snapshots = _snapshots(ledger, problem, verdict)
    events = _checked(ledger.events(problem.id, upto=end), verdict)
    try:
        fold = Fold(problem.spec, Omissions(undone))
        # what was published before something was undone cannot be computed again
        since = undone[-1].seq if undone else 0
        _compare(fold, events, versions, snapshots, since=since, verdict=verdict)
    except Exception as error:
        verdict.faults.append(
            f"The fold fails after {verdict.events} events: {type(error).__name__}: {error}"
        )
        for _ in events:  # which may be why
            pass
    return verdict


def _checked(events: Iterable[Event], verdict: Verdict) -> Iterator[Event]:
    """The events, each compared with its digest."""
    for event in events:
        verdict.events += 1
        if event.redacted:
            intact = event.text is None and event.salt is None
        else:
            intact = event.text is not None and digest(event.text, event.salt or b"") == event.sha
        if not intact:
            verdict.faults.append(f"Event {event.seq} has been changed: its digest is another.")
        yield event


def _versions(
    ledger: Ledger, problem: Problem, end: int, verdict: Verdict
) -> dict[int | None, dict[str, Any]]:
    """What was published, by tick; what is stored of it must be just that."""
    stored = {version.version: version for version in ledger.policies.versions(problem.id)}
    published = {}
    for event in ledger.events(problem.id, upto=end, kinds=["published"]):
        body = event.body
        version = body["version"]
        published[body["tick"]] = body
        if version not in stored:
            verdict.faults.append(f"Version {version} was published, but it is not stored.")
        elif stored[version].sha != body["sha"] or _sha(ledger, problem, version) != body["sha"]:
            verdict.faults.append(f"Version {version} is not stored as it was published.")
    return published


def _sha(ledger: Ledger, problem: Problem, version: int) -> str | None:
    """The digest of what is stored; None if that is no policy at all."""
    try:
        policy = ledger.policies.get(problem.id, version)
    except ValueError:
        return None
    return None if policy is None else pack(policy).sha


def _snapshots(ledger: Ledger, problem: Problem, verdict: Verdict) -> dict[int, str]:
    """The digests of what the snapshots hold, by seq."""
    of = schema.snapshots.c
    query = sa.select(of.seq, of.data, of.sha).where(of.problem == problem.id).order_by(of.seq)
    with ledger.store.reading() as connection:
        rows = connection.execute(query).all()
    digests = {}
    for seq, data, sha in rows:
        try:
            if sha256(data).hexdigest() != sha:
                raise ValueError
            state = unpack(data)
            # one of an older version is passed over by a follower too
            if isinstance(state, dict) and state.get("format") == FORMAT:
                digests[seq] = digest_state(state)
        except ValueError:
            verdict.faults.append(f"The snapshot at {seq} has been changed: its digest is another.")
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
    """Fold, and look at what came of it wherever something is stored."""
    policy = verdict.policy = pack(fold.policy).sha
    _check_policy(versions.get(None), policy, verdict)
    for event in events:
        fold.apply(event)
        if event.kind == "tick":
            policy = verdict.policy = pack(fold.policy).sha
            if event.seq > since:
                _check_policy(versions.get(event.seq), policy, verdict)
        if event.seq in snapshots and digest_state(fold.snapshot()) != snapshots[event.seq]:
            verdict.faults.append(f"The snapshot at {event.seq} is not what the events come to.")
    _check_end(fold, versions, policy, since=since, verdict=verdict)


def _check_policy(version: dict[str, Any] | None, policy: str, verdict: Verdict) -> None:
    if version is not None and version["sha"] != policy:
        verdict.faults.append(f"Version {version['version']} is not what the events come to.")


def _check_end(
    fold: Fold,
    versions: dict[int | None, dict[str, Any]],
    policy: str,
    *,
    since: int,
    verdict: Verdict,
) -> None:
    newest = max(versions.values(), key=lambda version: int(version["version"]), default=None)
    tick = fold.tick or 0
    if since > tick:
        verdict.unsettled.append(f"What was undone at {since} waits for a tick.")
    elif newest is None:
        verdict.unsettled.append("No version has been published yet.")
    elif newest["sha"] != policy and (newest["tick"] or 0) < tick:
        verdict.unsettled.append(f"What tick {tick} came to has not been published yet.")
