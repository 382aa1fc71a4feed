"""The paper's experiments as data."""

import numpy as np
import pytest

from belated.papers.howson2021.evidence import merge_chain_names
from belated.papers.howson2021.grid import CHAINS, PRESETS, VARIANTS, cells, figures


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_grid_has_every_setting_once_and_no_delay_is_one_law(variant: str) -> None:
    made = cells(PRESETS["paper"], variant)  # type: ignore[arg-type]
    settings = {cell.setting for cell in made}
    assert len(settings) == 4 * (1 + 4 * 5) * 5  # chains, delays, learners
    assert len({cell.digest for cell in made}) == len(made)
    assert sum(len(cell.seeds) for cell in made) == 30 * len(settings)
    assert {cell.episodes for cell in made if cell.world.startswith("chain-30")} == {100_000}
    assert {cell.episodes for cell in made if cell.world == "chain-5"} == {10_000}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_cell_can_be_built(variant: str) -> None:
    for cell in {cell.setting: cell for cell in cells(PRESETS["quick"], variant)}.values():  # type: ignore[arg-type]
        setting = cell.build()
        assert setting.world.shape.states in CHAINS


def test_only_explicit_exploration_in_the_figures_variant_is_paid_for_right_alone() -> None:
    for variant in VARIANTS:
        for cell in cells(PRESETS["quick"], variant):  # type: ignore[arg-type]
            right = variant == "figures" and cell.updater == "explicit"
            assert cell.world.endswith("-right") == right


def test_there_are_sixteen_figures_three_of_regret_and_one_of_delay_for_each_chain() -> None:
    made = figures()
    assert [figure.number for figure in made] == list(range(1, 17))
    assert sum(figure.kind == "delay" for figure in made) == 4
    assert made[12].title == "Cumulative regret (S = 30, E[τ] = 100)"
    assert made[15].title == "Delay dependence (S = 30)"


def test_a_chain_has_one_name_whatever_its_last_state_pays_for() -> None:
    runs = {"world": np.array(["chain-5", "chain-5-right"], object), "seed": np.array([1, 2])}
    assert merge_chain_names(runs)["world"].tolist() == ["chain-5", "chain-5"]
    assert runs["world"][1] == "chain-5-right"
