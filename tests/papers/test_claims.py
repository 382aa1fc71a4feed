"""Every claim, on made-up runs that confirm it, that refute it, and that leave it open."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from belated.papers.howson2021.claims import all_claims
from belated.papers.howson2021.claims.learners import CONVERGED, optimal_chain_value
from belated.papers.howson2021.claims.verdict import CLAIMS
from belated.papers.howson2021.evidence import Evidence
from belated.papers.howson2021.grid import LEARNERS
from belated.papers.statistics import mean_interval
from made_up_runs import COST, LEVEL, SLOPE, MadeUp, columns

GOOD = MadeUp()

REFUTING = {
    "active-best": replace(GOOD, level={**LEVEL, "lazy:10": 950.0}),
    "lazy-100-near-active": replace(GOOD, level={**LEVEL, "lazy:100": 1100.0}),
    "lazy-comparable": replace(GOOD, level={**LEVEL, "lazy:10": 1200.0}),
    "closer-to-active": replace(GOOD, level={**LEVEL, "lazy:100": 3000.0}),
    "beat-explicit": replace(GOOD, explicit_level=0.0, explicit=dict.fromkeys(COST, 0.0)),
    "varied-delays-favour-ours": replace(
        GOOD, explicit={"constant": 9.0, "poisson": 9.0, "uniform": 5.0, "geometric": 5.0}
    ),
    "converged-first": replace(GOOD, flat=1.0),
    "linear-in-delay": replace(GOOD, bump=400.0),
    "varied-delays-cost-less": replace(
        GOOD, cost={"constant": 0.3, "poisson": 0.3, "uniform": 1.0, "geometric": 1.0}
    ),
    "gradient-falls-with-alpha": replace(
        GOOD, slope={**SLOPE, "lazy:1": 1.0, "lazy:10": 1.05, "lazy:100": 1.1}
    ),
    "lazy-1-most-robust": replace(GOOD, slope={**SLOPE, "lazy:1": 5.0}),
    "good-under-every-law": replace(GOOD, cost={**COST, "constant": 20.0}),
    "penalty-independent-of-episodes": replace(GOOD, delayed_flat=1.0),
    "sub-linear": replace(GOOD, flat=1.0, power=2.0),
    "information-before-update": replace(GOOD, received=0.3),
    "inefficient-exploration": replace(GOOD, learnt=0.6),
    "missing-within-psi": replace(GOOD, missing=1.5),
    "epochs-within-bound": replace(GOOD, epochs=10**6),
    "epochs-within-printed-bound": replace(GOOD, epochs=10**6),
}
"""Evidence that refutes each claim, in the order of the claims."""

NOISY = replace(GOOD, own_noise=300.0)
NEAR_BOUND = replace(GOOD, epochs=133, fewer_epochs=100)  # the bound of chain-5 with alpha = 1

LEAVING_OPEN = {
    **dict.fromkeys(REFUTING, NOISY),
    "beat-explicit": replace(GOOD, own_noise=3000.0),
    "varied-delays-favour-ours": replace(GOOD, own_noise=3000.0),
    "converged-first": replace(
        GOOD,
        flat=1.0,
        own_noise=20.0,
        regret=lambda states, *_: CONVERGED * optimal_chain_value(states) * GOOD.episodes,
    ),
    "lazy-1-most-robust": replace(GOOD, slope={**SLOPE, "lazy:1": 1.5}, own_noise=100.0),
    "good-under-every-law": replace(GOOD, own_noise=800.0),
    "sub-linear": replace(GOOD, flat=1.0, power_noise=0.2),
    "information-before-update": replace(GOOD, received=0.5, measured_noise=0.1),
    "inefficient-exploration": replace(GOOD, learnt=1.0, measured_noise=0.5),
    "missing-within-psi": replace(GOOD, missing=0.75, missing_spread=0.24),
    "epochs-within-bound": NEAR_BOUND,
    "epochs-within-printed-bound": replace(NEAR_BOUND, epochs=122),
}
"""Evidence that neither confirms nor refutes each claim."""

PAGE = Path(__file__).parents[2] / "docs" / "reproduction.md"

CLAIM = dict(zip(REFUTING, CLAIMS, strict=True))
MEASURED = {"information-before-update", "inefficient-exploration"}


def judge(name, made_up):
    return CLAIM[name](Evidence(*made_up.make(), measurements=made_up.measurements()))


def verdicts(made_up):
    found = all_claims(*made_up.make(), made_up.measurements())
    return {verdict.name: verdict for verdict in found}


@pytest.fixture(scope="module")
def good():
    return verdicts(GOOD)


def test_there_is_evidence_of_each_kind_for_every_claim(good):
    assert list(good) == list(REFUTING) == list(LEAVING_OPEN)


def test_the_page_on_reproduction_has_an_outcome_of_every_claim_and_states_their_number(good):
    text = PAGE.read_text(encoding="utf-8")
    rows = text.partition("| Claim | Outcome |")[2].partition("<!-- end")[0].splitlines()[2:]
    published = dict(row.strip("| ").split(" | ") for row in rows)
    assert list(published) == [found.claim for found in good.values()]
    assert all(one.startswith((YES, NO, OPEN)) for one in published.values())
    assert f"[{len(CLAIMS)} claims](#claims)" in text


@pytest.mark.parametrize("name", REFUTING)
def test_evidence_for_a_claim_confirms_it(good, name):
    found = good[name]
    assert found.verdict == "confirmed", found.outcome
    assert {one.verdict for one in found.details} <= {"confirmed", "says nothing"}
    assert found.numbers


@pytest.mark.parametrize("name", REFUTING)
def test_evidence_against_a_claim_refutes_it(name):
    found = judge(name, REFUTING[name])
    assert found.name == name
    assert found.verdict == "refuted", found.outcome
    assert found.outcome.startswith("refuted")


@pytest.mark.parametrize("name", LEAVING_OPEN)
def test_weak_evidence_leaves_a_claim_unresolved(name):
    found = judge(name, LEAVING_OPEN[name])
    assert found.verdict == "not resolved", found.outcome
    assert found.count("not resolved") > 0
    assert found.count("refuted") < len(found.details)


@pytest.mark.parametrize("name", sorted(set(REFUTING) - MEASURED))
def test_a_claim_refuted_on_one_chain_is_confirmed_in_the_settings_of_the_other(name):
    """It is refuted, or, if it claims that something happens somewhere, confirmed."""
    bad = REFUTING[name]
    mixed = columns([*replace(GOOD, chains=(5,)).rows(), *replace(bad, chains=(10,)).rows()])
    _, curves = GOOD.make()
    _, bad_curves = bad.make()
    found = CLAIM[name](Evidence(mixed, lambda id: (curves if "chain-5" in id else bad_curves)(id)))
    on_5 = {one.verdict for one in found.details if "S = 5" in one.setting}
    on_10 = {one.verdict for one in found.details if "S = 10" in one.setting}
    assert on_5 - {"says nothing"} == {"confirmed"}
    assert "refuted" in on_10
    assert found.verdict == ("confirmed" if name == "converged-first" else "refuted")


@pytest.mark.parametrize("name", sorted(set(REFUTING) - {"missing-within-psi"}))
def test_a_claim_is_not_tested_without_the_runs_it_speaks_of(name):
    found = CLAIM[name](Evidence(*replace(GOOD, learners=("explicit",)).make()))
    assert found.verdict == found.outcome == "not tested"
    assert not found.numbers
    assert not found.details


@pytest.mark.parametrize("seeds", [1, 4])
def test_few_seeds_are_not_enough_for_an_interval(seeds):
    found = verdicts(replace(GOOD, seeds=seeds))
    for name in ("active-best", "beat-explicit", "linear-in-delay", "lazy-1-most-robust"):
        assert found[name].verdict == "not tested"
    for name in ("epochs-within-bound", "missing-within-psi"):
        assert found[name].verdict == "not resolved"


def test_explicit_exploration_on_another_chain_is_no_evidence():
    """On chain-S-right it is worse than all others, on chain-S it is not."""
    better = REFUTING["beat-explicit"]
    elsewhere = [
        {**row, "world": f"{row['world']}-right", "setting": row["setting"].replace("/", "-right/")}
        for row in GOOD.rows()
        if row["updater"] == "explicit"
    ]
    runs, curves = columns([*better.rows(), *elsewhere]), better.make()[1]
    assert CLAIM["beat-explicit"](Evidence(runs, curves)).verdict == "refuted"
    alone = replace(GOOD, learners=("active", "lazy:100", "lazy:10", "lazy:1"))
    runs = columns([*alone.rows(), *elsewhere])
    assert CLAIM["beat-explicit"](Evidence(runs, curves)).verdict == "not tested"


def test_a_bound_above_the_number_of_episodes_says_nothing(good):
    """With pooled counts and alpha = 100, the bound of chain-10 is above K, that of chain-5 not."""
    found = good["epochs-within-bound"]
    trivial = [one.setting for one in found.details if one.verdict == "says nothing"]
    assert len(trivial) == 21
    assert all("S = 10" in one and "α = 100" in one for one in trivial)
    assert found.outcome == "confirmed in all 105 settings; says nothing in 21 of 126"


def test_pooled_counts_are_held_to_the_bound_of_pairs():
    """Between the bound of 10 pairs and that of 50 triples."""
    runs, curves = replace(GOOD, epochs=300, chains=(5,), learners=("lazy:1",)).make()
    claim = CLAIM["epochs-within-bound"]
    assert claim(Evidence(runs, curves)).verdict == "refuted"
    runs["stages"][:] = "each"
    assert claim(Evidence(runs, curves)).verdict == "confirmed"


def test_false_discoveries_are_controlled_over_settings():
    """If all learners are equal, some of 84 intervals exclude 0, but no setting is resolved."""
    equal = replace(
        GOOD,
        chains=(5, 10, 20, 30),
        level=dict.fromkeys(LEVEL, 1000.0),
        slope=dict.fromkeys(SLOPE, 1.0),
        own_noise=10.0,
        learners=tuple(LEVEL),
    )
    runs, curves = equal.make()
    evidence = Evidence(runs, curves)
    tables = [table for _, table in evidence.tables(("active", "lazy:10"))]
    gaps = [mean_interval(table[:, 1] - table[:, 0]) for table in tables]
    assert any(gap.is_positive or gap.is_negative for gap in gaps)
    found = CLAIM["active-best"](Evidence(*replace(equal, learners=tuple(LEARNERS)).make()))
    assert found.count("refuted") == 0
    assert found.verdict == "not resolved"


def test_verdicts_are_the_same_every_time_and_in_any_order_of_runs(good):
    runs, curves = GOOD.make()
    order = np.random.default_rng(7).permutation(runs["seed"].size)
    shuffled = {name: column[order] for name, column in runs.items()}
    found = all_claims(shuffled, curves, GOOD.measurements())
    assert {verdict.name: verdict for verdict in found} == good


def test_differences_are_paired_by_seed():
    """Active is ahead of lazy(100) by 10, and seeds differ by hundreds."""
    noisy = replace(GOOD, noise=300.0)
    paired = CLAIM["active-best"](Evidence(*noisy.make()))
    assert paired.verdict == "confirmed"
    assert paired.numbers["settings in which active beats Lazy, α = 100"] == 42
    runs, curves = noisy.make()
    rng = np.random.default_rng(8)
    for setting in np.unique(runs["setting"].astype(str)):
        mine = np.flatnonzero(runs["setting"] == setting)
        runs["total_regret"][mine] = runs["total_regret"][rng.permutation(mine)]
    beats = CLAIM["active-best"](Evidence(runs, curves)).numbers
    assert beats["settings in which active beats Lazy, α = 100"] < 10


def test_runs_of_two_bases_or_two_lengths_are_refused():
    other = [{**row, "base": "literal"} for row in GOOD.rows()]
    with pytest.raises(ValueError, match=r"^All runs must have the same base, got figures"):
        Evidence(columns([*GOOD.rows(), *other]), GOOD.make()[1])
    longer = replace(GOOD, chains=(5,), episodes=20_000).rows()
    with pytest.raises(ValueError, match=r"^All runs on chain-5 must have the same episodes"):
        Evidence(columns([*GOOD.rows(), *longer]), GOOD.make()[1])


YES, NO, OPEN, TRIVIAL = "confirmed", "refuted", "not resolved", "says nothing"
