"""Cells: ids, digests, settings and stored columns."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.sweep.cell import Cell
from belated.sweep.results import Results
from belated.sweep.store import Store
from belated.sweep.sweep import sweep

PLAIN = Cell(
    world="chain-30",
    base="ucrl2",
    delay="geometric:100",
    updater="lazy:10",
    episodes=100_000,
    seeds=(0, 1, 2, 3, 4),
)
FANCY = Cell(
    world="chain-5",
    base="ucbvi-bf",
    delay="constant:0",
    updater="explicit",
    episodes=10_000,
    seeds=(5, 6),
    base_options=(("preset", "two_term"), ("scale", 0.03)),
    updater_options=(("threshold", 7),),
    stages="pooled",
    points=50,
    label="short",
)
UNKNOWN = dataclasses.replace(PLAIN, rewards="unknown")
LATE = dataclasses.replace(UNKNOWN, late="rewards")
STEPS = dataclasses.replace(PLAIN, delay_per="step")


def test_digests_are_what_they_were_before_rewards_could_be_unknown() -> None:
    """Results stored before the fields existed stay finished."""
    assert dataclasses.replace(PLAIN, points=200).digest == "43de5a2e0225fb0c"
    assert FANCY.digest == "5319ac234c734083"
    assert PLAIN.id == "chain-30/ucrl2/geometric-100/lazy-10/seeds-0-4"
    assert FANCY.id == "chain-5/short/constant-0/explicit/seeds-5-6"


def test_the_way_of_planning_that_was_the_default_has_the_same_results() -> None:
    assert PLAIN.planning == "auto"
    before = dataclasses.replace(PLAIN, planning="incremental")
    assert (before.digest, before.id) == (PLAIN.digest, PLAIN.id)
    full = dataclasses.replace(PLAIN, planning="full")
    assert full.digest != PLAIN.digest
    assert "ucrl2-full" in full.id


def test_evenly_spaced_checkpoints_are_not_taken_for_those_with_early_ones() -> None:
    even = dataclasses.replace(PLAIN, points=200)
    assert even.id == PLAIN.id
    assert even.digest != PLAIN.digest
    old, new = even.build().checkpoints(), PLAIN.build().checkpoints()
    assert old.tolist() == list(range(500, 100_001, 500))
    assert new.tolist() == [1, 2, 5, 10, 20, 50, 100, 200, *old.tolist()]


def test_results_of_own_code_that_has_changed_are_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "own_laws_of_a_test.py"
    cells = [
        dataclasses.replace(PLAIN, delay=f"{before}own_laws_of_a_test:law{after}")
        for before, after in (("", ""), ("never:0.1:", ":7"))
    ]
    for cell in cells:
        digests = set()
        for text in ("law = 1", "law = 2"):
            source.write_text(text)
            digests.add(cell.digest)
        assert len(digests) == 2


def test_what_is_late_has_a_digest_and_a_name_of_its_own() -> None:
    both = dataclasses.replace(LATE, delay_per="step")
    cells = (PLAIN, UNKNOWN, LATE, STEPS, both)
    assert len({cell.digest for cell in cells}) == 5
    assert [cell.setting for cell in cells] == [
        "chain-30/ucrl2/geometric-100/lazy-10",
        "chain-30/ucrl2-unknown-rewards/geometric-100/lazy-10",
        "chain-30/ucrl2-unknown-rewards/geometric-100-rewards/lazy-10",
        "chain-30/ucrl2/geometric-100-steps/lazy-10",
        "chain-30/ucrl2-unknown-rewards/geometric-100-rewards-steps/lazy-10",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"late": "rewards"}, r"^late='rewards' needs unknown rewards, .*\.$"),
        (
            {"base": "q-learning", "stages": "pooled"},
            r"^stages must be 'each' for q-learning, which learns",
        ),
        (
            {"base": "fixed", "base_options": (("actions", [[0, 1], [0, 1]]),)},
            r"^actions must have shape \(H, S\) = \(3, 3\), got \(2, 2\)\.$",
        ),
    ],
)
def test_an_invalid_cell_is_rejected_before_anything_is_computed(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    good = Cell(
        world="chain-3",
        base="ucrl2",
        delay="constant:2",
        updater="active",
        episodes=20,
        seeds=(0, 1),
    )
    wrong = dataclasses.replace(good, seeds=(5,), label="wrong", **change)
    with pytest.raises(ValueError, match=message):
        sweep([good, wrong], Store(tmp_path), progress=False)
    assert not list(tmp_path.rglob("*.parquet"))


# Columns


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the runs of a sweep over all kinds of delay."""
    folder = tmp_path_factory.mktemp("late")
    sweep([cell for _, cell in SWEPT], Store(folder), threads=1, progress=False)
    return Results(folder).runs()


SHORT = Cell(
    world="chain-3",
    base="ucbvi-bf",
    delay="geometric:6",
    updater="active",
    episodes=300,
    seeds=(0, 1),
)
SWEPT: list[tuple[str, Cell]] = [
    ("chain-3/ucbvi-bf/geometric-6/active", SHORT),
    (
        "chain-3/ucbvi-bf-unknown-rewards/geometric-6-rewards/active",
        dataclasses.replace(SHORT, rewards="unknown", late="rewards"),
    ),
    (
        "chain-3/ucbvi-bf-unknown-rewards/geometric-6-steps/lazy-auto",
        dataclasses.replace(SHORT, rewards="unknown", delay_per="step", updater="lazy:auto"),
    ),
    ("chain-3/random/geometric-6/active", dataclasses.replace(SHORT, base="random")),
]


@pytest.mark.parametrize(("setting", "cell"), SWEPT, ids=[name for name, _ in SWEPT])
def test_columns_read_back_as_the_runs_they_are_of(
    columns: dict[str, Any], setting: str, cell: Cell
) -> None:
    for seed in cell.seeds:
        at = (columns["setting"] == setting) & (columns["seed"] == seed)
        row = {name: values[at].tolist() for name, values in columns.items()}
        run = bl.simulate(
            bl.chain(3),
            base=cell.build().base,
            updater=cell.build().updater,
            delay=bl.delays.geometric(6),
            episodes=300,
            seed=seed,
            rewards="known" if cell.rewards == "known" else None,
            late=cell.late,
            delay_per=cell.delay_per,
        )
        assert row["rewards"] == [cell.rewards]
        assert row["late"] == [cell.late]
        assert row["delay_per"] == [cell.delay_per]
        assert row["base"] == [setting.split("/")[1]]
        assert row["delay"] == ["geometric:6"]
        assert row["mean_delay"] == [6.0]  # of the law
        assert row["observed_delay"] == [run.mean_delay]
        for name in ("total_regret", "updates", "missing", "psi", "max_missing", "optimism_broken"):
            assert row[name] == [getattr(run, name)]
        if run.alpha is None:
            assert math.isnan(row["alpha"][0])
        else:
            assert row["alpha"] == [run.alpha[-1]]


def test_results_of_two_ages_read_together(
    columns: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns that older files do not have are read as missing values."""
    import belated.sweep.store as module

    store = Store(tmp_path)
    added = ("rewards", "late", "delay_per", "missing", "observed_delay", "psi", "alpha")
    usual = module.run_columns

    def old(cell: Cell, runs: Any) -> Any:
        return {name: part for name, part in usual(cell, runs).items() if name not in added}

    monkeypatch.setattr(module, "run_columns", old)
    sweep([SWEPT[0][1]], store, threads=1, progress=False)
    monkeypatch.undo()
    sweep([SWEPT[1][1]], store, threads=1, progress=False)
    runs = Results(tmp_path).runs()
    assert runs["seed"].tolist() == [0, 1, 0, 1]
    late = runs["late"].tolist()
    assert late == ["rewards", "rewards", None, None]
    assert np.isnan(runs["psi"]).tolist() == [False, False, True, True]
    assert np.isnan(runs["missing"]).tolist() == [False, False, True, True]
    assert set(columns) == set(runs)
    assert np.isfinite(runs["total_regret"]).all()


DEPENDENT = "by_action:0=constant:1,1=never:0.2:geometric:3"


def test_a_study_may_have_delays_that_depend_on_what_is_played(tmp_path: Path) -> None:
    cell = Cell(
        world="chain-3", base="ucrl2", delay=DEPENDENT, updater="active", episodes=50, seeds=(0, 1)
    )
    other = dataclasses.replace(cell, delay="by_action:0=constant:2,1=never:0.2:geometric:3")
    assert cell.digest != other.digest
    assert cell.id != other.id
    sweep([cell, other], Store(tmp_path), threads=1, progress=False)
    runs = Results(tmp_path).runs()
    assert set(runs["law"]) == {"by_action"}
    assert np.isnan(runs["mean_delay"]).all()
    run = bl.simulate("chain-3", base="ucrl2", updater="active", delay=DEPENDENT, episodes=50)
    mine = (runs["delay"] == DEPENDENT) & (runs["seed"] == 0)
    assert runs["total_regret"][mine] == run.total_regret


def test_long_names_of_delays_are_shortened_in_ids() -> None:
    laws = ",".join(f"{state}=geometric:{100 + state}" for state in range(30))
    one, two = (f"by_state:0:{laws},else=constant:{n}" for n in (1, 2))
    cells = [dataclasses.replace(PLAIN, delay=delay) for delay in (one, two)]
    assert cells[0].id != cells[1].id
    assert max(len(part) for part in cells[0].id.split("/")) < 200
