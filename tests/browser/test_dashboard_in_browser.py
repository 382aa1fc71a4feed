"""The dashboard of a running service in headless Chromium; see `make test-browser`."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import httpx
import pytest
import uvicorn

import belated as bl
from belated.cli.serve import open_listener
from belated.ledger import Ledger
from belated.online.host import Host
from belated.online.status import Failure
from belated.service import Settings, create_app
from belated.service.tokens import create_token
from browser.chromium import CHROMIUM, Tab, chromium
from service.site import CLINIC, SHOP, wait_until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not os.environ.get("BELATED_BROWSER") or CHROMIUM is None,
        reason="needs Chromium and BELATED_BROWSER=1",
    ),
]

NASTY = "<img src=x onerror=\"document.title='caught'\">"
ODD = {"states": [NASTY, "constructor", "__proto__"], "actions": ["</script>", "&amp;", "toString"]}

EXPLORING = {
    "base": {"name": "epsilon-greedy", "options": {"epsilon": 0.1}},
    "updater": {"name": "explicit", "options": {"threshold": 5}},
}


@contextmanager
def serving(ledger: Ledger, port: int = 0) -> Iterator[str]:
    """Run a service on a ledger; yield its address."""
    settings = Settings(open=True, token_ttl_s=0.0)
    app = create_app(ledger, Host(ledger, interval=0.05), settings)
    config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    with open_listener("127.0.0.1", port) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def play(client: bl.Client, problem: str, *, back: int, missing: int) -> None:
    """Open episodes and send feedback of some, in several rounds so that versions differ."""
    spec = client.problem(problem)
    states, steps = spec["states"], range(spec["horizon"])
    for part in (back // 4, back // 4, back // 4, back - back // 4 * 3):
        episodes = [client.open_episode(problem) for _ in range(part)]
        lines = []
        for i, episode in enumerate(episodes):
            path = [states[(i + step) % len(states)] for step in (*steps, spec["horizon"])]
            actions = [episode.act(step, path[step]) for step in steps]
            rewards = [(i + spec["actions"].index(action)) % 3 / 2 for action in actions]
            lines.append(
                {"episode": episode.id, "states": path, "actions": actions, "rewards": rewards}
            )
        assert {line.status for line in client.bulk(problem, lines)} == {201}
        wait_until(lambda: client.status(problem)["missing"] == 0)
    for _ in range(missing):
        client.open_episode(problem)
    wait_until(lambda: client.status(problem)["missing"] == missing)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with Ledger.open(f"sqlite:///{tmp_path_factory.mktemp('open') / 'ledger.db'}") as opened:
        yield opened


@pytest.fixture(scope="module")
def url(ledger: Ledger) -> Iterator[str]:
    """Service without tokens: a clinic with a history, a problem with odd names, a large one."""
    with serving(ledger) as address:
        client = bl.Client(address)
        client.define(CLINIC)
        play(client, "clinic", back=240, missing=9)
        client.define({**CLINIC, **ODD, "name": "odd"})
        play(client, "odd", back=30, missing=1)
        large = {"states": [f"bed {i}" for i in range(700)], "horizon": 20}
        client.define({**CLINIC, **large, "name": "large"})
        yield address


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """Service with a token for reading and one for everything."""
    folder = tmp_path_factory.mktemp("guarded")
    with Ledger.open(f"sqlite:///{folder / 'ledger.db'}") as ledger, serving(ledger) as address:
        bl.Client(address).define(CLINIC)
        tokens = {}
        for scope in ("read", "admin"):
            made = create_token()
            ledger.tokens.add(made.id, made.hash, scopes=[scope], problem=None)
            tokens[scope] = made.text
        yield address, tokens


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def tab(browser: Tab) -> Tab:
    browser.resize(1280, 900)
    browser.console.clear()
    return browser


def shown(tab: Tab, address: str, problem: str = "clinic") -> None:
    """Open the dashboard of a problem and wait until it is complete."""
    tab.goto(f"{address}/#{problem}")
    tab.wait_for(f"document.querySelector('#title').textContent === '{problem}'")
    tab.wait_for("document.querySelector('.map-cell').clientWidth > 0")
    tab.wait_for("document.querySelectorAll('#versions-list tr').length > 0")


def cells(tab: Tab) -> list[str]:
    script = "[...document.querySelectorAll('.map-cell')].map(cell => cell.ariaLabel)"
    return list(tab.evaluate(script))


def confirm(tab: Tab, selector: str) -> None:
    """Press a button and confirm."""
    tab.click(selector)
    tab.wait_for("document.querySelector('#confirm').open")
    tab.click("#confirm-yes")


def number(value: float) -> str:
    return f"{value:,.0f}"


def test_the_panels_show_the_status(tab: Tab, url: str) -> None:
    shown(tab, url)
    client = bl.Client(url)
    status = client.status("clinic")
    assert status["missing"] == 9
    assert tab.text("#served") == number(status["serving"]["version"])
    for id, name in (("begun", "begun"), ("observed", "observed"), ("missing", "missing")):
        assert tab.text(f"#{id}") == number(status[name])
    for id in ("updates", "epochs"):
        assert tab.text(f"#{id}") == number(status[id])
    assert tab.text("#pending-words") == (
        f"9 missing; up to {int(status['psi'])} are expected with this mean delay."
    )
    bars = tab.evaluate("[...document.querySelectorAll('.age-count')].map(one => +one.textContent)")
    assert list(accumulate(bars)) == sorted(status["ages"]["counts"].values())
    assert bars[-1] == 0
    late = status["lateness"]["seconds"]
    assert tab.text("#lateness-words").startswith("Half of the feedback is back after ")
    assert tab.text("#late-out").endswith(" %")
    assert (tab.text("#late-never") == "–") is (late["never"] is None)
    assert tab.text("#state-text") == "Live"
    assert tab.console == []


def test_the_charts_are_drawn(tab: Tab, url: str) -> None:
    shown(tab, url)
    tab.wait_for("document.querySelector('#returns-chart .dot')")
    for chart in ("arrivals", "delays", "returns-chart"):
        texts = tab.evaluate(f"document.querySelectorAll('#{chart} text').length")
        assert texts > 2, chart
    versions = bl.Client(url).status("clinic")["serving"]["newest"]
    dots = tab.evaluate("document.querySelectorAll('#returns-chart .dot').length")
    assert 1 < dots <= versions
    assert "served" in tab.evaluate("document.querySelector('#returns-chart').textContent")
    tab.evaluate("document.querySelector('#arrivals svg').focus()")
    tab.press("ArrowLeft")
    tab.wait_for("/opened/.test(document.querySelector('#arrivals .tip').innerText)")


def test_times_are_shown_by_event_and_by_arrival(tab: Tab, url: str) -> None:
    client = bl.Client(url)
    client.define({**CLINIC, "name": "imported"})
    client.open_episode("imported", event_time="2020-01-31T12:00:00Z")
    shown(tab, url, "imported")
    tab.wait_for("document.querySelector('#times-note').textContent.includes('Jan 31, 2020')")
    assert tab.text("#ages-note").startswith("oldest ")
    assert "; first recorded " in tab.text("#ages-note")
    tab.evaluate(
        "(() => { const axis = document.querySelector('#times-axis'); axis.value = 'arrivals';"
        " axis.dispatchEvent(new Event('change')); })()"
    )
    assert "2020" not in tab.text("#times-note")
    tab.evaluate(
        "(() => { const axis = document.querySelector('#times-axis'); axis.value = 'times';"
        " axis.dispatchEvent(new Event('change')); })()"
    )
    assert tab.console == []


def test_terminal_states_and_forbidden_actions_are_marked(tab: Tab, url: str) -> None:
    bl.Client(url).define(SHOP)
    shown(tab, url, "shop")
    assert "looks, step 0: nothing; not allowed: coupon" in cells(tab)
    assert "sold, step 4: terminal, the episode has ended" in cells(tab)
    for kind, count in (("terminal", 10), ("restricted", 5)):
        found = tab.evaluate(f"document.querySelectorAll('.map-cell.{kind}').length")
        assert found == count
        assert tab.evaluate(f"document.querySelectorAll('.legend .key.{kind}').length") == 1
    assert "4 states, 2 terminal" in tab.text("#subtitle")
    assert "rewards in [0, 20]" in tab.text("#subtitle")
    assert tab.console == []


def test_the_map_shows_the_served_version_or_another(tab: Tab, url: str) -> None:
    shown(tab, url)
    plan = bl.Client(url).policy("clinic").plan
    assert cells(tab) == [
        f"{state}, step {step}: {plan[step][state]}"
        for state in ("ill", "well")
        for step in (0, 1, 2)
    ]
    tab.click("[data-key=show-1]")
    tab.wait_for("document.querySelector('#policy-title').textContent === 'Policy, version 1'")
    assert tab.text("#policy-badge") == "not served"
    tab.click("#policy-back")
    tab.wait_for("document.querySelector('#policy-badge').textContent === 'served'")
    tab.evaluate("document.querySelector('#map').focus()")
    for key in ("ArrowDown", "ArrowDown", "End"):
        tab.press(key)
    tab.wait_for("document.querySelector('#readout').textContent.startsWith('well, step 2: ')")


def test_the_map_marks_where_actions_are_drawn(tab: Tab, url: str) -> None:
    bl.Client(url).define({**CLINIC, **EXPLORING, "name": "trial"})
    plan = bl.Client(url).policy("trial")
    assert plan.explore[0]["ill"] == ["wait", "treat"]
    assert plan.epsilon > 0
    shown(tab, url, "trial")
    assert cells(tab)[0] == "ill, step 0: wait or treat, drawn with equal probabilities"
    drawn = tab.evaluate("document.querySelectorAll('.map-cell.drawn').length")
    assert drawn == sum(len(actions) > 1 for step in plan.explore for actions in step.values())
    assert "drawn at random" in tab.text("#legend")
    assert tab.text("#policy-note").startswith(f"With probability {plan.epsilon:.3g} ")


def test_two_versions_are_compared(tab: Tab, url: str) -> None:
    shown(tab, url)
    answer = httpx.get(f"{url}/v1/problems/clinic/policy/diff", params={"from": 1, "to": 2})
    changes = [
        [str(one["step"]), one["state"], *one["before"], "→", *one["after"]]
        for one in answer.json()["changes"]
    ]
    tab.type("#diff-from", "1")
    tab.type("#diff-to", "2")
    tab.click("#diff-form button")
    tab.wait_for("document.querySelector('#diff-words').textContent.includes('version 1 to 2.')")
    assert tab.text("#diff-words").startswith(f"{len(changes)} of 6 decisions changed")
    rows = tab.evaluate(
        "[...document.querySelectorAll('#diff-list tr')]"
        ".map(row => [...row.cells].map(cell => cell.innerText))"
    )
    assert rows == changes
    tab.type("#diff-to", "999")
    tab.click("#diff-form button")  # the browser validates the range
    assert tab.evaluate("document.querySelector('#diff-to').validity.rangeOverflow")


def test_the_controls_freeze_roll_back_and_turn_shadow_mode_on(tab: Tab, url: str) -> None:
    shown(tab, url)
    client = bl.Client(url)
    confirm(tab, "#freeze")
    tab.wait_for("!document.querySelector('#frozen').hidden")
    assert client.status("clinic")["serving"]["frozen"]
    confirm(tab, "[data-key=serve-1]")
    tab.wait_for("document.querySelector('#served').textContent === '1'")
    assert client.status("clinic")["serving"]["version"] == 1
    tab.wait_for("document.querySelector('#policy-title').textContent === 'Policy, version 1'")
    assert tab.text("#frozen") == "Frozen at version 1"
    confirm(tab, "#freeze")
    tab.wait_for("document.querySelector('#frozen').hidden")
    confirm(tab, "#shadow-switch")
    tab.wait_for("!document.querySelector('#shadow').hidden")
    confirm(tab, "#shadow-switch")
    tab.wait_for("document.querySelector('#shadow').hidden")
    assert client.status("clinic")["serving"]["version"] > 1
    assert tab.console == []


def test_a_failed_problem_shows_the_reason_and_no_numbers(
    tab: Tab, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = Failure("clinic", "event 7 cannot be read", 7)
    monkeypatch.setattr(Host, "status", lambda self, problem: failure)
    shown(tab, url)
    assert "Learning has stopped: event 7 cannot be read." in tab.text("#failure")
    assert {tab.text(f"#{id}") for id in ("begun", "missing", "updates", "alpha")} == {"–"}
    assert tab.text("#pending-words") == "The number of missing episodes is unknown."
    assert tab.evaluate("document.querySelector('#times').hidden")
    monkeypatch.undo()
    tab.wait_for("document.querySelector('#failure').hidden")
    assert tab.text("#missing") == "9"
    assert tab.console == []


def test_names_are_never_parsed_as_markup(tab: Tab, url: str) -> None:
    shown(tab, url, "odd")
    plan = bl.Client(url).policy("odd").plan
    expected = [
        f"{state}, step {step}: {plan[step][state]}"
        for state in ODD["states"]
        for step in (0, 1, 2)
    ]
    assert cells(tab) == expected
    heads = tab.evaluate("[...document.querySelectorAll('.map-state')].map(one => one.textContent)")
    assert heads == ODD["states"]
    tab.wait_for("document.querySelectorAll('#diff-list tr').length > 0")
    assert NASTY in tab.text("#diff-list")
    assert tab.evaluate("document.images.length") == 0
    assert tab.evaluate("document.title") == "odd · belated"
    assert tab.console == []


@pytest.mark.parametrize("problem", ["clinic", "odd", "large"])
@pytest.mark.parametrize("width", [360, 800])
def test_nothing_overflows_on_a_narrow_screen(tab: Tab, url: str, problem: str, width: int) -> None:
    tab.resize(width, 740, mobile=True)
    shown(tab, url, problem)
    wide = tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide == [width, width]
    beyond = tab.evaluate(
        "[...document.querySelectorAll('.card, .tiles > div, button, h1')]"
        ".filter(one => one.getClientRects().length && !one.closest('.scroll')"
        f" && one.getBoundingClientRect().right > {width}).map(one => one.outerHTML)"
    )
    assert beyond == []


def test_only_visible_states_have_elements(tab: Tab, url: str) -> None:
    shown(tab, url, "large")
    assert tab.evaluate("document.querySelector('#map').getAttribute('aria-rowcount')") == "701"
    assert tab.evaluate("document.querySelectorAll('.map-cell').length") < 1500
    assert tab.evaluate("document.querySelector('#overview-canvas').height") == 700
    tab.evaluate("document.querySelector('#map').scrollTo(0, 1e6)")
    tab.wait_for("document.querySelector('#cell-699-19')")
    assert tab.evaluate("document.querySelector('#cell-699-0').ariaLabel").startswith("bed 699")
    tab.type("#policy-find", "bed 12")
    tab.wait_for("document.querySelectorAll('.map-row').length === 11")
    assert tab.console == []


def test_a_refresh_keeps_scrolling_and_selection(tab: Tab, url: str) -> None:
    shown(tab, url, "large")
    tab.evaluate("document.querySelector('#map').scrollTo(0, 5000); scrollTo(0, 300)")
    tab.wait_for("document.querySelector('#cell-210-0')")
    before = bl.Client(url).status("large")["begun"]
    bl.Client(url).open_episode("large")
    tab.wait_for(f"document.querySelector('#begun').textContent === '{before + 1}'")
    assert tab.evaluate("[document.querySelector('#map').scrollTop, scrollY]") == [5000, 300]


def test_a_token_is_requested_and_kept_for_the_tab(
    tab: Tab, guarded: tuple[str, dict[str, str]]
) -> None:
    address, tokens = guarded
    tab.goto(address)
    tab.wait_for("!document.querySelector('#token-form').hidden")
    assert tab.evaluate("document.querySelector('#panels').hidden")
    tab.type("#token", "belated_no_good")
    tab.click("#token-form .main")
    tab.wait_for("/Invalid token/.test(document.querySelector('#token-why').textContent)")
    tab.type("#token", tokens["admin"])
    tab.click("#token-form .main")
    tab.wait_for("document.querySelector('#title').textContent === 'clinic'")
    assert tab.evaluate("document.querySelector('#token-form').hidden")
    assert tab.evaluate("Object.values(sessionStorage)") == [tokens["admin"]]
    assert tab.evaluate("localStorage.length") == 0
    assert tab.evaluate("document.querySelector('#token').value") == ""
    assert all("status of 401" in line for line in tab.console), tab.console


def test_a_malformed_token_is_reported_and_not_stored(
    tab: Tab, guarded: tuple[str, dict[str, str]]
) -> None:
    address, tokens = guarded
    tab.goto(address)
    tab.evaluate("sessionStorage.clear()")
    asked = "performance.getEntriesByType('resource').length"
    for text in ("größer", "belated no good", tokens["read"] + "\N{RIGHT DOUBLE QUOTATION MARK}"):
        tab.goto(address)
        tab.wait_for("/Paste a token/.test(document.querySelector('#token-why').textContent)")
        tab.type("#token", text)
        tab.click("#token-form .main")
        tab.wait_for("/Not a token/.test(document.querySelector('#token-why').textContent)")
        assert tab.evaluate("sessionStorage.length") == 0
    tab.wait_for(f"{asked} > {tab.evaluate(asked)} + 3")
    assert "Not a token" in tab.text("#token-why")  # also after the next refresh
    assert tab.text("#state-text") == "Token required"
    tab.type("#token", tokens["read"])
    tab.click("#token-form .main")
    tab.wait_for("document.querySelector('#title').textContent === 'clinic'")


def test_a_rejected_control_shows_the_message_of_the_service(
    tab: Tab, guarded: tuple[str, dict[str, str]]
) -> None:
    address, tokens = guarded
    tab.goto(address)
    tab.evaluate(f"sessionStorage.setItem('belated-token', {json.dumps(tokens['read'])})")
    shown(tab, address)
    confirm(tab, "#freeze")
    tab.wait_for("!document.querySelector('#confirm-error').hidden")
    assert tab.text("#confirm-error") == "This token lacks the scope 'admin'."
    assert tab.evaluate("document.querySelector('#frozen').hidden")


def test_an_unreachable_service_is_reported_until_it_is_back(tab: Tab, tmp_path: Path) -> None:
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        with serving(ledger) as address:
            bl.Client(address).define(CLINIC)
            shown(tab, address)
        tab.wait_for("document.querySelector('#state-text').textContent === 'Unreachable'")
        assert "does not respond. Retrying." in tab.text("#note")
        assert tab.text("#title") == "clinic"
        with serving(ledger, int(address.rpartition(":")[2])):
            tab.wait_for("document.querySelector('#state-text').textContent === 'Live'")
            assert tab.evaluate("document.querySelector('#note').hidden")


def test_a_service_without_problems_explains_how_to_define_one(tab: Tab, tmp_path: Path) -> None:
    with (
        Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger,
        serving(ledger) as address,
    ):
        tab.goto(address)
        tab.wait_for("/POST .v1.problems/.test(document.querySelector('#note').textContent)")
        bl.Client(address).define(CLINIC)
        tab.wait_for("document.querySelector('#title').textContent === 'clinic'")
        assert tab.evaluate("document.querySelector('#note').hidden")
