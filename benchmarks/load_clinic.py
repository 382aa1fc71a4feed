"""Problem of the load tests, a chain of five states and ten steps, and the requests to it."""

import itertools
import json
from collections.abc import Iterator
from http.client import HTTPConnection

import numpy as np

from belated.ledger import Ledger, Part, ProblemSpec, Recorded
from load_client import Load, request

NAME = "clinic"
STATES, ACTIONS, STEPS = 5, 2, 10
OPEN_BATCH_EPISODES = 1000
"""Number of episodes opened in one transaction."""
BULK_EPISODES = 5000
"""Number of episodes in one bulk request."""
SHUFFLED_EPISODES = 1000
"""Number of consecutive episodes whose feedback arrives in random order."""


def define(ledger: Ledger, *, episodes: int, name: str = NAME) -> int:
    """Define the problem, with `episodes` as its K, in `ledger` as `name`, and return its id."""
    rewards = np.zeros((STATES, ACTIONS))
    rewards[-1, 1] = 1.0
    spec = ProblemSpec(
        name=name,
        states=[f"state {s}" for s in range(STATES)],
        actions=["left", "right"],
        horizon=STEPS,
        rewards=rewards,
        base=Part("ucbvi-bf", {"preset": "two_term", "scale": 0.1}),
        updater=Part("lazy", {"alpha": 10}),
        episodes=episodes,
    )
    outcome = ledger.define(spec)
    assert isinstance(outcome, Recorded)
    return outcome.seq


def open_episodes(ledger: Ledger, problem: int, count: int) -> list[str]:
    """Open episodes and return their ids.

    Parameters
    ----------
    ledger : Ledger
        Ledger with the problem.
    problem : int
        Id of the problem.
    count : int
        Number of episodes, a multiple of OPEN_BATCH_EPISODES.

    Returns
    -------
    list[str]
        Ids of the episodes.
    """
    ids = []
    for _ in range(count // OPEN_BATCH_EPISODES):
        for outcome in ledger.open_episodes(problem, OPEN_BATCH_EPISODES, version=1):
            assert isinstance(outcome, Recorded)
            assert outcome.episode is not None
            ids.append(outcome.episode.id)
    return ids


def generate_feedback(ids: list[str], seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield each of `ids` with random feedback as JSON; `seed` makes it reproducible."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(ACTIONS, size=(len(ids), STEPS))
    moves = np.where(actions == 1, rng.random(actions.shape) < 0.8, -1)
    states = np.zeros((len(ids), STEPS + 1), int)
    for h in range(STEPS):
        states[:, h + 1] = np.clip(states[:, h] + moves[:, h], 0, STATES - 1)
    for id, path, played in zip(ids, states.tolist(), actions.tolist(), strict=True):
        yield id, json.dumps({"states": path, "actions": played}).encode()


def policy_requests() -> Iterator[bytes]:
    """Return endless requests for the policy."""
    return itertools.repeat(request("GET", f"/v1/problems/{NAME}/policy"))


def feedback_requests(ids: list[str]) -> Iterator[bytes]:
    """Return one feedback request for each of the episodes `ids`, shuffled in blocks."""
    rng = np.random.default_rng(0)
    size = SHUFFLED_EPISODES
    shuffled = [ids[first + i] for first in range(0, len(ids), size) for i in rng.permutation(size)]
    requests = [
        request("POST", f"/v1/episodes/{id}/feedback", body)
        for id, body in generate_feedback(shuffled, 0)
    ]
    return iter(requests)


def open_requests() -> Iterator[bytes]:
    """Return endless requests to open an episode."""
    return itertools.repeat(request("POST", f"/v1/problems/{NAME}/episodes", b"{}"))


def check_statuses(name: str, load: Load) -> None:
    """Raise RuntimeError if `load`, of the task `name`, has failed requests or no responses."""
    failed = {status: count for status, count in load.statuses.items() if status not in (200, 201)}
    if failed or not load.statuses:
        raise RuntimeError(
            f"{name!r} must be answered with status 200 or 201 only, got {failed or 'no response'}."
        )


def bulk_line(id: str, body: bytes) -> bytes:
    """Return the line of a bulk request for the episode `id` with the feedback `body`."""
    return b'{"episode": "' + id.encode() + b'", ' + body[1:] + b"\n"


def send_bulk(port: int, lines: bytes) -> None:
    """Send `lines` to the service at `port`; raise RuntimeError unless all are recorded."""
    connection = HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request(
        "POST",
        f"/v1/problems/{NAME}/feedback",
        lines,
        {"Content-Type": "application/x-ndjson"},
    )
    results = connection.getresponse().read().splitlines()
    connection.close()
    failed = [result for result in results if json.loads(result)["status"] != 201]
    if failed or len(results) != lines.count(b"\n"):
        raise RuntimeError(
            f"All lines must be recorded, got {len(results)} results and failures {failed[:1]}."
        )
