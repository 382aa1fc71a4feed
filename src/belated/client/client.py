"""Client of the service: open episodes, send feedback, read the status."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from secrets import token_urlsafe
from typing import Any, Final, TypeAlias

from belated.client.responses import LineResult, NamedPolicy, OpenEpisode, from_json
from belated.client.transport import ServiceError, Transport, parse_json, to_json

MAX_BULK_LINES: Final = 500
"""Maximum number of lines in one bulk request."""
MAX_BULK_BYTES: Final = 1_000_000
"""Maximum size of a bulk request, unless a single line is larger."""

EpisodeRef: TypeAlias = OpenEpisode | str
"""Episode, or its id."""
Names: TypeAlias = Sequence[str | int]
"""States or actions, by name or index."""


class Client:
    """Client of the service at one address. Thread-safe.

    Parameters
    ----------
    url : str
        Address of the service, such as http://localhost:8000.
    token : str | None
        Token, if the service requires one.
    timeout : float
        Seconds to wait for data from the service before a request counts as failed.
    retries : int
        Number of times that a failed request is sent again.
    sleep : Callable
        Function that waits the given number of seconds between retries.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 6,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._transport = Transport(url, token, timeout=timeout, retries=retries, sleep=sleep)
        self._policies: dict[str, tuple[str, NamedPolicy]] = {}  # with ETag, by problem

    @property
    def url(self) -> str:
        """Address of the service."""
        return self._transport.url

    def define(self, problem: Mapping[str, Any]) -> dict[str, Any]:
        """Define a `problem`, given as the body of `POST /v1/problems`; return its definition.

        Defining the same problem again has no effect.
        """
        return self._transport.json("POST", "problems", body=problem)

    def problem(self, problem: str) -> dict[str, Any]:
        """Return the definition of the problem called `problem`."""
        return self._transport.json("GET", "problems", problem)

    def problems(self) -> list[dict[str, Any]]:
        """Return the definitions of all problems, oldest first."""
        return list(self._transport.json("GET", "problems")["problems"])

    def open_episode(
        self,
        problem: str,
        subject: str | None = None,
        *,
        id: str | None = None,
        event_time: str | None = None,
    ) -> OpenEpisode:
        """Open an episode.

        Parameters
        ----------
        problem : str
            Name of the problem.
        subject : str | None
            Pseudonym of the person to whom the episode belongs.
        id : str | None
            Id of at least 128 random bits; drawn if None.
        event_time : str | None
            Time of the start, in ISO 8601 with a time zone.

        Returns
        -------
        OpenEpisode
            The episode and the policy for it.
        """
        body = {"id": id or token_urlsafe(16), "subject": subject, "event_time": event_time}
        opened = self._transport.json("POST", "problems", problem, "episodes", body=body)
        policy = from_json(NamedPolicy, opened["policy"])
        return OpenEpisode(opened["episode"], opened["version"], policy)

    def decide(
        self, problem: str, state: str | int, *, step: int, episode: EpisodeRef | None = None
    ) -> str:
        """Let the service choose an action, for devices that do not store a policy.

        Parameters
        ----------
        problem : str
            Name of the problem.
        state : str | int
            Name or index of the state.
        step : int
            Step from 0.
        episode : EpisodeRef | None
            Episode whose version is used; the served version if None.

        Returns
        -------
        str
            Name of the action.
        """
        body = {"state": state, "step": step, "episode": None if episode is None else _id(episode)}
        return str(self._transport.json("POST", "problems", problem, "decide", body=body)["action"])

    def feedback(
        self,
        episode: EpisodeRef,
        states: Names,
        actions: Names,
        rewards: Sequence[float] | None = None,
        *,
        event_time: str | None = None,
    ) -> str:
        """Send a whole episode.

        Parameters
        ----------
        episode : EpisodeRef
            Episode or its id.
        states : Names
            H + 1 states.
        actions : Names
            H actions.
        rewards : Sequence[float] | None
            H rewards in [0, 1]; None if the rewards of the problem are known.
        event_time : str | None
            Time of the feedback, in ISO 8601 with a time zone.

        Returns
        -------
        str
            "recorded", or "already recorded" for a repetition. The feedback is then on disk.
        """
        body = {"states": states, "actions": actions, "rewards": rewards, "event_time": event_time}
        return self._record(episode, "feedback", body)

    def steps(self, episode: EpisodeRef, steps: Iterable[Mapping[str, Any]]) -> str:
        """Send some `steps` of `episode`; return the result as `feedback` does.

        Each step has the fields `step`, `state`, `action`, `next_state`, and `reward` if rewards
        are unknown.
        """
        return self._record(episode, "feedback", {"steps": list(steps)})

    def path(self, episode: EpisodeRef, states: Names, actions: Names) -> str:
        """Send the `states` and `actions` of an `episode` whose rewards are late.

        Returns the result as `feedback` does.
        """
        body = {"path": {"states": states, "actions": actions}}
        return self._record(episode, "feedback", body)

    def rewards(self, episode: EpisodeRef, rewards: Mapping[int, float]) -> str:
        """Send `rewards` of `episode` by step, if only rewards are late.

        Returns the result as `feedback` does.
        """
        return self._record(episode, "feedback", {"rewards": rewards})

    def correct(
        self,
        episode: EpisodeRef,
        states: Names,
        actions: Names,
        rewards: Sequence[float] | None = None,
    ) -> str:
        """Replace all feedback of `episode` by `states`, `actions` and `rewards`.

        Parameters and result are those of `feedback`.
        """
        body = {"states": states, "actions": actions, "rewards": rewards}
        return self._record(episode, "correction", body)

    def bulk(self, problem: str, lines: Iterable[Mapping[str, Any]]) -> list[LineResult]:
        """Send feedback of many episodes of the problem called `problem`.

        Each of `lines` has the field `episode` and the fields of a single request. Returns the
        result of each line. A rejected line does not affect the others.
        """
        results: list[LineResult] = []
        for rest in _batches(lines):
            while rest:
                batch = self._transport.retry(self._send_bulk, problem, rest)
                first = len(results) + 1
                results += [replace(each, line=first + i) for i, each in enumerate(batch)]
                rest = rest[len(batch) :]  # the service did not read the lines after a long one
        return results

    def policy(self, problem: str) -> NamedPolicy:
        """Return the served policy of `problem`. It is transferred only if it has changed."""
        etag, policy = self._policies.get(problem, ("", None))
        headers = {"If-None-Match": etag} if etag else {}
        raw, etag = self._transport.retry(
            self._transport.send, "GET", ("problems", problem, "policy"), b"", headers
        )
        if policy is None or raw:
            policy = from_json(NamedPolicy, parse_json(raw))
            self._policies[problem] = etag, policy
        return policy

    def status(self, problem: str) -> dict[str, Any]:
        """Return the status of `problem`: missing episodes, their ages, the served version."""
        return self._transport.json("GET", "problems", problem, "status")

    def history(self, problem: str) -> dict[str, Any]:
        """Return the episodes of `problem`, their delays and returns, by time and by version."""
        return self._transport.json("GET", "problems", problem, "history")

    def freeze(self, problem: str) -> dict[str, Any]:
        """Keep serving the current version of `problem`; return the served version."""
        return self._transport.json("POST", "problems", problem, "freeze")

    def unfreeze(self, problem: str) -> dict[str, Any]:
        """Serve the newest version of `problem`, unless in shadow mode; return the served one."""
        return self._transport.json("POST", "problems", problem, "unfreeze")

    def rollback(self, problem: str, version: int) -> dict[str, Any]:
        """Serve an earlier `version` of `problem` until `unfreeze`; return the served version."""
        body = {"version": version}
        return self._transport.json("POST", "problems", problem, "rollback", body=body)

    def shadow(self, problem: str, on: bool = True) -> dict[str, Any]:
        """Turn shadow mode of `problem` `on` or off; return the served version."""
        return self._transport.json("POST", "problems", problem, "shadow", body={"on": on})

    def withdraw(
        self,
        episode: EpisodeRef | None = None,
        *,
        subject: str | None = None,
        problem: str | None = None,
    ) -> str:
        """Withdraw the data of an episode or of a subject.

        Parameters
        ----------
        episode : EpisodeRef | None
            Episode or its id.
        subject : str | None
            Subject, if no episode is given.
        problem : str | None
            Name of the only problem in which to withdraw a subject; all problems if None.

        Returns
        -------
        str
            "recorded"; "already recorded" for an episode that was withdrawn before; "nothing kept"
            for a subject without data, also if a lost response belongs to its withdrawal.
        """
        if (episode is None) == (subject is None) or (episode is not None and problem is not None):
            raise TypeError("withdraw takes an episode, or a subject and optionally a problem.")
        within = () if problem is None else ("problems", problem)
        target = ("subjects", str(subject)) if episode is None else ("episodes", _id(episode))
        return str(self._transport.json("DELETE", *within, *target)["result"])

    def _record(self, episode: EpisodeRef, route: str, body: Mapping[str, Any]) -> str:
        answer = self._transport.json("POST", "episodes", _id(episode), route, body=body)
        return str(answer["result"])

    def _send_bulk(self, problem: str, lines: list[bytes]) -> list[LineResult]:
        """Send one bulk request."""
        path, headers = ("problems", problem, "feedback"), {"Content-Type": "application/x-ndjson"}
        try:
            raw, _ = self._transport.send("POST", path, b"".join(lines), headers)
        except ServiceError as error:
            if error.status != 413 or len(lines) > 1:
                raise
            return [LineResult(1, None, 413, error="too large", message=str(error))]
        results = [from_json(LineResult, parse_json(line)) for line in raw.splitlines()]
        if not results or results[-1].status >= 500:  # interrupted; all lines may be sent again
            message = results[-1].message if results else "The response is empty."
            raise ServiceError(message or "", 503)
        return results


def _batches(lines: Iterable[Mapping[str, Any]]) -> Iterator[list[bytes]]:
    """Yield `lines` as JSON, as many together as fit into one request."""
    batch: list[bytes] = []
    size = 0
    for fields in lines:
        line = to_json({**fields, "episode": _id(fields["episode"])}) + b"\n"
        if batch and (len(batch) == MAX_BULK_LINES or size + len(line) > MAX_BULK_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield batch


def _id(episode: EpisodeRef) -> str:
    return episode.id if isinstance(episode, OpenEpisode) else episode
