"""Study files: their cells, and the errors of invalid ones."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import belated.sweep.study as study_module
from belated.simulation.calibration_table import CalibratedScale, write_table
from belated.sweep.packaged import study_names
from belated.sweep.study import Study, read_study

GOOD: dict[str, Any] = {
    "name": "small",
    "episodes": 100,
    "seeds": 7,
    "worlds": ["chain-3", "chain-4"],
    "bases": ["ucrl2", {"name": "ucbvi-bf", "preset": "two_term", "scale": 0.03}],
    "updaters": ["active", "lazy:10"],
    "delays": ["constant:0", "geometric:0", "poisson:5"],
}


def test_cells_are_the_cross_product_and_laws_of_mean_zero_are_one() -> None:
    cells = Study(**{**GOOD, "episodes": {"chain-3": 10, "chain-4": 20}}).cells()
    assert {(cell.world, cell.episodes) for cell in cells} == {("chain-3", 10), ("chain-4", 20)}
    assert len(cells) == 2 * 2 * 2 * 2 * 2  # worlds, bases, updaters, delays, blocks of seeds
    assert len({cell.id for cell in cells}) == len(cells)
    assert {cell.delay for cell in cells} == {"constant:0", "poisson:5"}
    assert sorted({seed for cell in cells for seed in cell.seeds}) == list(range(7))


def test_bases_can_be_omitted_in_a_world() -> None:
    omit = {"chain-3": ["ucbvi-bf-two_term-0.03"]}
    cells, rest = Study(**GOOD).cells(), Study(**{**GOOD, "omit": omit}).cells()
    left_out = {(cell.world, cell.label) for cell in cells} - {(c.world, c.label) for c in rest}
    assert left_out == {("chain-3", "ucbvi-bf-two_term-0.03")}
    assert {cell.digest for cell in rest} < {cell.digest for cell in cells}


def test_a_table_of_an_updater_is_short_for_its_name_with_options() -> None:
    tables = [
        {"name": "matured", "updater": "lazy:10", "age": 500},
        {"name": "batched", "grid": [10, 100]},
        {"name": "scheduled", "every": 9, "unit": "arrivals"},
    ]
    names = ["matured:500:lazy:10", "batched:10-100", "scheduled:9,unit=arrivals"]
    cells = Study(**{**GOOD, "updaters": tables}).cells()
    assert [c.digest for c in cells] == [
        c.digest for c in Study(**{**GOOD, "updaters": names}).cells()
    ]


@pytest.mark.parametrize(
    ("omit", "message"),
    [
        ({"chain-9": ["ucrl2"]}, "world 'chain-9' is not in the study; it has chain-3, chain-4"),
        ({"chain-3": ["ubev"]}, "base 'ubev' is not in the study; it has ucrl2, ucbvi-bf-two"),
    ],
)
def test_only_parts_of_the_study_can_be_omitted(omit: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Study(**GOOD, omit=omit)


def test_what_is_late_is_part_of_the_cross_product() -> None:
    study = Study(
        **{**GOOD, "seeds": 5, "rewards": "unknown"},
        late=["everything", "rewards"],
        delay_per=["episode", "step"],
    )
    cells = study.cells()
    assert len({cell.id for cell in cells}) == len({cell.digest for cell in cells}) == 2**6
    assert len({(cell.late, cell.delay_per) for cell in cells}) == 4
    assert {cell.rewards for cell in cells} == {"unknown"}
    late = {"rewards": "unknown", "late": "rewards", "delay_per": "step"}  # one needs no list
    alone = Study(**{**GOOD, "seeds": 5, **late})
    assert {cell.digest for cell in alone.cells()} < {cell.digest for cell in cells}


def test_the_study_that_explains_them_can_be_read() -> None:
    assert study_module.__doc__ is not None
    lines = [line[4:] for line in study_module.__doc__.splitlines() if line.startswith("    ")]
    study = Study(**tomllib.loads("\n".join(lines)))
    assert (study.rewards, study.late, study.delay_per) == (
        "unknown",
        ["everything", "rewards"],
        ["step"],
    )
    assert len(study.cells()) == 2 * 2 * 2 * 2 * 2
    for cell in study.cells()[:4]:
        cell.build()


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
    ("line", "message"),
    [
        ("seed = 3", r"key 'seed' is unknown; .*\. Did you mean 'seeds'\?$"),
        ('rewards = "unkown"', r"got 'unkown'\. Did you mean 'unknown' or 'known'\?$"),
        ('bases = ["ucrl3"]', r"key 'bases': base must .* ubev.* got 'ucrl3'\..*\?$"),
        (
            'updaters = [{name = "lazzy", alpha = 10}]',
            r"updater 'lazzy' must be one of active, lazy, .* in a table",
        ),
        ('updaters = [{name = "batched", grid = [5, 5]}]', r"grid must .* got \[5, 5\]"),
        ("episodes = 0", r"key 'episodes' must be a whole number of at least 1, .*, got 0\.$"),
        ("seeds = []", r"key 'seeds' must be a whole number of at least 1, or a list .*got \[\]"),
        (
            'stages = "some"',
            r"key 'stages' must be one .* 'each', 'pooled', got 'some'\.$",
        ),
        ('late = "states"', r"key 'late' must be one or a list of 'everything', 'rewards', got"),
        ('late = "rewards"', r"key 'rewards': late rewards must be unknown; add"),
        ('bases = ["ucrl2", "ucrl2"]', r"two bases have the name 'ucrl2'; give one a label"),
    ],
)
def test_a_wrong_line_names_the_file_the_key_the_value_and_what_is_allowed(
    tmp_path: Path, line: str, message: str
) -> None:
    key = line.split(" = ")[0]
    kept = [old for old in TEXT.splitlines() if not old.startswith(f"{key} ")]
    path = tmp_path / "study.toml"
    path.write_text("\n".join([*kept, line]))
    with pytest.raises(ValueError, match=message):
        read_study(path)


def test_a_missing_key_a_missing_file_and_invalid_toml_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TEXT.replace("seeds = 2", ""))
    with pytest.raises(ValueError, match=r"study.toml: key 'seeds' is missing"):
        read_study(path)
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_study(tmp_path / "other.toml")
    path.write_text("name = ")
    with pytest.raises(ValueError, match="is not TOML"):
        read_study(path)


@pytest.mark.parametrize("name", study_names())
def test_a_packaged_study_is_found_by_name_in_any_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()  # a folder of that name, such as one of results
    assert read_study(name).name == name
    for path in (f"{name}.toml", f"studies/{name}.toml"):
        assert read_study(path) == read_study(name)


def test_a_file_comes_before_a_packaged_study_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "alpha").write_text(TEXT)
    assert read_study("alpha").name != "alpha"


def test_an_unknown_study_is_answered_with_near_names_and_all_names() -> None:
    everything = rf"The packaged studies are {', '.join(study_names())}\.$"
    with pytest.raises(ValueError, match=rf"Did you mean 'late-rewards'\? {everything}"):
        read_study("late-reward.toml")
    with pytest.raises(ValueError, match=rf"No such file or directory\. {everything}"):
        read_study("xyz")


def scaled_study(folder: Path, scales: Any = (("constant:0", 0.25), ("poisson:5", 0.5))) -> Path:
    """Write a study with calibrated scales of ucbvi-ch, and return its path."""
    rows = [
        CalibratedScale(
            world="chain-3",
            base="ucbvi-ch",
            delay=delay,
            episodes=100,
            scale=scale,
            held=39,
            mean_regret=1.0,
            at_floor=False,
        )
        for delay, scale in scales
    ]
    write_table(folder / "scales.json", rows)
    study = {**GOOD, "worlds": ["chain-3"], "bases": ["ucbvi-ch", "ucrl2"], "scales": "scales.json"}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in study.items())
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def test_a_base_has_the_calibrated_scale_of_its_world_and_delay(tmp_path: Path) -> None:
    cells = read_study(scaled_study(tmp_path)).cells()
    found = {(cell.base, cell.delay): dict(cell.base_options).get("scale") for cell in cells}
    assert found == {
        ("ucbvi-ch", "constant:0"): 0.25,
        ("ucbvi-ch", "poisson:5"): 0.5,
        ("ucrl2", "constant:0"): None,
        ("ucrl2", "poisson:5"): None,
    }
    assert {cell.id.split("/")[1] for cell in cells} == {"ucbvi-ch", "ucrl2"}


def test_calibrated_scales_that_are_missing_or_ambiguous_are_reported(tmp_path: Path) -> None:
    study = read_study(scaled_study(tmp_path, scales=[("constant:0", 0.25)]))
    with pytest.raises(ValueError, match=r"no scale for ucbvi-ch in chain-3 with poisson:5\.$"):
        study.cells()
    study = read_study(scaled_study(tmp_path, scales=[("constant:0", None), ("poisson:5", 0.5)]))
    with pytest.raises(ValueError, match=r"no scale for ucbvi-ch in chain-3 with constant:0\.$"):
        study.cells()
    with pytest.raises(ValueError, match=r"key 'scales': .* has two scales for ucbvi-ch"):
        read_study(scaled_study(tmp_path, scales=[("constant:0", 0.25), ("geometric:0", 0.5)]))
    (tmp_path / "scales.json").unlink()
    with pytest.raises(ValueError, match=r"key 'scales': .* cannot be read: No such file"):
        read_study(tmp_path / "study.toml")
