"""Quantities measured by runs of their own: epochs, and epsilon-greedy."""

from pathlib import Path

import numpy as np
import pytest

from belated.papers.howson2021 import measurements
from belated.papers.howson2021.grid import Preset, cells
from belated.papers.howson2021.measurements import (
    Measurements,
    epoch_cells,
    measure,
    measure_epochs,
    measure_exploration,
    play_epochs,
    received_by_epoch,
)

GRID = cells(Preset(seeds=6, episodes={5: 150, 10: 150, 20: 150, 30: 150}), "figures")


def test_feedback_counts_if_it_arrives_before_the_next_epoch() -> None:
    epochs = np.array([1, 1, 1, 2, 2, 3])
    delays = np.array([0, 1, 1, 0, 1, 0])
    # epoch 2 begins at episode 4 and epoch 3 at episode 6; no update ends epoch 3
    first, second = received_by_epoch(epochs, delays)
    assert first.tolist() == [True, True, False]
    assert second.tolist() == [True, False]


def test_a_run_without_a_second_epoch_is_omitted() -> None:
    assert received_by_epoch(np.ones(4, int), np.zeros(4, int)) == []
    cell = next(cell for cell in epoch_cells(GRID) if cell.delay == "constant:500")
    assert measure_epochs(cell.build(), 0) is None


def test_epochs_are_those_of_the_simulation() -> None:
    for cell in epoch_cells(GRID)[::3]:
        setting = cell.build()
        delays = setting.law.draw(seed=2, episodes=setting.episodes)
        epochs = play_epochs(setting, 2, delays)
        assert epochs[0] == 1
        assert epochs[-1] == setting.run(2).epochs
        assert set(np.diff(epochs)) <= {0, 1}


def test_epsilon_greedy_needs_more_episodes_on_a_longer_chain() -> None:
    means = [
        np.mean([measure_exploration(states, seed)["learnt_at"] for seed in range(10)])
        for states in (4, 7)
    ]
    assert means[1] > 3 * means[0]


def test_measurements_are_stored_and_read_only_for_the_same_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurements, "EXPLORATION_CHAINS", (3,))
    monkeypatch.setattr(measurements, "EXPLORATION_SEEDS", 2)
    monkeypatch.setattr(measurements, "EPOCH_MEANS", (100,))
    assert Measurements.load(tmp_path) is None
    measure(tmp_path, GRID)
    made, read = Measurements.load(tmp_path), Measurements.load(tmp_path, GRID)
    assert made is not None
    assert read is not None
    assert made.epochs["seed"].tolist() == list(range(5)) * 4
    assert made.exploration["states"].tolist() == [3, 3]
    stored = (tmp_path / "measurements.json").stat().st_mtime_ns
    measure(tmp_path, GRID)
    assert (tmp_path / "measurements.json").stat().st_mtime_ns == stored
    other = cells(Preset(seeds=6, episodes={5: 99, 10: 99, 20: 99, 30: 99}), "figures")
    assert Measurements.load(tmp_path, other) is None
    (tmp_path / "measurements.json").write_text("{}")
    assert Measurements.load(tmp_path) is None
