"""The paper's experiments as data."""

import hashlib
from typing import get_args

import pytest

from belated.papers.howson2021.grid import (
    DELAY_SCALES_FILE,
    PRESETS,
    Variant,
    cells,
    figures,
)
from belated.simulation.calibration_table import read_table
from belated.sweep.cell import Cell
from belated.sweep.study import read_study
from combinations import FULL


@pytest.mark.parametrize("variant", get_args(Variant) if FULL else ("calibrated", "figures"))
def test_the_grid_has_every_setting_once_and_no_delay_is_one_law(variant: str) -> None:
    made = cells(PRESETS["paper"], variant)  # type: ignore[arg-type]
    settings = {cell.setting for cell in made}
    learners = 6 if variant == "figures" else 5  # explicit exploration on two kinds of chains
    assert len(settings) == 4 * (1 + 4 * 5) * learners  # chains, delays, learners
    assert len({cell.digest for cell in made}) == len(made)
    assert sum(len(cell.seeds) for cell in made) == 30 * len(settings)
    assert {cell.episodes for cell in made if cell.world.startswith("chain-30")} == {100_000}
    assert {cell.episodes for cell in made if cell.world == "chain-5"} == {10_000}


def test_explicit_exploration_in_the_figures_variant_runs_on_both_kinds_of_chains() -> None:
    for variant in get_args(Variant):
        made = cells(PRESETS["quick"], variant)  # type: ignore[arg-type]
        settings = {cell.setting for cell in made}
        for cell in made:
            both = variant == "figures" and cell.updater == "explicit"
            right = cell.setting.replace("/", "-right/", 1)
            assert (right in settings) == (both and not cell.world.endswith("-right"))


def test_each_delay_has_the_scale_that_was_calibrated_with_it_and_the_paper_s_episodes() -> None:
    rows = {(row.world, row.delay): row for row in read_table(DELAY_SCALES_FILE)}
    made = cells(PRESETS["paper"], "calibrated-with-delay")
    assert {(cell.world, cell.delay) for cell in made} == set(rows)
    for cell in made:
        row = rows[cell.world, cell.delay]
        assert cell.base_options == (("preset", "two_term"), ("scale", row.scale))
        assert row.episodes == cell.episodes
        assert row.held >= 0.98 * row.runs
        assert row.runs == 100
        assert not set(cell.seeds) & set(range(row.first_seed, row.first_seed + row.runs))


def test_the_study_of_both_kinds_of_scales_has_the_runs_of_both_variants() -> None:
    def runs(made: list[Cell]) -> set[tuple[object, ...]]:
        return {
            (cell.world, cell.delay, cell.updater, cell.episodes, cell.seeds, cell.base_options)
            for cell in made
        }

    both = [
        cell
        for variant in ("calibrated", "calibrated-with-delay")
        for cell in cells(PRESETS["paper"], variant)  # type: ignore[arg-type]
    ]
    assert runs(read_study("calibrated-with-delay").cells()) == runs(both)


def test_cells_that_were_stored_before_keep_their_ids_and_digests() -> None:
    """Without the cells of explicit exploration that have been added, the grid is as it was."""
    old = [
        f"{cell.id} {cell.digest}"
        for cell in cells(PRESETS["paper"], "figures")
        if cell.updater != "explicit" or cell.world.endswith("-right")
    ]
    assert len(old) == 2520
    text = "\n".join(sorted(old)).encode()
    assert (
        hashlib.sha256(text).hexdigest()
        == "75db5d1f380fde3028fe582a8f0d9a8200be944acf45a53a4b31771ad7f9858f"
    )


def test_figures_have_the_numbers_of_the_paper() -> None:
    """Two figures of the chain of 30 states are in the text, all others in the appendix."""
    numbers = {figure.name: figure.published_number for figure in figures()}
    assert sorted(numbers.values()) == list(range(1, 17))
    assert numbers["chain-30-regret-100"] == 1
    assert numbers["chain-30-delay"] == 2
    assert numbers["chain-5-regret-100"] == 3
    assert numbers["chain-5-delay"] == 6
    assert numbers["chain-20-delay"] == 14
    assert numbers["chain-30-regret-500"] == 16
