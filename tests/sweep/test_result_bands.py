"""Bands of stored results."""

import numpy as np
import pytest

from belated.sweep.bands import curve_band


def test_runs_with_different_checkpoints_are_rejected():
    columns = {
        "seed": np.array([3, 3, 4, 4]),
        "episode": np.array([1, 2, 1, 3]),
        "regret": np.ones(4),
    }
    with pytest.raises(
        ValueError,
        match=r"^The runs of a band must have the same checkpoints; those of seeds 3 to 4",
    ):
        curve_band(columns)


def test_an_incomplete_run_is_rejected():
    columns = {"seed": np.array([3, 3, 4]), "episode": np.array([1, 2, 1]), "regret": np.ones(3)}
    with pytest.raises(ValueError, match="must have the same checkpoints"):
        curve_band(columns)
