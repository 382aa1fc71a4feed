"""ICU-Sepsis from its data file, against the dense tables in that file."""

import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import belated as bl
from belated.mdp import icu_sepsis as module
from belated.mdp.icu_sepsis import DEATH, TERMINAL, icu_sepsis, icu_sepsis_clinicians

ASSETS = Path(next(iter(find_spec("icu_sepsis").submodule_search_locations)), "envs/assets")


@cache
def tables():
    """Return transitions, mean rewards, start, policy and admissible actions of the data files."""
    with np.load(ASSETS / "dynamics.npz") as data:
        p, start = data["tx_mat"], data["d_0"]
        rewards = np.einsum("say,say->sa", p, data["r_mat"])
        experts = data["expert_policy"]
    lines = (ASSETS / "admissible_actions.txt").read_text().splitlines()[1:]
    allowed = np.array([[str(a) in line.split() for a in range(25)] for line in lines])
    return p, rewards, start, experts, allowed


def dense_value(horizon, choose):
    """Return V_1 by dense dynamic programming; `choose` computes V from Q."""
    p, rewards, start, _, _ = tables()
    v = np.zeros(716)
    for _ in range(horizon):
        v = choose(rewards + p @ v)
        v[list(TERMINAL)] = 0
    return start @ v


@cache
def world(horizon, inadmissible="mean"):
    return icu_sepsis(horizon=horizon, inadmissible=inadmissible)


@pytest.mark.parametrize(("horizon", "value"), [(10, 0.636), (20, 0.792)])
def test_v_star_is_what_a_dense_dynamic_programme_finds(horizon, value):
    found = bl.optimal_value(world(horizon))
    assert found == pytest.approx(dense_value(horizon, lambda q: q.max(axis=1)), rel=1e-12)
    assert round(found, 3) == value


def test_the_clinicians_value_is_what_a_dense_dynamic_programme_finds():
    experts = tables()[3]
    expected = dense_value(20, lambda q: (experts * q).sum(axis=1))
    assert bl.policy_value(world(20), icu_sepsis_clinicians(horizon=20)) == pytest.approx(expected)
    assert round(expected, 3) == 0.692


def test_a_patient_starts_in_any_of_712_states_and_stays_where_it_ends():
    assert (world(20).start > 0).sum() == 712
    assert world(20).shape.terminal == TERMINAL
    for s in TERMINAL:
        for a in range(25):
            np.testing.assert_array_equal(world(20).successors(0, s, a)[0], [s])
            assert world(20).rewards[0, s, a] == 0


def test_inadmissible_actions_do_what_the_others_do_on_average():
    allowed = tables()[4]
    for s in (0, 100, 712):
        rows = np.zeros((25, 716))
        for a in range(25):
            succ, prob = world(20).successors(0, s, a)
            rows[a, succ] = prob
        mean = rows[allowed[s]].mean(axis=0)
        np.testing.assert_allclose(rows[~allowed[s]] - mean, 0, atol=1e-12)


def test_with_terminate_inadmissible_actions_lead_to_death_and_v_star_stays():
    strict, allowed = world(20, "terminate"), tables()[4]
    for s in (0, 100, 712):
        for a in np.flatnonzero(~allowed[s]):
            np.testing.assert_array_equal(strict.successors(0, s, a)[0], [DEATH])
        assert (strict.rewards[0, s, ~allowed[s]] == 0).all()
    assert strict.succ.size < world(20).succ.size / 10
    assert bl.optimal_value(strict) == pytest.approx(bl.optimal_value(world(20)), rel=1e-12)


def test_the_authors_package_is_read_and_not_imported():
    code = (
        "import sys; from belated.mdp.icu_sepsis import icu_sepsis; icu_sepsis(horizon=1); "
        "print({'icu_sepsis', 'gymnasium', 'gym', 'pandas', 'sklearn'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"inadmissible": "raise_exception"},
            r"^inadmissible must be 'mean' or 'terminate', got 'raise_exception'\.$",
        ),
        ({"treatments": 26}, r"^treatments must lie in 1 \.\. 25, got 26\.$"),
    ],
)
def test_invalid_options_raise_an_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        icu_sepsis(**arguments)


def test_the_error_without_the_package_gives_the_install_command(monkeypatch):
    def nowhere(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(module, "distribution", nowhere)
    message = r"^icu_sepsis needs icu-sepsis: pip install 'belated\[icu\]'\.$"
    for make in (icu_sepsis, icu_sepsis_clinicians):
        with pytest.raises(ImportError, match=message):
            make()


def test_fewer_treatments_are_those_that_clinicians_take_most_often():
    everything, five = icu_sepsis(), icu_sepsis(treatments=5)
    used = icu_sepsis_clinicians(horizon=1)[0]
    most = np.argsort(-used[:713].mean(axis=0), kind="stable")[:5]
    assert five.shape.actions == 5
    assert np.array_equal(
        five.rewards.reshape(716, 5), everything.rewards.reshape(716, 25)[:, most]
    )
