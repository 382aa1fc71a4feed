"""The premise of Lemma 5 in the proof of Theorem 2, in simulated epochs."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.delays import Law, constant, geometric, uniform, with_calendar
from belated.learner.bases import OPTIMISTIC
from belated.theory import epoch_bound, missing
from belated.theory.bonus import BASES
from theory.lemmas import Paths, epoch_counts, lazy_bound, played

EPISODES = 400
WORLD = bl.chain(4)


def next_batch(numbers: Any, delays: Any) -> Any:
    """Deliver feedback only after every tenth episode."""
    return delays + -(numbers + delays) % 10


BUNCHED = with_calendar(constant(0), next_batch, name="bunched", period=10)
LAWS = [constant(0), uniform(20), geometric(20), BUNCHED]


def lazy_run(law: Law, alpha: float, seed: int) -> Any:
    """Return a run of lazy updating, and its paths."""
    base = OPTIMISTIC[BASES[seed % len(BASES)]](scale=0.1)
    return played(WORLD, law, episodes=EPISODES, seed=seed, base=base, updater=bl.Lazy(alpha))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_the_repaired_premise_holds_in_every_simulated_epoch(law: Law, alpha: float) -> None:
    run, paths = lazy_run(law, alpha, seed=int(alpha) + LAWS.index(law))
    counts = epoch_counts(WORLD.shape, paths, alpha)
    assert len(counts.starts) == run.epochs <= epoch_bound(WORLD.shape, EPISODES, alpha)
    assert not counts.violations(alpha).any()
    # the other episodes: at most one left out in each epoch, and those missing before its last one
    ends = np.append(counts.starts[1:], EPISODES + 1)
    assert (counts.long <= missing(paths.delays)[ends - 2]).all()
    lengths = ends - counts.starts
    short = counts.short.sum(axis=1) / WORLD.shape.horizon
    assert (short + counts.long + 1 == lengths).all()


def test_the_printed_premise_fails_in_most_epochs_if_feedback_arrives_in_bunches() -> None:
    for alpha in (1.0, 10.0):
        _, paths = lazy_run(BUNCHED, alpha, seed=3)
        failed = epoch_counts(WORLD.shape, paths, alpha, printed=True).violations(alpha)
        assert failed.mean() > 0.5


def test_the_episode_left_out_as_printed_does_not_cover_the_visits_that_end_an_epoch() -> None:
    """The term HJ pays for one episode per epoch; nine visits exceed the premise here."""
    one = bl.Shape(1, 1, 1)
    path = np.zeros((30, 1), int)
    bunched = Paths(path, path, BUNCHED.draw(seed=0, episodes=30))
    printed = epoch_counts(one, bunched, 10, printed=True)
    assert printed.before[1] == 10
    assert printed.short[1] == 9 > 10 / 10
    assert epoch_counts(one, bunched, 10).short[1] == 0


@given(st.data())
def test_no_paths_and_delays_violate_the_repaired_premise_or_lemma_5_with_all_counts(
    data: st.DataObject,
) -> None:
    shape = data.draw(st.builds(bl.Shape, st.integers(1, 3), st.integers(1, 2), st.integers(1, 2)))
    H, S, A = shape.table
    delays = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=60))
    alpha = data.draw(st.sampled_from([1.0, 1.5, 3.0, 20.0, math.inf]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    K = len(delays)
    states, actions = rng.integers(0, S, (K, H)), rng.integers(0, A, (K, H))
    counts = epoch_counts(shape, Paths(states, actions, delays), alpha)
    assert not counts.violations(alpha).any()
    # N' also counts feedback of earlier epochs, which makes the sums of Lemma 5 smaller
    total = np.maximum(1, counts.before[-1] + counts.short[-1])
    for power in (0.5, 1):
        sums = (counts.short / np.maximum(1, counts.before) ** power).sum(axis=0)
        bounds = [lazy_bound(float(n), alpha, power) for n in total]
        assert (sums <= np.array(bounds) * (1 + 1e-12)).all()
