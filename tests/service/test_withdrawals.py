"""Withdrawals over HTTP."""

from ledger_samples import count_rows
from service.site import PLAYED, Site


def test_an_episode_is_withdrawn_once_and_stays_so(site: Site) -> None:
    site.define()
    id = site.open()
    site.post(f"/v1/episodes/{id}/feedback", PLAYED)
    first, again = site.delete(f"/v1/episodes/{id}"), site.delete(f"/v1/episodes/{id}")
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json() == {"result": "already recorded", "seq": first.json()["seq"]}
    [event] = site.ledger.events(kinds=["feedback"])
    assert event.text is None
    assert site.post(f"/v1/episodes/{id}/feedback", PLAYED).status_code == 410
    assert site.post(f"/v1/episodes/{id}/correction", PLAYED).status_code == 410
    malformed = site.post(f"/v1/episodes/{id}/feedback", [1])
    assert malformed.status_code == 410
    assert all(kept.text is None for kept in site.ledger.quarantine)
    assert site.delete(f"/v1/episodes/{'a' * 22}").status_code == 404


def test_a_subject_is_withdrawn_in_one_problem_or_in_all(site: Site) -> None:
    site.define()
    site.define("shop")
    ids = [site.open(name, subject="me") for name in ("clinic", "shop")]
    stays = site.open(subject="you")
    for id in (*ids, stays):
        site.post(f"/v1/episodes/{id}/feedback", PLAYED)
    assert site.delete("/v1/problems/shop/subjects/me").status_code == 200
    assert site.post(f"/v1/episodes/{ids[0]}/feedback", PLAYED).status_code == 200
    assert site.post(f"/v1/episodes/{ids[1]}/feedback", PLAYED).status_code == 410
    assert site.delete("/v1/subjects/me").status_code == 200
    assert site.post(f"/v1/episodes/{ids[0]}/feedback", PLAYED).status_code == 410
    assert site.post(f"/v1/episodes/{stays}/feedback", PLAYED).status_code == 200
    assert site.delete(f"/v1/subjects/{'x' * 300}").status_code == 422
    assert site.delete(f"/v1/problems/shop/subjects/{'x' * 300}").status_code == 422


def test_repeated_and_unknown_subjects_can_be_withdrawn(site: Site) -> None:
    site.define()
    site.open(subject="me")
    for path in ("/v1/problems/clinic/subjects/me", "/v1/subjects/me"):
        site.open(subject="me")
        first, again = site.delete(path), site.delete(path)
        assert first.status_code == again.status_code == 200
        assert first.json() == {"result": "recorded", "seq": site.ledger.last}
        assert again.json() == {"result": "nothing kept", "seq": None}
        assert site.delete(f"{path}-never").json() == again.json()
    assert count_rows(site.ledger).events["withdrawn"] == 2
    assert site.delete("/v1/problems/nowhere/subjects/me").status_code == 404


def test_the_learner_forgets_withdrawn_data(site: Site) -> None:
    site.define()
    first = site.get("/v1/problems/clinic/policy").json()
    ids = [site.open(subject="me") for _ in range(30)]
    for id in ids:
        site.post(f"/v1/episodes/{id}/feedback", PLAYED)
        site.host.step()
    assert site.get("/v1/problems/clinic/policy").json()["plan"] != first["plan"]
    site.delete("/v1/subjects/me")
    site.host.step()
    assert site.get("/v1/problems/clinic/policy").json()["plan"] == first["plan"]
    said = site.get("/v1/problems/clinic/status").json()
    assert said["observed"] == 0
