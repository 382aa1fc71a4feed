import math
from dataclasses import replace

import numpy as np
import pytest

import belated as bl
from belated.delays.queue import Queue
from belated.exact.values import optimal_table
from belated.mdp.play import play
from belated.papers.howson2021.grid import PRESETS
from belated.simulation import calibrate as module
from belated.simulation.calibrate import (
    DEFAULT_SEEDS,
    FIRST_SEED,
    Trial,
    calibrate,
    clopper_pearson,
    search_scales,
)
from belated.simulation.run import Run
from threshold_base import Threshold

SHORT = {"episodes": 20, "seeds": range(4)}


def a_run(seed, *, broken, regret=1.0):
    return Run(
        seed=seed,
        episodes=1,
        episode=np.array([1]),
        regret=np.array([regret]),
        updates=0,
        epochs=1,
        max_missing=0,
        optimism_broken=broken,
    )


@pytest.fixture
def needs_by_seed(monkeypatch):
    """Runs whose optimism breaks below a scale that depends on the seed."""

    def install(needs):
        def run_seeds(simulation, seeds, **options):
            scale = simulation.base.scale
            return [a_run(seed, broken=int(scale < needs(seed))) for seed in seeds]

        monkeypatch.setattr(module, "run_seeds", run_seeds)

    return install


@pytest.mark.parametrize("tolerance", [1.2, 1.05])
@pytest.mark.parametrize("needs", [0.00037, 0.02, 0.5, 1.0, 3.0, 700.0])
def test_the_scale_is_enough_and_a_little_less_is_not(needs, tolerance):
    found = calibrate(bl.chain(3), base=Threshold(needs), tolerance=tolerance, **SHORT)
    assert needs <= found.scale
    failed = [trial.scale for trial in found.tried if trial.held == 0]
    assert found.scale < tolerance * max(failed)
    assert not found.at_floor
    assert (found.held, found.runs) == (4, 4)


def test_a_scale_has_three_digits_however_small_the_tolerance():
    found = calibrate(bl.chain(3), base=Threshold(0.0371), tolerance=1 + 1e-9, **SHORT)
    assert found.scale == 0.0371


def test_it_says_so_if_the_lowest_scale_is_enough():
    found = calibrate(bl.chain(3), base=Threshold(0.0), lowest=0.003, **SHORT)
    assert found.at_floor
    assert found.scale == 0.003
    assert [trial.scale for trial in found.tried] == [1.0, 0.003]


def test_a_base_that_is_never_optimistic_is_given_up_with_a_message():
    tried = []
    with pytest.raises(ValueError, match=r"^Optimism held in only 0 of 4 runs at scale 1024, "):
        calibrate(bl.chain(3), base=Threshold(math.inf), on_trial=tried.append, **SHORT)
    assert [trial.scale for trial in tried] == [2.0**i for i in range(11)]


@pytest.mark.parametrize(
    ("level", "needs"), [(0.95, 0.038), (1.0, 0.040), (0.5, 0.020), (0.951, 0.039), (0.001, 0.001)]
)
def test_optimism_must_hold_in_that_share_of_runs(level, needs, needs_by_seed):
    needs_by_seed(lambda seed: (seed - FIRST_SEED + 1) / 1000)
    found = calibrate(bl.chain(3), base=bl.UCRL2(), episodes=1, level=level, tolerance=1.0001)
    assert found.scale == needs
    assert (found.held, found.runs) == (round(1000 * needs), 40)


def test_the_result_does_not_depend_on_threads_and_is_the_same_again():
    def found(threads):
        base = bl.UCBVI_BF(preset="two_term")
        return calibrate(bl.chain(4), base=base, episodes=300, seeds=range(10), threads=threads)

    assert found(1) == found(3) == found(None)


@pytest.mark.parametrize(
    "more", [{}, {"late": "rewards", "rewards": "unknown", "reward_bonus": "bernstein"}]
)
def test_a_trial_is_what_simulate_many_finds_with_all_other_options(more):
    options = {
        **more,
        "updater": bl.Lazy(3),
        "delay": bl.delays.poisson(5),
        "stages": "pooled",
        "episodes": 200,
        "seeds": [3, 1, 4, 15, 9],
    }
    base = bl.UCBVI_BF(preset="two_term", delta=0.2, ties="random", scale=17.0)
    found = calibrate(bl.chain(4), base=base, **options)
    for trial in found.tried:
        runs = bl.simulate_many(bl.chain(4), base=replace(base, scale=trial.scale), **options)
        assert trial.held == sum(run.optimism_broken == 0 for run in runs)
        assert trial.mean_regret == pytest.approx(np.mean([run.total_regret for run in runs]))
    chosen = next(trial for trial in found.tried if trial.scale == found.scale)
    assert (found.held, found.runs) == (chosen.held, chosen.runs)
    assert (found.mean_regret, found.interval) == (chosen.mean_regret, chosen.interval)


@pytest.mark.parametrize(
    ("held", "runs", "low", "high"),
    [
        (0, 10, 0.0, 1 - 0.025 ** (1 / 10)),
        (10, 10, 0.025 ** (1 / 10), 1.0),
        (1, 1, 0.025, 1.0),
        (38, 40, 0.830803, 0.993886),
        (5, 10, 0.187086, 0.812914),
    ],
)
def test_the_interval_has_known_answers(held, runs, low, high):
    assert clopper_pearson(held, runs) == pytest.approx((low, high), abs=1e-6)
    assert Trial(0.1, held, runs, 0.0).interval == clopper_pearson(held, runs)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"base": object()}, TypeError, r"^base must be optimistic and have a scale, got <object "),
        ({"level": 0}, ValueError, r"^level must be above 0 and at most 1, got 0\.$"),
        ({"level": 1.5}, ValueError, r"^level must .*, got 1\.5\.$"),
        ({"level": math.nan}, ValueError, r"^level must .*, got nan\.$"),
        ({"lowest": 0.0}, ValueError, r"^lowest must lie strictly between 0 and 1, got 0\.0\.$"),
        ({"lowest": 1.0}, ValueError, r"^lowest must .*, got 1\.0\.$"),
        ({"tolerance": 1.0}, ValueError, r"^tolerance must be above 1, got 1\.0\.$"),
        ({"seeds": []}, ValueError, r"^seeds must have at least one seed, got none\.$"),
        ({"seeds": 40}, TypeError, r"^seeds must be a sequence of seeds such as .*, got 40\.$"),
        ({"episodes": 0}, ValueError, r"^episodes must be at least 1, got 0\.$"),
        ({"stages": "some"}, ValueError, r"^stages must be one of 'each', 'pooled', got 'some'"),
        ({"delay_per": "week"}, ValueError, r"^delay_per must be one of "),
    ],
)
def test_wrong_arguments_are_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        calibrate(bl.chain(3), **{"base": bl.UCRL2(), **SHORT, **wrong})


def test_no_default_seed_is_one_of_a_reproduction():
    used = max(preset.seeds for preset in PRESETS.values())
    assert len(DEFAULT_SEEDS) == 40
    assert set(DEFAULT_SEEDS).isdisjoint(range(used))


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_optimism_everywhere_is_judged_by_every_value_of_every_plan(engine):
    learner = {"base": bl.UCBVI_CH(scale=0.001), "updater": bl.Lazy(2)}
    run = {**learner, "delay": bl.delays.geometric(4), "episodes": 60, "seed": 7, "engine": engine}
    world = bl.chain(3)
    start = bl.simulate(world, **run)
    everywhere = bl.simulate(world, **run, optimism="everywhere")
    assert 0 < start.optimism_broken < everywhere.optimism_broken < 60
    assert np.array_equal(start.regret, everywhere.regret)
    # the same by hand: play the run, and compare every plan with V*
    optimal, broken = optimal_table(world), 0
    taught = bl.Learner(
        world.shape, **learner, rewards=world.reward_table(), episodes=60, seed=run["seed"]
    )
    queue = Queue()
    for k, delay in enumerate(run["delay"].draw(seed=7, episodes=60).tolist(), start=1):
        taught.observe(queue.due(k))
        policy = taught.start(k)
        broken += bool((taught.value_table < optimal - 1e-9).any())
        queue.push(play(world, policy, seed=7, episode=k), delay)
    assert everywhere.optimism_broken == broken


def test_a_search_that_stops_trials_early_finds_the_same_scale_with_fewer_runs():
    options = {"base": bl.UCBVI_CH(), "episodes": 100, "seeds": range(20), "threads": 1}
    full = calibrate(bl.chain(4), **options)
    quick = calibrate(bl.chain(4), **options, stop_early=True)
    assert (quick.scale, quick.held, quick.mean_regret) == (full.scale, full.held, full.mean_regret)
    assert sum(trial.runs for trial in quick.tried) < sum(trial.runs for trial in full.tried)
    assert all(trial.runs == 20 or trial.held <= trial.runs - 2 for trial in quick.tried)


def test_the_progress_of_each_trial_names_its_scale(capsys):
    found = calibrate(bl.chain(3), base=bl.UCRL2(), episodes=20, seeds=[0], progress=True)
    lines = capsys.readouterr().err.splitlines()
    named = [line.split(", ")[1] for line in lines if ": 0 of 20 episodes" in line]
    assert named == [f"scale {trial.scale:g}" for trial in found.tried]


def test_a_search_asks_for_runs_and_ends_a_trial_that_cannot_be_sufficient():
    search = search_scales(range(4), level=0.75, lowest=0.01, tolerance=4)
    asked, found = [next(search)], None
    while found is None:
        scale, seeds = asked[-1]
        try:
            runs = [a_run(seed, broken=int(scale < 0.05)) for seed in seeds[:2]]
            asked.append(search.send(runs))
        except StopIteration as end:
            found = end.value
    assert asked == [
        (1.0, [0, 1, 2, 3]),
        (1.0, [2, 3]),
        (0.01, [0, 1, 2, 3]),  # two runs failed, one may
        (0.1, [0, 1, 2, 3]),
        (0.1, [2, 3]),
        (0.0316, [0, 1, 2, 3]),
    ]
    assert (found.scale, found.held, found.runs, found.at_floor) == (0.1, 4, 4, False)
    assert [(trial.scale, trial.held, trial.runs) for trial in found.tried] == [
        (1.0, 4, 4),
        (0.01, 0, 2),
        (0.1, 4, 4),
        (0.0316, 0, 2),
    ]
