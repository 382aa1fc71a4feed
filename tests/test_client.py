"""The client, with a service on a socket that is not always available."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_server
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
import uvicorn

from belated.client import Client, NamedPolicy, OpenEpisode, ServiceError
from belated.client.client import MAX_BULK_BYTES, MAX_BULK_LINES
from belated.client.policies import step_uniform
from belated.client.transport import MAX_RETRY_AFTER_S
from belated.ledger import Ledger
from belated.online.host import Host
from belated.service import Settings, create_app
from belated.service.tokens import create_token
from ledger_samples import count_rows
from service.site import CLINIC, ID, PLAYED, wait_until

ALL = PLAYED["states"], PLAYED["actions"], PLAYED["rewards"]


class Service:
    """Server in a thread that can be stopped and restarted at the same address."""

    def __init__(self, folder: Path, *, http: str = "auto") -> None:
        self.store = f"sqlite:///{folder / 'ledger.db'}"
        self.http = http
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        listener = create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self.ledger = Ledger.open(self.store)
        self.host = Host(self.ledger)
        settings = Settings(open=True, served_version_ttl_s=0.0, token_ttl_s=0.0)
        app = create_app(self.ledger, self.host, settings, plan=False)
        config = uvicorn.Config(app, log_config=None, ws="none", access_log=False, http=self.http)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([listener],))
        self.thread.start()
        wait_until(lambda: self.server.started)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.host.stop()
        self.ledger.close()


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = Service(tmp_path)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def client(service: Service) -> Client:
    made = Client(service.url, sleep=never)
    made.define(CLINIC)
    return made


def never(seconds: float) -> None:
    raise AssertionError(f"There was nothing to wait {seconds} s for.")


@contextmanager
def stand_in(answer: Callable[[BaseHTTPRequestHandler, bytes], None]) -> Iterator[str]:
    """Run a server that answers with `answer`; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        do_GET = do_DELETE = do_POST  # noqa: N815

        def log_message(self, *given: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def say(to: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    to.send_response(status)
    for name, value in headers.items():
        to.send_header(name.replace("_", "-"), value)
    to.send_header("Content-Length", str(len(body)))
    to.end_headers()
    to.wfile.write(body)


def test_an_episode_is_opened_played_and_reported(client: Client, service: Service) -> None:
    episode = client.open_episode("clinic", "patient-17")
    known = service.ledger.episode(episode.id)
    assert known is not None
    assert (known.subject, known.version) == ("patient-17", episode.version)
    assert episode.policy == client.policy("clinic")
    for step in range(3):
        acted = episode.act(step, "ill")
        assert acted == client.decide("clinic", "ill", step=step, episode=episode)
        assert acted == episode.act(step, 0)
    assert client.feedback(episode, *ALL) == "recorded"
    assert client.feedback(episode.id, *ALL) == "already recorded"
    service.host.step()
    status = client.status("clinic")
    assert (status["begun"], status["observed"], status["missing"]) == (1, 1, 0)
    assert client.history("clinic")["versions"]["bins"][0]["mean_return"] == sum(ALL[2])
    assert client.problem("clinic") == client.problems()[0] == client.define(CLINIC)


def test_parts_of_feedback_complete_an_episode(client: Client, service: Service) -> None:
    episode = client.open_episode("clinic")
    report = {"state": 0, "action": np.int64(1), "next_state": 0, "reward": np.float64(0.5)}
    assert client.steps(episode, [{"step": np.int32(0)} | report]) == "recorded"
    rest = [{"step": step} | report for step in range(3)]
    assert client.steps(episode, rest, event_time=datetime(2026, 1, 1, tzinfo=UTC)) == "recorded"
    assert client.feedback(episode, np.zeros(4, int), np.ones(3, int), [0.5] * 3) == (
        "already recorded"
    )
    client.define(CLINIC | {"name": "late", "late": "rewards"})
    episode = client.open_episode("late")
    start = "2026-01-01T00:00:00Z"
    assert client.path(episode, ALL[0], ALL[1], event_time=start) == "recorded"
    assert client.rewards(episode, {1: 0.5}) == "recorded"
    assert client.rewards(episode, {0: 0, 2: 1}, event_time=start) == "recorded"
    sent = [event.event_time for event in service.ledger.events(kinds=["feedback"])]
    january = 1_767_225_600 * 10**6
    assert sent == [None, january, january, None, january]
    with pytest.raises(ValueError, match="event_time must have a time zone, got"):
        client.path(episode, ALL[0], ALL[1], event_time=datetime(2026, 1, 1))
    service.host.step()
    assert client.status("late")["observed"] == client.status("clinic")["observed"] == 1


def test_feedback_is_corrected_and_withdrawn(client: Client, service: Service) -> None:
    one, two, three = (client.open_episode("clinic", "patient-17") for _ in range(3))
    client.feedback(one, *ALL)
    time = "2026-01-02T00:00:00Z"
    assert client.correct(one, ALL[0], ALL[1], [0, 0, 0], event_time=time) == "recorded"
    [corrected] = service.ledger.events(kinds=["corrected"])
    assert corrected.event_time == (1_767_225_600 + 86_400) * 10**6
    assert client.feedback(one, ALL[0], ALL[1], [0, 0, 0]) == "already recorded"
    assert client.withdraw(one) == "recorded"
    with pytest.raises(ServiceError, match="withdrawn") as refused:
        client.feedback(one, *ALL)
    assert refused.value.status == 410
    assert client.withdraw(subject="patient-17", problem="clinic") == "recorded"
    assert count_rows(service.ledger).withdrawn == len({one.id, two.id, three.id})
    client.open_episode("clinic", "patient 18")
    assert client.withdraw(subject="patient 18") == "recorded"
    for wrong in ({}, {"episode": ID, "subject": "x"}, {"episode": ID, "problem": "clinic"}):
        with pytest.raises(TypeError, match="takes either an episode"):
            client.withdraw(**wrong)


SUBJECTS = [
    "a/b",
    "/",
    "a/../b",
    "..",
    "50%",
    "a%2Fb",
    "%",
    "Zoë 雪",
    "🙂?x=1&y#z",
    "a b+c;d",
    "\\'\"<>{}|^`",
    "subjects/x",
    "x" * 200,
]


@pytest.mark.parametrize("server", ["h11", "httptools"])
def test_any_subject_can_be_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    if server == "httptools":
        pytest.importorskip("httptools")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    service = Service(tmp_path, http=server)
    service.start()
    try:
        client = Client(service.url, sleep=never)
        client.define(CLINIC)
        for subject in SUBJECTS:
            for problem in (None, "clinic"):
                episode = client.open_episode("clinic", subject)
                known = service.ledger.episode(episode.id)
                assert known is not None
                assert known.subject == subject
                assert client.withdraw(subject=subject, problem=problem) == "recorded"
                known = service.ledger.episode(episode.id)
                assert known is not None
                assert (known.subject, known.withdrawn) == (None, service.ledger.last)
                assert client.withdraw(subject=subject, problem=problem) == "nothing kept"
    finally:
        service.stop()


def test_the_served_version_is_controlled(client: Client, service: Service) -> None:
    first = client.policy("clinic")
    assert client.freeze("clinic")["frozen"]
    for _ in range(30):
        client.feedback(client.open_episode("clinic"), *ALL)
        service.host.step()
    assert client.policy("clinic") is first  # the answer was 304
    newest = client.unfreeze("clinic")["version"]
    assert client.policy("clinic").version == newest > 1
    assert client.rollback("clinic", 1)["version"] == 1
    assert client.policy("clinic") == first
    assert client.shadow("clinic")["shadow"]
    assert not client.shadow("clinic", on=False)["shadow"]


def test_each_line_of_a_bulk_request_has_a_result(client: Client) -> None:
    episodes = [client.open_episode("clinic") for _ in range(4)]
    lines: list[dict[str, Any]] = [{"episode": one, **PLAYED} for one in episodes]
    lines[1:1] = [{"episode": ID, **PLAYED}, {"episode": episodes[0].id, **PLAYED}]
    lines.insert(5, {"episode": ID, "states": ["x" * 2 * MAX_BULK_BYTES]})
    lines[4] = {"episode": episodes[2], **PLAYED, "states": ["ill", "wel", "well", "well"]}
    lines += lines[:1] * MAX_BULK_LINES
    told = client.bulk("clinic", iter(lines))
    assert [one.line for one in told] == list(range(1, len(lines) + 1))
    assert [one.status for one in told[:8]] == [201, 404, 200, 201, 422, 413, 201, 200]
    assert {one.result for one in told[7:]} == {"already recorded"}
    assert (told[4].episode, told[4].field) == (episodes[2].id, "states[1]")
    assert client.bulk("clinic", []) == []


def test_errors_have_the_message_of_the_service(client: Client, service: Service) -> None:
    episode = client.open_episode("clinic")
    client.feedback(episode, *ALL)
    cases: list[tuple[Callable[[], object], int, str | None, str]] = [
        (
            lambda: client.feedback(episode, ALL[0], ALL[1], [1, 1, 1]),
            409,
            None,
            "different content; to replace all feedback of the episode, send a correction "
            "(POST /v1/episodes/{episode}/correction).",
        ),
        (
            lambda: client.feedback(episode, ["ill"], ALL[1], ALL[2]),
            422,
            "states",
            "states must be a list of 4 items, got 1 item.",
        ),
        (lambda: client.define(CLINIC | {"horizon": 4}), 409, None, "clinic"),
        (lambda: client.feedback(ID, *ALL), 404, None, ID),
        (lambda: client.status("no/where?"), 404, None, "."),
        (lambda: client.policy("nowhere"), 404, None, "Problem 'nowhere' not found."),
        (
            lambda: client.correct(episode, ["ill", "wel", "ill", "ill"], ALL[1], ALL[2]),
            422,
            "states[1]",
            "states[1] must be one of ill, well, or in 0 .. 1, got 'wel'.",
        ),
        (lambda: client.decide("clinic", "ill", step=3), 422, "step", "step must be in 0 .. 2"),
    ]
    for call, status, field, words in cases:
        with pytest.raises(ServiceError) as refused:
            call()
        assert (refused.value.status, refused.value.field) == (status, field)
        assert words in str(refused.value)


def test_a_token_is_sent_and_an_invalid_one_is_rejected(client: Client, service: Service) -> None:
    made = create_token()
    service.ledger.tokens.add(made.id, made.hash, scopes=("read",), problem=None)
    assert Client(service.url, made.text + "\n", sleep=never).problems()
    for token, status in ((None, 401), (made.text + "x", 401), (made.text, 403)):
        with pytest.raises(ServiceError) as refused:
            Client(service.url, token, sleep=never).open_episode("clinic")
        assert refused.value.status == status
        assert made.text not in repr(refused.value)


def test_requests_are_retried_until_the_service_is_back(
    client: Client, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    waited: list[float] = []

    def restart(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) % 3 == 0:
            service.start()

    client = Client(service.url + "/", sleep=restart)
    service.stop()
    episode = client.open_episode("clinic")
    service.stop()
    assert client.feedback(episode, *ALL) == "recorded"
    service.stop()
    assert client.bulk("clinic", [{"episode": episode, **PLAYED}])[0].status == 200
    assert len(waited) == 9
    assert 0 < waited[0] < waited[2]
    said = [one.getMessage() for one in caplog.records if one.name == "belated.client"]
    assert len(said) == 3  # once for each outage
    assert all(" cannot be reached: " in one and one.endswith(" Retrying.") for one in said)
    rows = count_rows(service.ledger)
    assert (rows.episodes, rows.events["feedback"]) == (1, 1)


def test_by_default_the_client_waits_about_a_minute_for_the_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: (low + high) / 2)
    waited: list[float] = []
    with pytest.raises(ServiceError, match="cannot be reached") as raised:
        Client("http://127.0.0.1:1", sleep=waited.append).problems()
    assert 50 < sum(waited) < 75
    assert max(waited) <= 10
    assert raised.value.__suppress_context__


def test_a_lost_response_does_not_duplicate_data(client: Client, service: Service) -> None:
    seen: set[tuple[str, bytes]] = set()

    def forward(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Forward a request; drop the first response to each."""
        headers = {"Content-Type": handler.headers["Content-Type"] or ""}
        request = Request(service.url + handler.path, body or None, headers, method=handler.command)
        try:
            with urlopen(request) as found:
                status, said = found.status, found.read()
        except HTTPError as error:
            with error:
                status, said = error.code, error.read()
        if (handler.path, body) in seen:
            say(handler, status, said)
        seen.add((handler.path, body))

    waited: list[float] = []
    with stand_in(forward) as url:
        far = Client(url, sleep=waited.append)
        one, two = far.open_episode("clinic", "x"), far.open_episode("clinic", "x")
        assert far.feedback(one, *ALL) == "already recorded"
        assert far.bulk("clinic", [{"episode": two, **PLAYED}])[0].result == "already recorded"
        assert far.correct(two, ALL[0], ALL[1], [0, 0, 0]) == "already recorded"
        assert far.withdraw(one) == "already recorded"
        # the service does not remember withdrawn subjects
        assert far.withdraw(subject="x") == "nothing kept"
    assert len(waited) == 7
    rows = count_rows(service.ledger)
    assert (rows.episodes, rows.withdrawn) == (2, 2)
    assert (rows.events["feedback"], rows.events["corrected"]) == (2, 1)


def test_retry_after_is_respected() -> None:
    left = [(503, "2"), (429, "7"), (500, ""), (502, "Sun, 15 Nov 2026 08:00:00 GMT")]

    def busy(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        if left:
            status, wait = left.pop(0)
            return say(handler, status, b"<h1>Sorry</h1>", Retry_After=wait)
        return say(handler, 200, b'{"problems": []}')

    waited: list[float] = []
    with stand_in(busy) as url:
        assert Client(url, sleep=waited.append).problems() == []
        assert waited[:2] == [2, 7]
        assert 0 < waited[2] <= 0.8
        assert waited[2] / 2 < waited[3] <= 1.6
        left += [(503, "1")] * 3
        with pytest.raises(ServiceError, match="503") as refused:
            Client(url, retries=2, sleep=waited.append).problems()
        assert refused.value.status == 503
        left[:] = [(503, str(int(MAX_RETRY_AFTER_S) + 1))]
        with pytest.raises(ServiceError, match="503"):
            Client(url, sleep=never).problems()


def test_an_interrupted_bulk_request_is_repeated() -> None:
    said = [
        b'{"line": 1, "episode": "a", "status": 201}\n'
        b'{"line": 2, "episode": null, "status": 503, "message": "Later."}\n',
        b'{"line": 1, "episode": "a", "status": 200, "new": 1}\n'
        b'{"line": 2, "episode": null, "status": 413, "message": "Too long."}\n',
        b'{"line": 1, "episode": "c", "status": 201}\n',
    ]
    asked: list[bytes] = []

    def answer(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        asked.append(body)
        say(handler, 200, said[len(asked) - 1])

    with stand_in(answer) as url:
        told = Client(url, sleep=lambda _: None).bulk("p", [{"episode": name} for name in "abc"])
    assert [(one.line, one.status) for one in told] == [(1, 200), (2, 413), (3, 201)]
    assert asked[0] == asked[1]
    assert asked[2] == b'{"episode": "c"}\n'


def test_a_token_goes_to_no_other_address() -> None:
    asked: list[str | None] = []

    def elsewhere(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        asked.append(handler.headers["Authorization"])
        say(handler, 302, b"", Location="/elsewhere")

    with stand_in(elsewhere) as url, pytest.raises(ServiceError, match="302"):
        Client(url, "secret", sleep=never).problems()
    assert asked == ["Bearer secret"]


def test_an_invalid_address_is_reported() -> None:
    with pytest.raises(
        ValueError, match=r"url must begin with http:// or https://, got 'file:///etc/passwd'"
    ):
        Client("file:///etc/passwd")
    with (
        stand_in(lambda handler, body: say(handler, 200, b"<p>Hello")) as url,
        pytest.raises(ServiceError, match="not JSON"),
    ):
        Client(url, sleep=never).problems()
    with pytest.raises(ServiceError, match="cannot be reached") as refused:
        Client(url, retries=1, sleep=lambda _: None).problems()
    assert refused.value.status is None


def test_a_timeout_is_reported_as_a_timeout() -> None:
    release = threading.Event()
    words = r"did not answer within 0\.05 s; .*timeout="

    def answer(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        release.wait()

    with stand_in(answer) as url:
        with pytest.raises(ServiceError, match=words) as error:
            Client(url, timeout=0.05, retries=0).problems()
        release.set()
    assert error.value.status is None


@pytest.mark.parametrize("wrong", [None, {"episode": ID}, 7])
def test_an_episode_of_a_wrong_type_is_reported(wrong: Any) -> None:
    client = Client("http://nowhere", sleep=never)
    words = "episode must be an episode returned by open_episode, or its id as a text, got"
    with pytest.raises(TypeError, match=words):
        client.feedback(wrong, *ALL)
    with pytest.raises(TypeError, match=words):
        client.bulk("clinic", [{"episode": wrong, **PLAYED}])


def test_lines_of_a_wrong_type_are_reported() -> None:
    client = Client("http://nowhere", sleep=never)
    with pytest.raises(TypeError, match="lines must be a list of objects, one for each episode"):
        client.bulk("clinic", {"episode": ID, **PLAYED})  # type: ignore[arg-type]
    for wrong in ("episode", PLAYED):
        with pytest.raises(TypeError, match="Line 1 must be an object with the field 'episode'"):
            client.bulk("clinic", [wrong])  # type: ignore[list-item]


def test_an_own_id_of_a_wrong_format_is_explained(client: Client) -> None:
    with pytest.raises(ServiceError) as refused:
        client.open_episode("clinic", id="order-4711")
    assert (refused.value.status, refused.value.field) == (422, "id")
    assert str(refused.value) == (
        "id must be 22 to 64 characters of A-Z, a-z, 0-9, '_' and '-', got 'order-4711'; "
        "use secrets.token_urlsafe(16)."
    )


POLICY = NamedPolicy(
    "clinic",
    3,
    2,
    ["wait", "treat", "ask"],
    [{"ill": "treat", "well": "wait"}] * 2,
    [{}, {"ill": ["wait", "ask"]}],
    0.3,
    "",
)


@pytest.mark.parametrize(
    ("step", "state", "u", "action"),
    [
        (0, "ill", 0.31, "treat"),
        (0, "ill", 0.29, "ask"),
        (0, "well", 0.0, "wait"),
        (0, 0, 0.15, "treat"),
        (1, "ill", 0.49, "wait"),
        (1, 0, 0.5, "ask"),
        (1, np.int64(1), 0.9, "wait"),
    ],
)
def test_a_policy_draws_where_it_explores(step: int, state: Any, u: float, action: str) -> None:
    assert POLICY.act(step, state, u) == action


def test_an_episode_draws_as_the_service_would() -> None:
    for number in range(50):
        episode = OpenEpisode(f"{ID}-{number}", 3, POLICY)
        assert episode.act(1, "ill") == POLICY.act(1, "ill", step_uniform(episode.id, 1))
    assert {POLICY.act(1, "ill") for _ in range(200)} == {"wait", "ask"}


@pytest.mark.parametrize(
    ("step", "state", "u", "words"),
    [
        (2, "ill", 0.5, "step must be in 0 .. 1, got 2."),
        (-1, "ill", 0.5, "got -1"),
        (0, "wel", 0.5, "state must be ill, well, or 0 .. 1; got 'wel'."),
        (0, 2, 0.5, "got 2"),
        (0, "ill", 1.0, "u must be in [0, 1), got 1.0"),
    ],
)
def test_a_policy_rejects_invalid_arguments(step: int, state: Any, u: float, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        POLICY.act(step, state, u)


@pytest.mark.parametrize(
    ("step", "state", "words"),
    [
        ("ill", 0, "step must be an integer from 0, got 'ill'; the order is act(step, state)."),
        (True, "ill", "step must be an integer from 0, got True"),
        (0, None, "state must be a name, an index or factors, got None."),
        (0, 1.0, "state must be a name, an index or factors, got 1.0."),
    ],
)
def test_an_episode_rejects_arguments_of_a_wrong_type(step: Any, state: Any, words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        OpenEpisode(ID, 3, POLICY).act(step, state)


def test_the_client_needs_only_the_standard_library() -> None:
    code = (
        "import sys; import belated.client; "
        "assert not {'numpy', 'numba', 'pydantic', 'httpx', 'fastapi'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
