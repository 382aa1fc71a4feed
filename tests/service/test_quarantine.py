"""Rejected requests are kept with the reason and can be read."""

import json
import threading
from typing import Any

import pytest

from belated.ledger import Ledger
from belated.ledger.clients import MAX_BODY_CHARS, Quarantine, QuarantinedRequest
from ledger_samples import count_rows
from service.site import CLINIC, ID, NDJSON, PLAYED, Site

JSON = {"content-type": "application/json"}


def only(site: Site) -> QuarantinedRequest:
    [kept] = site.ledger.quarantine
    return kept


def body(kept: QuarantinedRequest) -> Any:
    return None if kept.text is None else json.loads(kept.text)


def read(site: Site, path: str, token: str | None = None) -> list[dict[str, Any]]:
    answer = site.ask("GET", path, token)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def refused(site: Site, path: str, given: Any = None, status: int = 422, **more: Any) -> str:
    answer = site.post(path, given, **more)
    assert answer.status_code == status, answer.text
    return str(answer.json()["message"])


def test_a_rejected_definition_is_quarantined(site: Site) -> None:
    site.define()
    for given, status, outcome in (
        (CLINIC | {"horizon": 4}, 409, "conflict"),
        (CLINIC | {"name": "a/b"}, 422, "refused"),
        (CLINIC | {"base": {"name": "nothing"}}, 422, "refused"),
        (CLINIC | {"horizon": 10**9}, 422, "refused"),
    ):
        reason = refused(site, "/v1/problems", given, status)
        kept = list(site.ledger.quarantine)[-1]
        assert (kept.problem, kept.outcome, kept.reason) == (None, outcome, reason)
        assert body(kept) == given


def test_a_rejected_control_is_quarantined_with_its_problem(site: Site) -> None:
    site.define()
    reason = refused(site, "/v1/problems/clinic/rollback", {"version": 7})
    kept = only(site)
    problem = site.ledger.problem("clinic")
    assert problem is not None
    assert (kept.problem, kept.reason, body(kept)) == (problem.id, reason, {"version": 7})
    refused(site, "/v1/problems/clinic/shadow", {"on": "perhaps"})
    refused(site, "/v1/problems/nowhere/freeze", status=404)
    assert [one.outcome for one in site.ledger.quarantine] == ["refused", "refused", "unknown"]


def test_a_rejected_decision_is_quarantined_with_its_episode(site: Site) -> None:
    site.define()
    id = site.open()
    asked = {"state": "dead", "step": 0, "episode": id}
    reason = refused(site, "/v1/problems/clinic/decide", asked)
    kept = only(site)
    assert (kept.episode, kept.reason, body(kept)) == (id, reason, asked)
    refused(site, "/v1/problems/clinic/decide", {**asked, "state": 0, "step": 9})
    refused(site, "/v1/problems/clinic/decide", {"state": 0, "step": 0, "episode": ID}, 404)
    assert [one.outcome for one in site.ledger.quarantine] == ["refused", "refused", "unknown"]


@pytest.mark.parametrize(
    "given",
    [
        {"subject": "Ann Other", "event_time": "soon"},
        {"subject": "Ann Other\7"},
        {"subject": "Ann Other" * 30},
        {"subject": {"name": "Ann Other"}},
        ["Ann Other"],
        '{"subject": "Ann Other"',
    ],
)
def test_a_rejected_opening_is_quarantined_without_its_subject(site: Site, given: Any) -> None:
    site.define()
    content = given if isinstance(given, str) else json.dumps(given)
    refused(site, "/v1/problems/clinic/episodes", content=content, headers=JSON)
    kept = only(site)
    assert kept.problem is not None
    assert "Ann" not in repr(kept)


def test_a_conflicting_opening_is_quarantined_under_its_id(site: Site) -> None:
    site.define()
    site.open(id=ID, subject="Ann Other")
    given = {"id": ID, "subject": "Bob"}
    reason = refused(site, "/v1/problems/clinic/episodes", given, 409)
    kept = only(site)
    assert (kept.episode, kept.outcome, kept.reason) == (ID, "conflict", reason)
    assert body(kept) == {"id": ID}
    site.delete(f"/v1/episodes/{ID}")
    assert list(site.ledger.quarantine) == []


@pytest.mark.parametrize(
    ("content", "headers", "status", "expected"),
    [
        (b"{", JSON, 422, "{"),
        (b'{"on": \xff}', JSON, 422, '{"on": \\xff}'),
        (b"state=ill", {"content-type": "text/plain"}, 422, "state=ill"),
    ],
)
def test_a_body_that_is_not_json_is_quarantined_as_a_string(
    site: Site, content: bytes, headers: dict[str, str], status: int, expected: str
) -> None:
    site.define()
    reason = refused(
        site, "/v1/problems/clinic/shadow", status=status, content=content, headers=headers
    )
    kept = only(site)
    assert (kept.outcome, kept.reason, body(kept)) == ("refused", reason, expected)


def test_a_body_of_another_content_type_is_quarantined(site: Site) -> None:
    site.define()
    id, text = site.open(), {"content-type": "text/plain"}
    feedback, bulk = f"/v1/episodes/{id}/feedback", "/v1/problems/clinic/feedback"
    refused(site, feedback, status=415, content=json.dumps(PLAYED), headers=text)
    refused(site, bulk, status=415, content=b"a\nb", headers=text)
    one, other = site.ledger.quarantine
    assert (one.episode, body(one)) == (id, PLAYED)
    # a withdrawal would not find it there
    assert (other.episode, body(other)) == (None, None)
    assert one.problem == other.problem is not None


@pytest.mark.parametrize("told", [True, False])
def test_the_size_of_a_body_that_is_too_large_is_quarantined(ledger: Ledger, told: bool) -> None:
    async def pieces() -> Any:
        for _ in range(30):
            yield b"x" * 100

    with Site(ledger, max_body_bytes=2000, max_bulk_bytes=2000) as site:
        site.define()
        for path, headers in (
            (f"/v1/episodes/{site.open()}/feedback", JSON),
            ("/v1/problems/clinic/decide", JSON),
            ("/v1/problems", JSON),
            ("/v1/problems/clinic/feedback", NDJSON),
        ):
            content = b"x" * 3000 if told else pieces()
            refused(site, path, status=413, content=content, headers=headers)
            kept = list(ledger.quarantine)[-1]
            assert body(kept) == ({"declared": 3000} if told else {"read": 2100})
            assert kept.reason == "Body too large: at most 2000 bytes are allowed."
        assert sum(kept.times for kept in ledger.quarantine) == 4


def test_an_interrupted_bulk_request_is_quarantined(ledger: Ledger) -> None:
    with Site(ledger, max_bulk_lines=2, max_body_bytes=1000) as site:
        site.define()
        good = json.dumps({"episode": site.open(), **PLAYED}).encode()
        for content in (b"\n".join([good] * 3), good + b"\n" + b"x" * 1001, b"x" * 1001):
            site.post("/v1/problems/clinic/feedback", content=content, headers=NDJSON)
        assert [(kept.reason, kept.text) for kept in ledger.quarantine] == [
            ("Too many lines: at most 2 are allowed.", None),
            ("Line 2 too large: at most 1000 bytes are allowed.", None),
            ("Line 1 too large: at most 1000 bytes are allowed.", None),
        ]


def test_writing_to_the_quarantine_does_not_delay_other_requests(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define()
    free = threading.Event()
    monkeypatch.setattr(Quarantine, "add_all", lambda self, rejections: free.wait(30))
    wrong = {"state": "nowhere", "step": 0}
    refusing = [
        site.start(site.asking("POST", "/v1/problems/clinic/decide", json=wrong)) for _ in range(20)
    ]
    assert site.get("/v1/problems/clinic/versions").status_code == 200
    free.set()
    assert {answer().status_code for answer in refusing} == {422}


def test_a_long_body_is_truncated(site: Site) -> None:
    long = CLINIC | {"horizon": 0, "states": [f"state {s}" for s in range(20_000)]}
    refused(site, "/v1/problems", long)
    refused(site, "/v1/problems/nowhere/decide", status=422, content=b"y" * 10**6, headers=JSON)
    one, other = site.ledger.quarantine
    text = body(one)
    assert json.dumps(long, sort_keys=True).startswith(text)
    assert len(text) == MAX_BODY_CHARS
    assert set(body(other)) == {"y", '"'}
    assert len(str(other.text)) < MAX_BODY_CHARS + 10


def test_feedback_of_a_withdrawn_episode_is_not_kept(site: Site) -> None:
    site.define()
    id = site.open(subject="Ann Other")
    asked = {"state": "dead", "step": 0, "episode": id}
    refused(site, "/v1/problems/clinic/decide", asked)
    refused(site, f"/v1/episodes/{id}/feedback", status=415, content=b"secret")
    assert count_rows(site.ledger).quarantined == 2
    site.delete(f"/v1/episodes/{id}")
    assert list(site.ledger.quarantine) == []
    refused(site, "/v1/problems/clinic/decide", asked)
    refused(site, f"/v1/episodes/{id}/feedback", status=415, content=b"secret")
    refused(site, f"/v1/episodes/{id}/feedback", PLAYED, 410)
    refused(site, "/v1/problems/clinic/episodes", {"id": id, "subject": "Ann Other"}, 410)
    kept = only(site)
    assert (kept.episode, kept.outcome, kept.text, kept.times) == (id, "gone", None, 4)
    assert kept.reason == f"Episode {id} has been withdrawn."


def test_unauthorized_requests_are_not_quarantined(site: Site) -> None:
    site.define()
    token = site.token("read")
    for given in (None, "wrong", token):
        answer = site.ask("POST", "/v1/problems", given, json={"name": "?"})
        assert answer.status_code in (401, 403)
    assert list(site.ledger.quarantine) == []


def test_rejected_reads_and_withdrawals_are_not_quarantined(site: Site) -> None:
    site.define()
    for path in ("/v1/problems/nowhere", "/v1/problems/clinic/events?limit=0", "/v1/nothing"):
        assert site.get(path).status_code in (404, 422)
    assert site.delete(f"/v1/episodes/{ID}").status_code == 404
    assert site.delete(f"/v1/subjects/{'x' * 300}").status_code == 422
    assert list(site.ledger.quarantine) == []


def test_a_failing_quarantine_does_not_change_the_response(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*given: Any) -> None:
        raise OSError("disk full of secrets")

    site.define()
    monkeypatch.setattr(Quarantine, "add_all", broken)
    refused(site, "/v1/problems", CLINIC | {"horizon": 4}, 409)
    answer = site.post("/v1/problems/clinic/feedback", content=b"{", headers=NDJSON)
    assert json.loads(answer.text)["status"] == 422
    assert caplog.text.count("Writing to the quarantine failed: OSError.") == 2
    assert "secrets" not in caplog.text


def test_the_quarantine_of_a_problem_is_read_in_order(site: Site) -> None:
    site.define()
    site.define("shop")
    id = site.open()
    for version in range(2, 7):
        refused(site, "/v1/problems/clinic/rollback", {"version": version})
    refused(site, "/v1/problems/shop/rollback", {"version": 2})
    wrong = {**PLAYED, "states": ["ill", "wel", "ill", "ill"]}
    refused(site, f"/v1/episodes/{id}/feedback", wrong)
    refused(site, "/v1/problems", CLINIC | {"horizon": 0})
    path = "/v1/problems/clinic/quarantine"
    rows = read(site, path)
    assert [row["body"] for row in rows[:-1]] == [{"version": n} for n in range(2, 7)]
    assert {row["problem"] for row in rows} == {"clinic"}
    assert (rows[-1]["episode"], rows[-1]["outcome"], rows[-1]["times"]) == (id, "refused", 1)
    first = read(site, f"{path}?limit=2")
    assert first + read(site, f"{path}?after={first[-1]['id']}") == rows
    assert site.get("/v1/problems/nowhere/quarantine").status_code == 404
    for asked in ("limit=0", "after=-1", f"after={2**64}"):
        assert site.get(f"{path}?{asked}").status_code == 422


def test_an_admin_reads_the_whole_quarantine(site: Site) -> None:
    site.define()
    refused(site, "/v1/problems/clinic/rollback", {"version": 2})
    refused(site, "/v1/problems", CLINIC | {"horizon": 0})
    admin, export = site.token("admin"), site.token("export")
    rows = read(site, "/v1/quarantine", admin)
    assert [row["problem"] for row in rows] == ["clinic", None]
    assert read(site, f"/v1/quarantine?after={rows[0]['id']}", admin) == rows[1:]
    assert read(site, "/v1/problems/clinic/quarantine", export) == rows[:1]
    assert site.ask("GET", "/v1/quarantine", export).status_code == 403
    assert site.ask("GET", "/v1/quarantine", site.token("admin", problem="clinic")).status_code == (
        403
    )


def test_a_body_with_nan_is_exported_as_a_string(site: Site) -> None:
    site.define()
    path = f"/v1/episodes/{site.open()}/feedback"
    refused(site, path, content=b'{"rewards": [NaN]}', headers=JSON)
    refused(site, path, content=b'{"rewards": [1e999]}', headers=JSON)

    def strictly(constant: str) -> None:
        raise AssertionError(constant)

    lines = site.get("/v1/problems/clinic/quarantine").text.splitlines()
    rows = [json.loads(line, parse_constant=strictly) for line in lines]
    assert [row["body"] for row in rows] == ['{"rewards": [NaN]}', '{"rewards": [Infinity]}']


@pytest.mark.parametrize("route", ["feedback", "correction"])
@pytest.mark.parametrize(
    ("content", "kept_body"),
    [
        ('{"states": [0], "states": [1]}', '{"states": [0], "states": [1]}'),
        ("{", "{"),
        ('{"event_time": "soon"}', {"event_time": "soon"}),
        (json.dumps(PLAYED | {"event_time": 5}), PLAYED | {"event_time": 5}),
        ("[1]", [1]),
    ],
)
def test_the_reason_in_the_quarantine_is_that_of_the_response(
    site: Site, content: str, kept_body: Any, route: str
) -> None:
    site.define()
    path = f"/v1/episodes/{site.open()}/{route}"
    reason = refused(site, path, content=content, headers=JSON)
    kept = only(site)
    assert kept.reason == reason
    assert body(kept) == kept_body
