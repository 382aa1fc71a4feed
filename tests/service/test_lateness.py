"""The estimated delay in the status of a problem, and from its exported events."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import belated as bl
from belated.cli.lateness import lateness
from belated.ledger import Ledger
from belated.online.delay_records import delay_records
from service.site import PLAYED, Site

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
START = NOW - timedelta(hours=200)

app = typer.Typer(rich_markup_mode=None)
app.command()(lateness)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    now_us = int(NOW.timestamp() * 10**6)
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}", clock=lambda: now_us) as opened:
        yield opened


@pytest.fixture
def clinic(site: Site) -> Site:
    """Clinic with 60 episodes, one an hour: 40 back after 3 or 9 hours, 2 lost, 18 missing."""
    site.define()
    opened = [START + timedelta(hours=i) for i in range(60)]
    ids = [site.open(event_time=time.isoformat()) for time in opened]
    for i in range(40):
        slow = i % 2
        body = {
            "states": ["ill", "ill", "well", "well"],
            "actions": ["treat" if slow else "wait", "wait", "treat"],
            "rewards": [0, 0, 0.5 * (1 + slow)],
            "event_time": (opened[i] + timedelta(hours=9 if slow else 3)).isoformat(),
        }
        assert site.post(f"/v1/episodes/{ids[i]}/feedback", body).status_code == 201
    for id in ids[40:42]:
        site.post(f"/v1/episodes/{id}/lost", {"reason": "moved"})
    site.host.step()
    return site


def test_the_status_estimates_the_delay_with_what_is_missing(clinic: Site) -> None:
    status = clinic.get("/v1/problems/clinic/status").json()
    late = status["lateness"]
    seconds = late["seconds"]
    assert (seconds["episodes"], seconds["returned"]) == (60, 40)
    # 20 of 60 are back after 3 hours and 40 after 9, lost episodes counting as not back
    assert seconds["median"] == pytest.approx(9 * 3600, rel=1 / 64)
    assert seconds["not_back"] == pytest.approx(1 / 3)
    assert seconds["never"] == pytest.approx(1 / 3)
    assert seconds["never_low"] < 1 / 3 < seconds["never_high"]
    assert "never returns" in seconds["summary"]
    assert (late["episodes"]["episodes"], late["episodes"]["returned"]) == (60, 40)
    # feedback was recorded after the last opening, 20 to 59 episodes after its own one
    assert late["episodes"]["median"] == 39


def test_a_problem_without_episodes_has_no_estimate(site: Site) -> None:
    site.define()
    late = site.get("/v1/problems/clinic/status").json()["lateness"]
    assert late["seconds"]["summary"] == "No episode has been opened."
    assert late["episodes"]["median"] is None
    assert late["episodes"]["never"] is None


def test_exported_events_give_delays_first_actions_and_returns(
    clinic: Site, tmp_path: Path
) -> None:
    lines = clinic.get("/v1/problems/clinic/events").text.splitlines()
    records = delay_records(json.loads(line) for line in lines)
    assert records.returned.sum() == 40
    assert records.durations["seconds"][:3].tolist() == [3 * 3600, 9 * 3600, 3 * 3600]
    assert records.groups["first action"][:2].tolist() == ["wait", "treat"]
    assert records.groups["first state"][-1] is None
    assert records.returns is not None
    assert records.returns[:2].tolist() == [0.5, 1]
    late = bl.lateness(records)
    problem = clinic.ledger.problem("clinic")
    assert problem is not None
    assert bl.lateness(delay_records(clinic.ledger.events(problem.id))).facts() == late.facts()
    # a share never returns, so that the oldest cohorts are complete
    assert {test.about for test in late.dependences} >= {"first action", "return"}
    files = {"events.ndjson": "\n".join(lines), "events.json": f"[{','.join(lines)}]"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        done = CliRunner().invoke(app, [str(tmp_path / name), "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout) == late.facts()
    # returns are known up to half an hour after the last opening only
    read = START + timedelta(hours=59, minutes=30)
    done = CliRunner().invoke(
        app, [str(tmp_path / "events.ndjson"), "--json", "--now", read.isoformat()]
    )
    assert done.exit_code == 0, done.output
    earlier = bl.lateness(delay_records(clinic.ledger.events(problem.id), now=read)).facts()
    assert json.loads(done.stdout) == earlier != late.facts()
    (tmp_path / "events.parquet").write_bytes(
        clinic.get("/v1/problems/clinic/events.parquet").content
    )
    done = CliRunner().invoke(app, [str(tmp_path / "events.parquet")])
    assert done.stdout == f"{late}\n"


def test_corrections_and_withdrawals_apply_to_exported_delays(clinic: Site) -> None:
    ids = [
        event.episode
        for event in clinic.ledger.events(clinic.ledger.problem("clinic").id)  # type: ignore[union-attr]
        if event.kind == "opened"
    ]
    assert clinic.ask("DELETE", f"/v1/episodes/{ids[0]}").status_code in (200, 201, 204)
    corrected = PLAYED | {"event_time": NOW.isoformat()}
    assert clinic.post(f"/v1/episodes/{ids[1]}/correction", corrected).status_code in (200, 201)
    problem = clinic.ledger.problem("clinic")
    assert problem is not None
    records = delay_records(clinic.ledger.events(problem.id))
    assert records.returned.size == 59
    assert records.durations["seconds"][0] == 199 * 3600
