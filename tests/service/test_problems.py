"""Problems over HTTP."""

from typing import Any

import pytest

from belated.ledger import Ledger
from service.site import CLINIC, Site


def test_defining_the_same_problem_again_has_no_effect(site: Site) -> None:
    first, again = (site.post("/v1/problems", CLINIC) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() == site.get("/v1/problems/clinic").json()
    assert first.json()["states"] == ["ill", "well"]
    other = site.post("/v1/problems", CLINIC | {"horizon": 4})
    assert other.status_code == 409
    assert other.json()["error"] == "conflict"


def test_problems_are_listed_oldest_first(site: Site) -> None:
    for name in ("zoo", "abc"):
        site.define(name)
    listed = site.get("/v1/problems").json()["problems"]
    assert [problem["name"] for problem in listed] == ["zoo", "abc"]


def test_a_problem_has_a_policy_as_soon_as_it_is_defined(site: Site) -> None:
    site.define()
    assert site.get("/v1/problems/clinic/policy").json()["version"] == 1
    site.host.step()
    assert len(site.get("/v1/problems/clinic/versions").json()["versions"]) == 1


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"horizon": 0}, "horizon", "horizon: Input should be greater than or equal to 1, got 0."),
        ({"horizon": 10**9}, "horizon", "must be at most 2000000, got"),
        ({"states": []}, "states", "states must be a list of at least one name, got []."),
        ({"name": "a/b"}, "name", "digits, '.', '_' and '-', and begin with a letter or digit"),
        ({"base": {"name": "ucrl2", "options": {"delta": 7}}}, None, "delta"),
        (
            {"base": {"name": "psrl", "options": {"resample": "banana"}}},
            None,
            "resample must be 'update' online",
        ),
        ({"updater": {"name": "multi"}}, None, "updater must be one of"),
        ({"horizon": "2"}, "horizon", "horizon: Input should be a valid integer, got '2'."),
        ({"horizon": True}, "horizon", "valid integer"),
        ({"episodes": 1000.0}, "episodes", "valid integer"),
        ({"seed": False}, "seed", "valid integer"),
        ({"rewards": [[0, 0.5], ["0.5", 1]]}, "rewards", "must be a rectangular table of numbers"),
        (
            {"surprise": 1},
            "surprise",
            "surprise is not a field of this request; its fields are name, states, actions,",
        ),
        (
            {"base": "ucrl2"},
            "base",
            'base must be an object such as {"name": "ucrl2", "options": {"scale": 0.1}}, got '
            "'ucrl2'.",
        ),
        ({"base": {"name": "ucrl2", "scale": 0.1}}, "base", "got {'name': 'ucrl2', 'scale': 0.1}."),
        ({"states": ["a", 5]}, "states[1]", "states[1] must be a text, got 5."),
        ({"states": {"stage": [1.5]}}, None, "values of stage must be text or integers, got 1.5."),
        ({"allowed": [{}, {"ill": [3]}, {}]}, "allowed[1]['ill'][0]", "got 3."),
        ({"list[int]": 1}, "list[int]", "is not a field of this request"),
        ({"allowed": {"ill": ["run"]}}, "allowed['ill'][0]", "must be one of wait, treat"),
        ({"terminal": ["dead"]}, "terminal[0]", "must be one of ill, well"),
        ({"base": {"name": "nothing"}}, "base", "base must be one of"),
        ({"stages": "some"}, "stages", "stages must be"),
    ],
)
def test_invalid_definitions_are_rejected(
    site: Site, change: dict[str, Any], field: str | None, message: str
) -> None:
    answer = site.post("/v1/problems", CLINIC | change)
    assert answer.status_code == 422, answer.text
    said = answer.json()
    assert message in said["message"]
    if field is not None:
        assert said["field"] == field
    assert site.ledger.last == 0


def test_all_missing_fields_of_a_definition_are_named_at_once(site: Site) -> None:
    said = site.post("/v1/problems", {"name": "clinic", "state": ["ill"]}).json()
    assert said["field"] == "states"
    assert said["message"].startswith(
        "states is missing. actions is missing. horizon is missing. base is missing. "
        "episodes is missing. state is not a field of this request; its fields are name, states,"
    )


def test_a_conflict_of_definitions_names_the_fields_that_differ(site: Site) -> None:
    site.define()
    other = CLINIC | {"horizon": 4, "base": {"name": "ucrl2"}}
    assert site.post("/v1/problems", other).json()["message"] == (
        "Problem 'clinic' is already defined with different horizon, base; a definition cannot be "
        "changed, so choose another name."
    )


def test_a_definition_that_is_not_json_is_rejected(site: Site) -> None:
    headers = {"content-type": "application/json"}
    answer = site.post("/v1/problems", content=b"{", headers=headers)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith("The body is not JSON")
    answer = site.post("/v1/problems", content=b"{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 422


def test_an_unknown_problem_gives_404(site: Site) -> None:
    answer = site.get("/v1/problems/nowhere")
    assert answer.status_code == 404
    assert answer.json()["message"] == "Problem 'nowhere' not found."


def test_a_problem_that_another_process_defined_is_known(site: Site, ledger: Ledger) -> None:
    assert site.get("/v1/problems/clinic").status_code == 404
    with Ledger.open(str(ledger.store.engine.url)) as other, Site(other) as neighbour:
        neighbour.define()
    assert site.get("/v1/problems/clinic").status_code == 200
