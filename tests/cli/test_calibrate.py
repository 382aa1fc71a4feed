import shlex

import pytest
from typer.testing import CliRunner

import belated as bl
from belated.cli.calibrate import FIRST_SEED as CLI_FIRST_SEED
from belated.cli.main import app
from belated.simulation.calibrate import FIRST_SEED, calibrate
from belated.simulation.calibration_table import read_table
from belated.simulation.many import Interrupted
from belated.sweep.study import read_study

TINY = ["--world", "chain-3", "--episodes", 150, "--seeds", 10]
TWO_TERM = ["--base", "ucbvi-bf", "--preset", "two_term"]


def call(*arguments):
    return CliRunner().invoke(app, ["calibrate", *map(str, arguments)])


@pytest.fixture(scope="module")
def expected():
    base = bl.UCBVI_BF(preset="two_term")
    seeds = range(FIRST_SEED, FIRST_SEED + 10)
    return calibrate(bl.chain(3), base=base, episodes=150, seeds=seeds)


def test_the_table_has_every_scale_tried_and_marks_the_chosen_one(expected):
    done = call(*TINY, *TWO_TERM)
    assert done.exit_code == 0
    rows = [line.split() for line in done.stdout.splitlines() if "%" in line and "of 10 " in line]
    table = [row for row in rows if row[0] != "Scale"]
    assert [float(row[0]) for row in table] == sorted(trial.scale for trial in expected.tried)
    for row in table:
        trial = next(trial for trial in expected.tried if f"{trial.scale:g}" == row[0])
        low, high = (f"{100 * end:.1f}%" for end in trial.interval)
        regret = f"{trial.mean_regret:,.1f}"
        mark = ["chosen"] if trial.scale == expected.scale else []
        assert row[1:] == [f"{trial.held}", "of", "10", low, "to", high, regret, *mark]


def test_the_command_it_advises_runs_at_the_chosen_scale(expected):
    done = call(*TINY, "--base", "ucbvi-bf", "--option", "preset=two_term", "--stages", "pooled")
    line = next(line for line in done.stdout.splitlines() if line.startswith("  belated run "))
    again = CliRunner().invoke(app, [*shlex.split(line)[1:], "--seeds", "10"])
    assert again.exit_code == 0
    chosen = next(row for row in done.stdout.splitlines() if row.endswith("chosen "))
    held = " ".join(chosen.split()[1:4])
    assert again.stdout.rstrip().endswith(held)
    assert "pooled counts" in again.stdout


def test_a_new_study_file_is_one_that_a_sweep_reads(tmp_path, expected):
    file = tmp_path / "deep" / "new.toml"
    done = call(*TINY, *TWO_TERM, "--write", file)
    assert done.exit_code == 0
    assert f"Wrote scale = {expected.scale} to {file}." in done.stdout
    study = read_study(file)
    assert (study.name, study.worlds, study.episodes) == ("new", ["chain-3"], 150)
    assert dict(study.bases[0].options) == {"preset": "two_term", "scale": expected.scale}
    for line in file.read_text().splitlines():
        assert line in done.stdout


def test_an_existing_file_is_refused_before_anything_runs(tmp_path, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("It ran.")

    monkeypatch.setattr("belated.simulation.calibrate.run_search", never)
    file = tmp_path / "old.toml"
    file.write_text("mine")
    done = call(*TINY, *TWO_TERM, "--write", file)
    assert done.exit_code == 2
    assert f"'--write': {file} already exists; choose a new file." in done.stderr
    assert file.read_text() == "mine"


TABLE = ["--base", "ucbvi-ch", "--delay", "constant:0", "--delay", "geometric:20"]


def test_a_table_has_the_scale_of_every_setting_and_is_continued(tmp_path, monkeypatch):
    file = tmp_path / "scales.json"
    done = call(
        *TINY, *TABLE, *TWO_TERM[:2], "--option", "ucbvi-bf.preset=two_term", "--table", file
    )
    assert done.exit_code == 0
    rows = read_table(file)
    assert [(row.base, row.delay) for row in rows] == [
        ("ucbvi-ch", "constant:0"),
        ("ucbvi-ch", "geometric:20"),
        ("ucbvi-bf:preset=two_term", "constant:0"),
        ("ucbvi-bf:preset=two_term", "geometric:20"),
    ]
    alone = bl.calibrate(
        bl.chain(3),
        base=bl.UCBVI_CH(),
        delay="geometric:20",
        episodes=150,
        seeds=range(FIRST_SEED, FIRST_SEED + 10),
    )
    assert (rows[1].scale, rows[1].held) == (alone.scale, alone.held)
    assert f"{rows[1].scale:g}" in done.stdout
    # what the file holds is not calibrated again
    before = file.read_bytes()
    monkeypatch.setattr("belated.simulation.calibration_table.run_seeds", None)
    assert call(*TINY, *TABLE, "--table", file).exit_code == 0
    assert file.read_bytes() == before


def test_a_device_is_chosen_for_many_settings_only():
    done = call(*TINY, *TWO_TERM, "--device", "gpu")
    assert done.exit_code == 2
    assert "--device gpu is for many settings: add --table FILE." in done.stderr


def test_several_settings_need_a_table():
    done = call(*TINY, *TABLE)
    assert done.exit_code == 2
    assert "--table FILE is needed for 2 settings" in done.stderr


def test_the_default_seeds_of_the_command_are_those_of_the_function():
    assert CLI_FIRST_SEED == FIRST_SEED


def test_it_says_so_if_the_lowest_scale_is_enough():
    done = call(*TINY, "--base", "threshold_base:Threshold", "--option", "needs=0")
    assert done.exit_code == 0
    assert (
        "Even at scale 0.0001, the lowest tried, optimism held throughout in 10 of" in done.stdout
    )


def test_a_base_that_is_never_optimistic_leaves_with_1_and_what_was_tried():
    done = call(*TINY, "--base", "threshold_base:Threshold", "--option", "needs=inf")
    assert done.exit_code == 1
    assert done.stdout.count("0 of 10") == 11
    assert "Optimism held in only 0 of 10 runs at scale 1024, " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--base", "ucrl2", "--preset", "x"], "'--base': base 'ucrl2' has no option 'preset'"),
        (["--base", "ucrl2", "--option", "scale=1"], "'--option': option scale must not be given"),
        (["--base", "psrl"], "base must be optimistic and have a scale, got 'psrl'"),
        (["--base", "ucrl2", "--optimism", "x"], "'x' is not one of 'start', 'everywhere'"),
        (["--base", "ucrl2", "--lowest", "2"], "strictly between 0 and 1"),
    ],
)
def test_wrong_usage_leaves_with_2_and_a_sentence(arguments, sentence):
    done = call(*TINY, *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert sentence in done.stderr


def test_ctrl_c_leaves_with_130_and_shows_the_scales_tried(monkeypatch):
    from belated.simulation import calibrate as module

    real = module.run_seeds

    def run_seeds(simulation, seeds, **options):
        if simulation.base.scale < 0.1:
            raise Interrupted([], 10)
        return real(simulation, seeds, **options)

    monkeypatch.setattr(module, "run_seeds", run_seeds)
    done = call(*TINY, *TWO_TERM, "--lowest", "0.5")
    assert done.exit_code == 0
    done = call(*TINY, *TWO_TERM)
    assert done.exit_code == 130
    assert "10 of 10" in done.stdout
    assert "chosen" not in done.stdout
    assert done.stderr == "Interrupted before a scale was found.\n"
