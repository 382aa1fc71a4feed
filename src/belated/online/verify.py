"""Verification that the stored policies and snapshots of a problem match its events."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.audit import check_policies, find_content_fault, find_event_fault
from belated.ledger.events import EXCLUDING_KINDS, Event, Exclusions
from belated.ledger.ledger import Ledger
from belated.ledger.policies import encode_policy
from belated.ledger.problems import Problem, ProblemSpec
from belated.online.fold import FORMAT, Fold
from belated.online.snapshot_codec import decode_state, digest_state


@dataclass
class Verdict:
    """Result of the verification of a problem."""

    problem: str
    """Name of the problem."""
    events: int = 0
    """Number of events of the problem that were read."""
    policy: str | None = None
    """Digest of the policy that was computed from the events; None if no policy was computed."""
    faults: list[str] = field(default_factory=list)
    """Messages about differences between the stored data and the events."""
    unsettled: list[str] = field(default_factory=list)
    """Messages about work that a host has yet to do, such as publishing a new policy."""

    @property
    def sound(self) -> bool:
        """Whether the verification found no faults."""
        return not self.faults


def verify(ledger: Ledger, problem: Problem) -> Verdict:
    """Verify the stored data of `problem` in `ledger`, and return the verdict with all differences.

    The events are compared with their digests, and their content with the specification of the
    problem. All events are applied to a new learner. Its policies are compared with the published
    versions, and its states with the snapshots. `audit.check_tables` compares the tables.
    """
    while True:
        end = ledger.last
        verdict = _verify(ledger, problem, end)
        # a withdrawal during the verification redacts events; then verify again
        if not any(ledger.events(problem.id, after=end, kinds=["withdrawn"])):
            return verdict


def _verify(ledger: Ledger, problem: Problem, end: int) -> Verdict:
    verdict = Verdict(problem.name)
    excluding = list(ledger.events(problem.id, upto=end, kinds=EXCLUDING_KINDS))
    verdict.faults += check_policies(ledger.store, problem.id)
    published = (event.body for event in ledger.events(problem.id, upto=end, kinds=["published"]))
    # by the tick after which they were computed; None before the first tick
    versions = {body["tick"]: body for body in published}
    snapshots = _check_snapshots(ledger, problem, verdict)
    events = _check_events(ledger.events(problem.id, upto=end), problem.spec, verdict)
    policies: dict[int | None, str] = {}
    try:
        fold = Fold(problem.spec, Exclusions(excluding))
        verdict.policy = policies[None] = encode_policy(fold.policy).sha
        for event in events:
            fold.apply(event)
            if event.kind == "tick":
                verdict.policy = policies[event.seq] = encode_policy(fold.policy).sha
            if event.seq in snapshots and digest_state(fold.snapshot()) != snapshots[event.seq]:
                verdict.faults.append(
                    f"The snapshot at seq {event.seq} differs from the state computed from the "
                    "events."
                )
    except Exception as error:
        verdict.faults.append(
            f"The fold fails after {verdict.events} events: {type(error).__name__}: {error}"
        )
        for _ in events:  # check the remaining events, which may be the cause
            pass
        return verdict
    # versions from before the last correction or withdrawal cannot be computed again
    since = excluding[-1].seq if excluding else 0
    for tick, version in versions.items():
        if (tick is None or tick > since) and policies.get(tick, version["sha"]) != version["sha"]:
            verdict.faults.append(
                f"Version {version['version']} differs from the policy computed from the events."
            )
    last_tick = max((tick for tick in policies if tick is not None), default=0)
    newest = max(versions.values(), key=lambda version: int(version["version"]), default=None)
    if since > last_tick:
        verdict.unsettled.append(
            f"The correction or withdrawal at seq {since} waits for the next batch."
        )
    elif newest is None:
        verdict.unsettled.append("No version has been published yet.")
    elif newest["sha"] != verdict.policy and (newest["tick"] or 0) < last_tick:
        verdict.unsettled.append(
            f"The policy after the batch that ends at seq {last_tick} has not been published yet."
        )
    return verdict


def _check_events(events: Iterable[Event], spec: ProblemSpec, verdict: Verdict) -> Iterator[Event]:
    """Yield `events` unchanged; add their number and a fault for each faulty event to `verdict`.

    An event is faulty if it does not match its digest, or if its content is not valid for the
    problem with the specification `spec`.
    """
    for event in events:
        verdict.events += 1
        fault = find_event_fault(event) or find_content_fault(event, spec)
        if fault is not None:
            verdict.faults.append(fault)
        yield event


def _check_snapshots(ledger: Ledger, problem: Problem, verdict: Verdict) -> dict[int, str]:
    """Compare the stored snapshots with their digests.

    A fault is added to `verdict` for each damaged snapshot. Returns a dict that maps the seq of
    each snapshot in the current format to the digest of the state in it.
    """
    columns = schema.snapshots.c
    query = sa.select(columns.seq, columns.data, columns.sha)
    query = query.where(columns.problem == problem.id).order_by(columns.seq)
    digests = {}
    for seq, data, sha in ledger.store.read(query):
        try:
            if sha256(data).hexdigest() != sha:
                raise ValueError
            state = decode_state(data)
            # a follower ignores snapshots of another format too
            if isinstance(state, dict) and state.get("format") == FORMAT:
                digests[seq] = digest_state(state)
        except ValueError:
            verdict.faults.append(f"The snapshot at seq {seq} has been changed: digest mismatch.")
    return digests
