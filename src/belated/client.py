"""Client: open episodes and send what came back, with nothing but the standard library.

Whatever fails on the way is sent again, after longer and longer waits. That is safe: an episode
is opened under an id that is drawn here, and what the service has already counts as a repeat.
"""

import itertools
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from http.client import HTTPException
from secrets import token_urlsafe
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

P = ParamSpec("P")
T = TypeVar("T")

FIRST: Final = 0.2
"""The first wait in seconds; each is twice as long as the one before it, up to `MOST`."""
MOST: Final = 10.0
LONGEST: Final = 60.0
"""The longest wait that a service may ask for, in seconds; the error is raised instead."""
TOGETHER: Final = 500
"""The most lines of a bulk in one request."""
BYTES: Final = 1_000_000
"""The most bytes of them, but for a line that is longer by itself."""


class ServiceError(Exception):
    """What the service refused, in its own words; `status` is None where it was not reached."""

    def __init__(
        self, message: str, status: int | None = None, *, field: str | None = None, wait: float = 0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.wait = wait
        """How many seconds it asked to wait."""

    @property
    def passing(self) -> bool:
        """Whether the same may well succeed later."""
        return self.status is None or self.status == 429 or self.status >= 500


@dataclass(frozen=True)
class Plan:
    """A version of a policy, to act by without a network."""

    problem: str
    version: int
    horizon: int
    actions: Sequence[str]
    plan: Sequence[Mapping[str, str]] = field(repr=False)
    """By step and state."""
    explore: Sequence[Mapping[str, Sequence[str]]] = field(repr=False)
    """Where one of several is drawn, these."""
    epsilon: float
    sha: str

    def act(self, step: int, state: str | int, u: float | None = None) -> str:
        """The action to play; where it is drawn, by a uniform `u` in [0, 1), or at random."""
        if not 0 <= step < self.horizon:
            raise ValueError(f"step is {step}; allowed are 0 .. {self.horizon - 1}.")
        names = list(self.plan[step])
        if not isinstance(state, str) and 0 <= state < len(names):
            state = names[state]
        if state not in self.plan[step]:
            known = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
            raise ValueError(f"state is {state!r}; allowed are {known}, or 0 .. {len(names) - 1}.")
        u = random.random() if u is None else u
        if not 0 <= u < 1:
            raise ValueError(f"u is {u}; it must lie in [0, 1).")
        if marked := self.explore[step].get(str(state)):
            return marked[int(u * len(marked))]
        if u < self.epsilon:
            return self.actions[int(u / self.epsilon * len(self.actions))]
        return self.plan[step][str(state)]


@dataclass(frozen=True)
class OpenEpisode:
    """An episode, and the policy that it is to be played with."""

    id: str
    version: int
    plan: Plan

    def act(self, step: int, state: str | int, u: float | None = None) -> str:
        """The action to play. A draw belongs to the step: asked again, here or with `decide`, it
        is the same."""
        if u is None:
            bits = sha256(f"{step}/{self.id}".encode()).digest()
            u = int.from_bytes(bits[:8], "big") / 2**64 // 2**-53 * 2**-53
        return self.plan.act(step, state, u)


@dataclass(frozen=True)
class Line:
    """What became of one line of a bulk, from 1; `status` is as if it had come alone."""

    line: int
    episode: str | None
    status: int
    result: str | None = None
    seq: int | None = None
    error: str | None = None
    message: str | None = None
    field: str | None = None


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
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url is {url!r}; it must begin with http:// or https://.")
        self.url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token.strip()}"}
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._opener = build_opener(_Stay)
        self._plans: dict[str, tuple[str, Plan]] = {}

    def define(self, problem: Mapping[str, Any]) -> dict[str, Any]:
        """Define a problem, as `POST /v1/problems` takes it; the same again is a repeat."""
        return self._json("POST", "problems", body=problem)

    def problem(self, problem: str) -> dict[str, Any]:
        """A problem as it was defined."""
        return self._json("GET", "problems", problem)

    def problems(self) -> list[dict[str, Any]]:
        """All problems, oldest first."""
        return list(self._json("GET", "problems")["problems"])

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
        said = self._json("POST", "problems", problem, "episodes", body=body)
        return OpenEpisode(said["episode"], said["version"], _made(Plan, said["policy"]))

    def decide(
        self, problem: str, state: str | int, *, step: int, episode: Which | None = None
    ) -> str:
        """What to do, for those who keep no plan; with the episode, by its own version."""
        body = {"state": state, "step": step, "episode": None if episode is None else _id(episode)}
        return str(self._json("POST", "problems", problem, "decide", body=body)["action"])

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
                told = self._trying(self._send, problem, rest)
                done += [replace(one, line=len(done) + i) for i, one in enumerate(told, 1)]
                rest = rest[len(told) :]  # what stands after a line too long was not read
        return done

    def policy(self, problem: str) -> Plan:
        """The policy that is served now; it travels only if it has changed."""
        tag, plan = self._plans.get(problem, ("", None))
        headers = {"If-None-Match": tag} if tag else {}
        raw, tag = self._trying(self._ask, "GET", ("problems", problem, "policy"), b"", headers)
        if plan is None or raw:
            plan = _made(Plan, _read(raw))
            self._plans[problem] = tag, plan
        return plan

    def status(self, problem: str) -> dict[str, Any]:
        """Where a problem stands: what is missing, how old it is, and what is served."""
        return self._json("GET", "problems", problem, "status")

    def freeze(self, problem: str) -> dict[str, Any]:
        """Keep to the version that is served now; returns which that is, as the next three do."""
        return self._json("POST", "problems", problem, "freeze")

    def unfreeze(self, problem: str) -> dict[str, Any]:
        """Serve the newest version again, unless shadow mode is on."""
        return self._json("POST", "problems", problem, "unfreeze")

    def rollback(self, problem: str, version: int) -> dict[str, Any]:
        """Serve an older version until `unfreeze`."""
        return self._json("POST", "problems", problem, "rollback", body={"version": version})

    def shadow(self, problem: str, on: bool = True) -> dict[str, Any]:
        """Learn without serving it, or serve the newest again."""
        return self._json("POST", "problems", problem, "shadow", body={"on": on})

    def withdraw(
        self,
        episode: Which | None = None,
        *,
        subject: str | None = None,
        problem: str | None = None,
    ) -> str:
        """Forget what came back of an episode, or of a subject, in one problem or in all.

        A subject of whom nothing is left is a 404, also if this call removed it and the answer was
        lost on the way.
        """
        if (episode is None) == (subject is None) or (episode is not None and problem is not None):
            raise TypeError("withdraw takes an episode, or a subject and perhaps a problem.")
        within = () if problem is None else ("problems", problem)
        what = ("subjects", str(subject)) if episode is None else ("episodes", _id(episode))
        return str(self._json("DELETE", *within, *what)["result"])

    def _record(self, episode: Which, what: str, body: Mapping[str, Any]) -> str:
        return str(self._json("POST", "episodes", _id(episode), what, body=body)["result"])

    def _json(self, method: str, *path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = b"" if body is None else _write(body)
        headers = {"Content-Type": "application/json"} if data else {}
        return _read(self._trying(self._ask, method, path, data, headers)[0])

    def _trying(self, ask: Callable[P, T], *given: P.args, **options: P.kwargs) -> T:
        """Ask until it is answered, or has failed too often."""
        for tried in itertools.count():
            try:
                return ask(*given, **options)
            except ServiceError as error:
                if not error.passing or tried >= self._retries or error.wait > LONGEST:
                    raise
                # apart from each other, or all who were cut off would come back at once
                backoff = min(FIRST * 2**tried, MOST) * random.uniform(0.5, 1)
                self._sleep(max(error.wait, backoff))
        raise AssertionError

    def _send(self, problem: str, lines: list[bytes]) -> list[Line]:
        """One request with some lines."""
        path, headers = ("problems", problem, "feedback"), {"Content-Type": "application/x-ndjson"}
        try:
            raw, _ = self._ask("POST", path, b"".join(lines), headers)
        except ServiceError as error:
            if error.status != 413 or len(lines) > 1:
                raise
            return [Line(1, None, 413, error="too large", message=str(error))]
        told = [_made(Line, _read(line)) for line in raw.splitlines()]
        if not told or told[-1].status >= 500:  # it broke off, and all may be sent again
            raise ServiceError(told[-1].message or "" if told else "Nothing was answered.", 503)
        return told

    def _ask(
        self, method: str, path: Iterable[str], data: bytes, headers: Mapping[str, str]
    ) -> tuple[bytes, str]:
        """One request; returns the body, which is empty for a 304, and its tag."""
        address = "/".join([self.url, "v1", *(quote(part, safe="") for part in path)])
        body = data if method == "POST" else None
        request = Request(address, body, {**self._headers, **headers}, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return answer.read(), answer.headers.get("ETag", "")
        except HTTPError as error:
            with error:
                if error.code == 304:
                    return b"", error.headers.get("ETag", "")
                raise _refusal(error) from None
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", error)
            raise ServiceError(f"{self.url} cannot be reached: {why}.") from error


class _Stay(HTTPRedirectHandler):
    """Follows nowhere: a token is for the address that was given."""

    def redirect_request(self, *given: Any, **options: Any) -> None:
        return None


def _refusal(error: HTTPError) -> ServiceError:
    """What an answer other than 2xx says; one from a proxy may say nothing."""
    try:
        said = json.loads(error.read())
        message, where = str(said["message"]), said["field"]
    except (OSError, HTTPException, ValueError, TypeError, KeyError):
        message, where = f"The service answered {error.code} {error.reason}.", None
    wait = error.headers.get("Retry-After", "")
    seconds = float(wait) if wait.isascii() and wait.isdecimal() else 0.0
    return ServiceError(message, error.code, field=where, wait=seconds)


def _pieces(lines: Iterable[Mapping[str, Any]]) -> Iterator[list[bytes]]:
    """Lines in JSON, as many together as go in one request."""
    piece: list[bytes] = []
    size = 0
    for one in lines:
        line = _write({**one, "episode": _id(one["episode"])}) + b"\n"
        if piece and (len(piece) == TOGETHER or size + len(line) > BYTES):
            yield piece
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield piece


def _id(episode: Which) -> str:
    return episode.id if isinstance(episode, OpenEpisode) else episode


def _made(kind: type[T], said: Mapping[str, Any]) -> T:
    """A record; what a newer service says on top is left out."""
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: said[name] for name in names if name in said})


def _write(body: Any) -> bytes:
    return json.dumps(body, default=_plain, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    """Arrays and their numbers as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be sent; it must be a text, a number or a list of them.")


def _read(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        raise ServiceError("The answer is not JSON; is this the address of the service?") from None
