"""The paper's experiments as data."""

import hashlib

import pytest

from belated.papers.howson2021.grid import CHAINS, PRESETS, VARIANTS, cells, figures


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_grid_has_every_setting_once_and_no_delay_is_one_law(variant: str) -> None:
    made = cells(PRESETS["paper"], variant)  # type: ignore[arg-type]
    settings = {cell.setting for cell in made}
    learners = 6 if variant == "figures" else 5  # explicit exploration on two kinds of chains
    assert len(settings) == 4 * (1 + 4 * 5) * learners  # chains, delays, learners
    assert len({cell.digest for cell in made}) == len(made)
    assert sum(len(cell.seeds) for cell in made) == 30 * len(settings)
    assert {cell.episodes for cell in made if cell.world.startswith("chain-30")} == {100_000}
    assert {cell.episodes for cell in made if cell.world == "chain-5"} == {10_000}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_cell_can_be_built(variant: str) -> None:
    for cell in {cell.setting: cell for cell in cells(PRESETS["quick"], variant)}.values():  # type: ignore[arg-type]
        setting = cell.build()
        assert setting.world.shape.states in CHAINS


def test_explicit_exploration_in_the_figures_variant_runs_on_both_kinds_of_chains() -> None:
    for variant in VARIANTS:
        made = cells(PRESETS["quick"], variant)  # type: ignore[arg-type]
        settings = {cell.setting for cell in made}
        for cell in made:
            both = variant == "figures" and cell.updater == "explicit"
            right = cell.setting.replace("/", "-right/", 1)
            assert (right in settings) == (both and not cell.world.endswith("-right"))


def test_there_are_sixteen_figures_three_of_regret_and_one_of_delay_for_each_chain() -> None:
    made = figures()
    assert [figure.number for figure in made] == list(range(1, 17))
    assert sum(figure.kind == "delay" for figure in made) == 4
    assert made[12].title == "Cumulative regret (S = 30, E[τ] = 100)"
    assert made[15].title == "Delay dependence (S = 30)"


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
