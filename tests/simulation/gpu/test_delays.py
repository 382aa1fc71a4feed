"""Tables of delays give the delays that the laws draw."""

import numpy as np
import pytest
from scipy import stats

import belated as bl
from belated.delays.laws import Law
from belated.randomness import DELAY, uniform
from belated.simulation.gpu import delays
from belated.simulation.gpu.delays import has_table, make_table
from belated.simulation.gpu.engine import draw_all_delays, find_ranges, make_jobs
from belated.simulation.simulation import Simulation
from gpus import needs_gpu

pytestmark = needs_gpu


LAWS = [
    *("constant:0", "constant:7", "uniform:5.5", "poisson:40", "geometric:1", "geometric:300"),
    "never:0.3:geometric:20",
    bl.delays.empirical([0, 3, 3, 8, 900]),
    bl.delays.from_scipy(stats.nbinom(5, 0.1)),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_table_gives_the_delays_that_the_law_draws(law: str | Law) -> None:
    law = bl.delays.parse(law)
    episodes = 3000
    u = np.array([uniform(7, DELAY, k, 0) for k in range(1, episodes + 1)])
    table = make_table(law, u.max(), episodes)
    assert table is not None
    drawn = law.draw(seed=7, episodes=episodes)
    assert not table.is_doubtful(u).any()
    assert (np.minimum(table(u), episodes) == np.minimum(drawn, episodes)).all()
    below = table.first[(u * table.first.size).astype(int)]
    assert (below <= table(u)).all()


def test_a_law_whose_delay_decreases_has_no_table() -> None:
    law = Law("decreasing", 5.0, lambda p: np.floor(10 * (1 - p)))
    assert has_table(law)
    assert make_table(law, 0.99, 100) is None


def test_a_law_that_draws_by_itself_has_no_table() -> None:
    class Own(Law):
        def draw(self, *, seed: int, episodes: int, first: int = 1, step: int = 0):
            return np.arange(episodes)

    assert not has_table(Own("own", 1.0, np.ceil))


def test_a_random_number_close_to_a_limit_is_in_doubt() -> None:
    table = make_table(bl.delays.poisson(40), 0.999, 3000)
    assert table is not None
    near = table.limits[30] + np.array([-2000, -500, 0, 500, 2000]) / 2**53
    assert table.is_doubtful(near).tolist() == [False, True, True, True, False]


def test_delays_in_doubt_are_drawn_by_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delays, "DOUBT", 3e-6)
    delays.doubt_kernel.cache_clear()
    setting = Simulation(
        world=bl.world("chain-3"),
        base="ucbvi-ch",
        updater="active",
        delay="geometric:30",
        episodes=200,
    )
    jobs = make_jobs(setting, range(30))
    tables = draw_all_delays(jobs)
    table = tables[jobs[0].prepared.law]
    for job in jobs:
        u = np.array([uniform(job.seed, DELAY, k, 0) for k in range(1, 201)])
        assert (job.drawn is not None) == table.is_doubtful(u).any()
    assert len({job.drawn is None for job in jobs}) == 2  # some are in doubt, and some are not
    delays.doubt_kernel.cache_clear()


def test_the_extreme_random_numbers_of_a_run_are_found() -> None:
    found = find_ranges([(3, 50), (3, 10), (2**63, 10)])
    for (seed, episodes), extremes in found.items():
        u = [uniform(np.uint64(seed), DELAY, k, 0) for k in range(1, episodes + 1)]
        assert extremes == (min(u), max(u))
