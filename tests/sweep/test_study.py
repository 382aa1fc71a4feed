"""Study files: what they mean, and what is refused."""

from pathlib import Path

import pytest

from belated.sweep.study import Study, read_study

GOOD = {
    "name": "small",
    "episodes": 100,
    "seeds": 7,
    "worlds": ["chain-3", "chain-4"],
    "bases": ["ucrl2", {"name": "ucbvi-bf", "preset": "two_term", "scale": 0.03}],
    "updaters": ["active", "lazy:10"],
    "delays": ["constant:0", "geometric:0", "poisson:5"],
}


def test_cells_are_the_cross_product_and_laws_of_mean_zero_are_one() -> None:
    cells = Study(**GOOD).cells()
    assert len(cells) == 2 * 2 * 2 * 2 * 2  # worlds, bases, updaters, delays, blocks of seeds
    assert len({cell.id for cell in cells}) == len(cells)
    assert {cell.delay for cell in cells} == {"constant:0", "poisson:5"}
    assert sorted({seed for cell in cells for seed in cell.seeds}) == list(range(7))


def test_ids_can_be_said_and_digests_tell_every_difference() -> None:
    cells = {cell.id: cell for cell in Study(**GOOD).cells()}
    cell = cells["chain-3/ucbvi-bf-two_term-0.03/poisson-5/lazy-10/seeds-5-6"]
    assert dict(cell.base_options) == {"preset": "two_term", "scale": 0.03}
    assert len({cell.digest for cell in cells.values()}) == len(cells)
    longer = Study(**{**GOOD, "episodes": 101}).cells()
    assert not {cell.digest for cell in longer} & {cell.digest for cell in cells.values()}


def test_more_seeds_keep_the_cells_that_were_there() -> None:
    few = {cell.digest for cell in Study(**{**GOOD, "seeds": 5}).cells()}
    many = {cell.digest for cell in Study(**{**GOOD, "seeds": 30}).cells()}
    assert few < many


def test_episodes_may_depend_on_the_world() -> None:
    cells = Study(**{**GOOD, "episodes": {"chain-3": 10, "chain-4": 20}}).cells()
    assert {(cell.world, cell.episodes) for cell in cells} == {("chain-3", 10), ("chain-4", 20)}


TEXT = """
name = "small"
episodes = 100
seeds = 2
worlds = ["chain-3"]
bases = ["ucrl2"]
updaters = ["active"]
delays = ["constant:0"]
"""


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('colour = "red"', r"study.toml: key 'colour' is not known; allowed are name, episodes"),
        ('worlds = ["ring-3"]', r"key 'worlds' is .*'ring-3'; it must be 'chain-S'"),
        ('bases = ["ucrl3"]', r"key 'bases' .*'ucrl3'; it must be one of ubev, ucbvi-ch"),
        ('bases = [{name = "ucrl2", scal = 1}]', r"'ucrl2' does not take these options: .*scal"),
        ('bases = [{name = "ucrl2", scale = -1.0}]', r"scale is -1.0; it must be"),
        ('bases = ["nowhere:Base"]', r"'nowhere:Base', which cannot be imported"),
        ('updaters = ["lazzy:10"]', r"'lazzy:10'; it must be 'active', 'lazy:ALPHA'"),
        ('updaters = ["lazy:0.5"]', r"alpha is 0.5; it must be at least 1"),
        ('delays = ["gauss:3"]', r"key 'delays' is \['gauss:3'\]"),
        ("episodes = 0", r"key 'episodes' is 0: a run has at least 1 episode"),
        ("seeds = []", r"key 'seeds' is \[\]: at least one seed"),
        ('stages = "some"', r"key 'stages' is 'some': Input should be 'each' or 'pooled'"),
        ('bases = ["ucrl2", "ucrl2"]', r"two bases would be called 'ucrl2'; give one a label"),
    ],
)
def test_a_wrong_line_names_the_file_the_key_the_value_and_what_is_allowed(
    tmp_path: Path, line: str, sentence: str
) -> None:
    key = line.split(" = ")[0]
    kept = [old for old in TEXT.splitlines() if not old.startswith(f"{key} ")]
    path = tmp_path / "study.toml"
    path.write_text("\n".join([*kept, line]))
    with pytest.raises(ValueError, match=sentence):
        read_study(path)


def test_a_missing_key_a_missing_file_and_what_is_not_toml_are_sentences(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TEXT.replace("seeds = 2", ""))
    with pytest.raises(ValueError, match=r"study.toml: key 'seeds' is missing"):
        read_study(path)
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_study(tmp_path / "other.toml")
    path.write_text("name = ")
    with pytest.raises(ValueError, match="is not TOML"):
        read_study(path)
