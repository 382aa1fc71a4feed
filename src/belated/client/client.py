"""Client: open episodes, send what came back, ask where things stand."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from secrets import token_urlsafe
from typing import Any, Final, TypeAlias

from belated.client.plans import Line, OpenEpisode, Plan, made
from belated.client.transport import ServiceError, Transport, read, write

TOGETHER: Final = 500
"""The most lines of a bulk in one request."""
BYTES: Final = 1_000_000
"""The most bytes of them, but for a line that is longer by itself."""

Which: TypeAlias = OpenEpisode | str
"""An episode as it was opened, or its id."""
Names: TypeAlias = Sequence[str | int]
"""States or actions, by name or index."""


class Client:
    """A service at an address, such as http://localhost:8000; threads may share it.

    `timeout` is the longest silence in seconds, and `retries` how often to send something again.
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
        self._way = Transport(url, token, timeout=timeout, retries=retries, sleep=sleep)
        self._plans: dict[str, tuple[str, Plan]] = {}

    @property
    def url(self) -> str:
        """The address."""
        return self._way.url

    def define(self, problem: Mapping[str, Any]) -> dict[str, Any]:
        """Define a problem, as `POST /v1/problems` takes it; the same again is a repeat."""
        return self._way.json("POST", "problems", body=problem)

    def problem(self, problem: str) -> dict[str, Any]:
        """A problem as it was defined."""
        return self._way.json("GET", "problems", problem)

    def problems(self) -> list[dict[str, Any]]:
        """All problems, oldest first."""
        return list(self._way.json("GET", "problems")["problems"])

    def open_episode(
        self,
        problem: str,
        subject: str | None = None,
        *,
        id: str | None = None,
        event_time: str | None = None,
    ) -> OpenEpisode:
        """Open an episode, under an `id` of 128 random bits or more; one is drawn if need be."""
        body = {"id": id or token_urlsafe(16), "subject": subject, "event_time": event_time}
        said = self._way.json("POST", "problems", problem, "episodes", body=body)
        return OpenEpisode(said["episode"], said["version"], made(Plan, said["policy"]))

    def decide(
        self, problem: str, state: str | int, *, step: int, episode: Which | None = None
    ) -> str:
        """What to do, for those who keep no plan; with the episode, by its own version."""
        body = {"state": state, "step": step, "episode": None if episode is None else _id(episode)}
        return str(self._way.json("POST", "problems", problem, "decide", body=body)["action"])

    def feedback(
        self,
        episode: Which,
        states: Names,
        actions: Names,
        rewards: Sequence[float] | None = None,
        *,
        event_time: str | None = None,
    ) -> str:
        """Send a whole episode: H + 1 states, H actions, and H rewards unless they are known.

        It is on disk when this returns "recorded", or "already recorded" for a repeat. So it is
        with `steps`, `path`, `rewards` and `correct`.
        """
        body = {"states": states, "actions": actions, "rewards": rewards, "event_time": event_time}
        return self._record(episode, "feedback", body)

    def steps(self, episode: Which, steps: Iterable[Mapping[str, Any]]) -> str:
        """Send some steps: `step`, `state`, `action`, `next_state`, and `reward` if unknown."""
        return self._record(episode, "feedback", {"steps": list(steps)})

    def path(self, episode: Which, states: Names, actions: Names) -> str:
        """Send the states and actions of an episode whose rewards are late."""
        body = {"path": {"states": states, "actions": actions}}
        return self._record(episode, "feedback", body)

    def rewards(self, episode: Which, rewards: Mapping[int, float]) -> str:
        """Send rewards by step, where only they are late."""
        return self._record(episode, "feedback", {"rewards": rewards})

    def correct(
        self,
        episode: Which,
        states: Names,
        actions: Names,
        rewards: Sequence[float] | None = None,
    ) -> str:
        """Replace all that came back of an episode by a whole one."""
        body = {"states": states, "actions": actions, "rewards": rewards}
        return self._record(episode, "correction", body)

    def bulk(self, problem: str, lines: Iterable[Mapping[str, Any]]) -> list[Line]:
        """Send what came back of many episodes: `episode`, beside what one would send alone.

        Returns what became of each. A line that is refused keeps no other from being recorded.
        """
        done: list[Line] = []
        for rest in _pieces(lines):
            while rest:
                told = self._way.trying(self._send, problem, rest)
                done += [replace(one, line=len(done) + i) for i, one in enumerate(told, 1)]
                rest = rest[len(told) :]  # what stands after a line too long was not read
        return done

    def policy(self, problem: str) -> Plan:
        """The policy that is served now; it travels only if it has changed."""
        tag, plan = self._plans.get(problem, ("", None))
        headers = {"If-None-Match": tag} if tag else {}
        raw, tag = self._way.trying(
            self._way.ask, "GET", ("problems", problem, "policy"), b"", headers
        )
        if plan is None or raw:
            plan = made(Plan, read(raw))
            self._plans[problem] = tag, plan
        return plan

    def status(self, problem: str) -> dict[str, Any]:
        """Where a problem stands: what is missing, how old it is, and what is served."""
        return self._way.json("GET", "problems", problem, "status")

    def history(self, problem: str) -> dict[str, Any]:
        """What was opened and came back, how late, and what it earned, by time and by version."""
        return self._way.json("GET", "problems", problem, "history")

    def freeze(self, problem: str) -> dict[str, Any]:
        """Keep to the version that is served now; returns which that is, as the next three do."""
        return self._way.json("POST", "problems", problem, "freeze")

    def unfreeze(self, problem: str) -> dict[str, Any]:
        """Serve the newest version again, unless shadow mode is on."""
        return self._way.json("POST", "problems", problem, "unfreeze")

    def rollback(self, problem: str, version: int) -> dict[str, Any]:
        """Serve an older version until `unfreeze`."""
        return self._way.json("POST", "problems", problem, "rollback", body={"version": version})

    def shadow(self, problem: str, on: bool = True) -> dict[str, Any]:
        """Learn without serving it, or serve the newest again."""
        return self._way.json("POST", "problems", problem, "shadow", body={"on": on})

    def withdraw(
        self,
        episode: Which | None = None,
        *,
        subject: str | None = None,
        problem: str | None = None,
    ) -> str:
        """Forget what came back of an episode, or of a subject, in one problem or in all.

        Returns "recorded"; for an episode that was withdrawn before, "already recorded"; and for a
        subject of whom nothing is left, "nothing kept", also if this call removed it and the answer
        was lost on the way.
        """
        if (episode is None) == (subject is None) or (episode is not None and problem is not None):
            raise TypeError("withdraw takes an episode, or a subject and perhaps a problem.")
        within = () if problem is None else ("problems", problem)
        what = ("subjects", str(subject)) if episode is None else ("episodes", _id(episode))
        return str(self._way.json("DELETE", *within, *what)["result"])

    def _record(self, episode: Which, what: str, body: Mapping[str, Any]) -> str:
        return str(self._way.json("POST", "episodes", _id(episode), what, body=body)["result"])

    def _send(self, problem: str, lines: list[bytes]) -> list[Line]:
        """One request with some lines."""
        path, headers = ("problems", problem, "feedback"), {"Content-Type": "application/x-ndjson"}
        try:
            raw, _ = self._way.ask("POST", path, b"".join(lines), headers)
        except ServiceError as error:
            if error.status != 413 or len(lines) > 1:
                raise
            return [Line(1, None, 413, error="too large", message=str(error))]
        told = [made(Line, read(line)) for line in raw.splitlines()]
        if not told or told[-1].status >= 500:  # it broke off, and all may be sent again
            raise ServiceError(told[-1].message or "" if told else "Nothing was answered.", 503)
        return told


def _pieces(lines: Iterable[Mapping[str, Any]]) -> Iterator[list[bytes]]:
    """Lines in JSON, as many together as go in one request."""
    piece: list[bytes] = []
    size = 0
    for one in lines:
        line = write({**one, "episode": _id(one["episode"])}) + b"\n"
        if piece and (len(piece) == TOGETHER or size + len(line) > BYTES):
            yield piece
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield piece


def _id(episode: Which) -> str:
    return episode.id if isinstance(episode, OpenEpisode) else episode
