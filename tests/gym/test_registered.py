"""Every registered environment passes the checks of Gymnasium."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import belated as bl
from belated.gym.environment import ENVIRONMENTS
from belated.mdp.classics import deep_sea, garnet, riverswim
from belated.mdp.gridworld import gridworld
from belated.mdp.gymnasium import from_gymnasium

ASKED = {
    "belated/Chain-v0": {"states": 5, "reward_on": "state_right"},
    "belated/RiverSwim-v0": {"states": 4, "horizon": 7},
    "belated/DeepSea-v0": {"size": 4, "noisy": True},
    "belated/Garnet-v0": {"states": 6, "actions": 2, "horizon": 3, "branching": 2, "seed": 9},
    "belated/GridWorld-v0": {"rows": 2, "columns": 3, "horizon": 4, "slip": 0.3},
}
EXPECTED = {
    "belated/Chain-v0": bl.chain(5, reward_on="state_right"),
    "belated/RiverSwim-v0": riverswim(4, horizon=7),
    "belated/DeepSea-v0": deep_sea(4, noisy=True),
    "belated/Garnet-v0": garnet(6, 2, horizon=3, branching=2, seed=9),
    "belated/GridWorld-v0": gridworld(2, 3, horizon=4, slip=0.3),
}


@pytest.mark.parametrize("id", ENVIRONMENTS)
@pytest.mark.parametrize("asked", [False, True], ids=["plain", "asked"])
def test_gymnasiums_checks_pass_without_a_warning(id, asked):
    check_env(gymnasium.make(id, **(ASKED[id] if asked else {})).unwrapped)


@pytest.mark.parametrize("id", ENVIRONMENTS)
def test_arguments_reach_the_world_and_its_table_gives_it_back(id):
    expected = EXPECTED[id]
    back = from_gymnasium(gymnasium.make(id, **ASKED[id]), horizon=expected.shape.horizon)
    assert back.shape == expected.shape
    for name in ("ptr", "succ", "prob", "rewards", "start"):
        np.testing.assert_array_equal(getattr(back, name), getattr(expected, name))


def test_naming_the_module_registers_the_worlds():
    code = (
        "import gymnasium; "
        "print(gymnasium.make('belated.gym:belated/Chain-v0', states=4).observation_space)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "Discrete(4)\n"


def test_the_error_without_gymnasium_gives_the_install_command(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("belated.gym")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    message = r"^belated\.gym needs gymnasium: pip install 'belated\[gym\]'\.$"
    with pytest.raises(ImportError, match=message):
        import belated.gym  # noqa: F401
