"""Client of the service: open episodes, send feedback, read the status."""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from secrets import token_urlsafe
from typing import Any, Final, Union

from .policies import NamedPolicy, OpenEpisode
from .transport import RETRIES, ServiceError, Transport, parse_json, to_json
from .wire import LineResult, StateRef, from_dict

MAX_BULK_LINES: Final = 500
"""Maximum number of lines in one bulk request."""
MAX_BULK_BYTES: Final = 1_000_000
"""Maximum size of a bulk request in bytes. A larger line is sent as a request of its own."""

EpisodeRef = Union[OpenEpisode, str]
"""Episode that was opened, or the id of an episode."""
EventTime = Union[datetime, str, None]
"""Time at which an event happened: a datetime with a time zone, or a text in ISO 8601 with a time
zone. None for the time of recording."""
Actions = Sequence[Union[str, int]]
"""Actions, each given as its name or its index."""
States = Sequence[StateRef]
"""States, each given as its name, its index, or a mapping from factor names to values."""


class Client:
    """Client of the service at one URL. Thread-safe.

    Parameters
    ----------
    url : str
        URL of the service, such as http://localhost:8000.
    token : str | None
        Token that authenticates the client; None if the service requires no token.
    timeout : float
        Seconds to wait for data from the service before a request counts as failed.
    retries : int
        Maximum number of retries of a request that failed because the service was not reached, did
        not answer within `timeout`, or answered with 429 or 5xx. The time between retries doubles
        from 0.2 s to at most 10 s, or is that of the header Retry-After. With the default, the
        client gives up after about a minute, plus up to `timeout` for each attempt.
    sleep : Callable
        Function that waits a given number of seconds; called before each retry.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = RETRIES,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._transport = Transport(url, token, timeout, retries, sleep)
        self._json = self._transport.json
        self._policies: dict[str, tuple[str, NamedPolicy]] = {}  # with ETag, by problem

    @property
    def url(self) -> str:
        """URL of the service, without a slash at the end."""
        return self._transport.url

    def define(self, problem: Mapping[str, Any]) -> dict[str, Any]:
        """Define a problem, and return its definition.

        `problem` is the body of `POST /v1/problems`. Defining the same problem again has no effect.
        """
        return self._json("POST", "problems", body=problem)

    def problem(self, problem: str) -> dict[str, Any]:
        """Return the definition of the problem with the name `problem`."""
        return self._json("GET", "problems", problem)

    def problems(self) -> list[dict[str, Any]]:
        """Return the definitions of all problems, starting with the oldest problem.

        Archived problems are omitted.
        """
        return list(self._json("GET", "problems")["problems"])

    def archive(self, problem: str) -> str:
        """Archive `problem`, so that no new episodes can be opened. Feedback is still accepted.

        Returns "recorded"; or "already recorded" if `problem` was archived before.
        """
        return str(self._json("POST", "problems", problem, "archive")["result"])

    def unarchive(self, problem: str) -> str:
        """End the effect of `archive`, so that new episodes of `problem` can be opened again.

        Returns "recorded"; or "already recorded" if `problem` was not archived.
        """
        return str(self._json("POST", "problems", problem, "unarchive")["result"])

    def open_episode(
        self,
        problem: str,
        subject: str | None = None,
        *,
        id: str | None = None,
        event_time: EventTime = None,
    ) -> OpenEpisode:
        """Open an episode, and return it with the policy to follow.

        All retries of the request have the same idempotency key, so that only one episode is
        opened.

        Parameters
        ----------
        problem : str
            Name of the problem.
        subject : str | None
            Pseudonym of the person to whom the episode belongs; None if there is no such person.
        id : str | None
            Id of the episode: 22 to 64 characters of A-Z, a-z, 0-9, _ and -, with at least 128
            random bits, such as `secrets.token_urlsafe(16)`; None to draw an id.
        event_time : EventTime
            Time at which the episode starts, as a datetime with a time zone or in ISO 8601; None
            for the time of recording.

        Returns
        -------
        OpenEpisode
            The episode, with the policy to follow.
        """
        body = {
            "id": id or token_urlsafe(16),
            "subject": subject,
            "event_time": format_time(event_time),
        }
        key = {"Idempotency-Key": token_urlsafe(16)}
        path = ("problems", problem, "episodes")
        opened = self._json("POST", *path, body=body, headers=key)
        policy = from_dict(NamedPolicy, opened["policy"])
        return OpenEpisode(opened["episode"], opened["version"], policy)

    def decide(
        self, problem: str, state: StateRef, *, step: int, episode: EpisodeRef | None = None
    ) -> str:
        """Return the action that the service chooses, for devices that do not store a policy.

        Parameters
        ----------
        problem : str
            Name of the problem.
        state : StateRef
            Name or index of the state, or a mapping from the name of each factor to its value.
        step : int
            Number of the step, from 0.
        episode : EpisodeRef | None
            Episode, or its id. The action is chosen by the policy version that the episode received
            when it was opened. If None, the action is chosen by the served version.

        Returns
        -------
        str
            Name of the action.
        """
        id = None if episode is None else episode_id(episode)
        body = {"state": state, "step": step, "episode": id}
        return str(self._json("POST", "problems", problem, "decide", body=body)["action"])

    def feedback(
        self,
        episode: EpisodeRef,
        states: States,
        actions: Actions,
        rewards: Sequence[float] | None = None,
        *,
        event_time: EventTime = None,
    ) -> str:
        """Send the feedback of a whole episode.

        Parameters
        ----------
        episode : EpisodeRef
            Episode or its id.
        states : States
            The H + 1 states of the episode, where H is the horizon. If the episode reached a
            terminal state early, the lists of states, actions and rewards may end there.
        actions : Actions
            The H actions of the episode.
        rewards : Sequence[float] | None
            The H rewards of the episode, in [0, 1] or in the `reward_range` of the problem; None if
            the rewards of the problem are known.
        event_time : EventTime
            Time at which the feedback originated, as a datetime with a time zone or in ISO 8601;
            None for the time of recording.

        Returns
        -------
        str
            "recorded"; or "already recorded" if the same feedback was sent before. In both cases,
            the feedback is stored on disk when this method returns.

        Raises
        ------
        ServiceError
            With status 409 if different feedback of the episode was recorded before.
        """
        body = {"states": states, "actions": actions, "rewards": rewards}
        return self._record(episode, "feedback", body, event_time)

    def steps(
        self,
        episode: EpisodeRef,
        steps: Iterable[Mapping[str, Any]],
        *,
        event_time: EventTime = None,
    ) -> str:
        """Send the feedback of some `steps` of `episode`.

        Each step has the fields `step`, `state`, `action` and `next_state`, and the field `reward`
        if the rewards of the problem are unknown. `event_time` and the returned text are as in
        `feedback`.
        """
        body = {"steps": list(steps)}
        return self._record(episode, "feedback", body, event_time)

    def path(
        self,
        episode: EpisodeRef,
        states: States,
        actions: Actions,
        *,
        event_time: EventTime = None,
    ) -> str:
        """Send the `states` and `actions` of `episode` without its rewards.

        Use this method if only rewards are delayed. `event_time` and the returned text are as in
        `feedback`.
        """
        body = {"path": {"states": states, "actions": actions}}
        return self._record(episode, "feedback", body, event_time)

    def rewards(
        self,
        episode: EpisodeRef,
        rewards: Mapping[int, float],
        *,
        event_time: EventTime = None,
    ) -> str:
        """Send `rewards` of `episode` without its states and actions.

        Use this method if only rewards are delayed. `rewards` maps the number of a step, from 0, to
        its reward. `event_time` and the returned text are as in `feedback`.
        """
        return self._record(episode, "feedback", {"rewards": rewards}, event_time)

    def correct(
        self,
        episode: EpisodeRef,
        states: States,
        actions: Actions,
        rewards: Sequence[float] | None = None,
        *,
        event_time: EventTime = None,
    ) -> str:
        """Replace all feedback of `episode` by `states`, `actions` and `rewards`.

        The parameters, including `event_time`, and the returned text are as in `feedback`.
        """
        body = {"states": states, "actions": actions, "rewards": rewards}
        return self._record(episode, "correction", body, event_time)

    def lost(self, episode: EpisodeRef, reason: str, *, event_time: EventTime = None) -> str:
        """Declare that the feedback of `episode` is no longer expected, for the given `reason`.

        The episode is no longer missing, and nothing is learnt from it. Feedback that is sent later
        is used as usual. `event_time` and the returned text are as in `feedback`.
        """
        return self._record(episode, "lost", {"reason": reason}, event_time)

    def bulk(self, problem: str, lines: Iterable[Mapping[str, Any]]) -> list[LineResult]:
        """Send the feedback of many episodes of the problem with the name `problem`.

        Each of `lines` has the field `episode`, an episode or its id, and the fields of a feedback
        request for a single episode, such as `states`, `actions` and `event_time`. Returns one
        result for each line, in the same order. A rejected line does not affect the other lines.
        """
        results: list[LineResult] = []
        for rest in split_into_batches(lines):
            while rest:
                batch = self._transport.retry(partial(self._send_bulk, problem, rest))
                first = len(results) + 1
                results += [replace(each, line=first + i) for i, each in enumerate(batch)]
                rest = rest[len(batch) :]  # the service stops at a line that is too long
        return results

    def policy(self, problem: str) -> NamedPolicy:
        """Return the served version of the policy of `problem`.

        The client caches the policy, and the service sends it again only if it has changed.
        """
        etag, policy = self._policies.get(problem, ("", None))
        headers = {"If-None-Match": etag} if etag else {}
        path = ("problems", problem, "policy")
        raw, etag = self._transport.retry(partial(self._transport.send, "GET", path, b"", headers))
        if policy is None or raw:
            policy = from_dict(NamedPolicy, parse_json(raw))
            self._policies[problem] = etag, policy
        return policy

    def status(self, problem: str) -> dict[str, Any]:
        """Return the status of `problem`, such as the number of missing episodes.

        The keys of the dict are those of the response of `GET /v1/problems/{problem}/status`.
        """
        return self._json("GET", "problems", problem, "status")

    def history(self, problem: str) -> dict[str, Any]:
        """Return the history of `problem`: statistics of its episodes over time and over versions.

        The keys of the dict are those of the response of `GET /v1/problems/{problem}/history`.
        """
        return self._json("GET", "problems", problem, "history")

    def freeze(self, problem: str) -> dict[str, Any]:
        """Keep the current version of `problem` as the served version until `unfreeze` is called.

        Newer versions are still published. Returns a dict with the keys "version" (served version),
        "newest" (newest version), "frozen" (whether the version is frozen or rolled back) and
        "shadow" (whether shadow mode is on).
        """
        return self._json("POST", "problems", problem, "freeze")

    def unfreeze(self, problem: str) -> dict[str, Any]:
        """End the effect of `freeze` and `rollback` on `problem`.

        The newest version is served again, unless `problem` is in shadow mode. Returns a dict as
        `freeze` does.
        """
        return self._json("POST", "problems", problem, "unfreeze")

    def rollback(self, problem: str, version: int) -> dict[str, Any]:
        """Serve an earlier `version` of `problem` until `unfreeze` is called.

        Returns a dict as `freeze` does.
        """
        body = {"version": version}
        return self._json("POST", "problems", problem, "rollback", body=body)

    def shadow(self, problem: str, on: bool = True) -> dict[str, Any]:
        """Turn shadow mode of `problem` on or off.

        In shadow mode, new versions are published but not served. Returns a dict as `freeze` does.
        """
        return self._json("POST", "problems", problem, "shadow", body={"on": on})

    def withdraw(
        self,
        episode: EpisodeRef | None = None,
        *,
        subject: str | None = None,
        problem: str | None = None,
    ) -> str:
        """Withdraw the data of an episode or of a subject.

        Exactly one of `episode` and `subject` must be given, and `problem` only with `subject`.
        Otherwise TypeError is raised.

        Parameters
        ----------
        episode : EpisodeRef | None
            Episode or its id.
        subject : str | None
            Pseudonym of the subject.
        problem : str | None
            Name of the problem in which to withdraw the subject; None for all problems.

        Returns
        -------
        str
            "recorded"; "already recorded" if the episode was withdrawn before; "nothing kept" if
            there is no data of the subject. If the response to the withdrawal of a subject does not
            reach the client, the request is sent again, and the result is "nothing kept".
        """
        if (episode is None) == (subject is None) or (episode is not None and problem is not None):
            raise TypeError(
                "withdraw takes either an episode, or a subject and optionally a problem; "
                f"got episode={episode!r}, subject={subject!r}, problem={problem!r}."
            )
        within = () if problem is None else ("problems", problem)
        target = ("subjects", str(subject))
        if episode is not None:
            target = ("episodes", episode_id(episode))
        return str(self._json("DELETE", *within, *target)["result"])

    def _record(
        self, episode: EpisodeRef, route: str, body: Mapping[str, Any], event_time: EventTime
    ) -> str:
        path = ("episodes", episode_id(episode), route)
        body = {**body, "event_time": format_time(event_time)}
        return str(self._json("POST", *path, body=body)["result"])

    def _send_bulk(self, problem: str, lines: list[bytes]) -> list[LineResult]:
        """Send one bulk request, and return the results of the lines that the service processed.

        `lines` are JSON texts. Raises ServiceError if the request fails, or if its last result is
        an error of the service.
        """
        path, headers = ("problems", problem, "feedback"), {"Content-Type": "application/x-ndjson"}
        try:
            raw, _ = self._transport.send("POST", path, b"".join(lines), headers)
        except ServiceError as error:
            if error.status != 413 or len(lines) > 1:
                raise
            return [LineResult(1, None, 413, error="too large", message=str(error))]
        results = [from_dict(LineResult, parse_json(line)) for line in raw.splitlines()]
        if not results or results[-1].status >= 500:  # interrupted; all lines may be sent again
            message = results[-1].message if results else "The response is empty."
            raise ServiceError(message or "", 503)
        return results


def split_into_batches(lines: Iterable[Mapping[str, Any]]) -> Iterator[list[bytes]]:
    """Convert `lines` to JSON, and yield them in batches, each for one bulk request.

    A batch respects `MAX_BULK_LINES` and `MAX_BULK_BYTES`. Raise TypeError if `lines` is a single
    object, or if a line has no field `episode`.
    """
    batch: list[bytes] = []
    size = 0
    if isinstance(lines, (Mapping, str, bytes)):
        raise TypeError(
            f"lines must be a list of objects, one for each episode, got {reprlib.repr(lines)}."
        )
    for number, fields in enumerate(lines, start=1):
        if not isinstance(fields, Mapping) or "episode" not in fields:
            raise TypeError(
                f"Line {number} must be an object with the field 'episode', "
                f"got {reprlib.repr(fields)}."
            )
        body = {**fields, "episode": episode_id(fields["episode"])}
        if "event_time" in body:
            body["event_time"] = format_time(body["event_time"])
        line = to_json(body) + b"\n"
        if batch and (len(batch) == MAX_BULK_LINES or size + len(line) > MAX_BULK_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield batch


def episode_id(episode: EpisodeRef) -> str:
    """Return the id of `episode`, an open episode or an id. Raise TypeError if it is neither."""
    if isinstance(episode, OpenEpisode):
        return episode.id
    if isinstance(episode, str):
        return episode
    raise TypeError(
        "episode must be an episode returned by open_episode, or its id as a text, "
        f"got {reprlib.repr(episode)}."
    )


def format_time(value: EventTime) -> str | None:
    """Return the time `value` as text in ISO 8601; None if `value` is None.

    A text is returned unchanged. Raise ValueError if a datetime has no time zone.
    """
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError(
            f"event_time must have a time zone, got {value!r}; "
            "use datetime(..., tzinfo=timezone.utc) or value.astimezone()."
        )
    return value.isoformat()
