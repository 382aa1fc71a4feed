import json
import shlex

import pytest
from typer.testing import CliRunner

import belated as bl
from belated.cli.main import app
from belated.simulation import many
from belated.simulation.many import Interrupted

TINY = ["--world", "chain-4", "--episodes", 120, "--seeds", 3]


def call(*arguments, env=None):
    return CliRunner().invoke(app, ["run", *map(str, arguments)], env=env)


def settings(*arguments):
    """The settings of the JSON."""
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)["settings"]


def runs_of(base, updater, delay, **options):
    return bl.simulate_many(
        bl.chain(4),
        base=base,
        updater=updater,
        delay=delay,
        episodes=120,
        seeds=range(3),
        **options,
    )


def test_the_table_has_the_numbers_of_the_runs():
    done = call(*TINY, "--base", "ucrl2", "--updater", "lazy:10", "--delay", "geometric:20")
    assert done.exit_code == 0
    runs = runs_of(bl.UCRL2(), bl.Lazy(10), bl.delays.geometric(20))
    first, *_, row = [line for line in done.stdout.splitlines() if line.strip()]
    assert first == "chain-4, ucrl2, geometric:20: 3 runs of 120 episodes"
    regret = [run.total_regret for run in runs]
    mean = sum(regret) / 3
    cells = row.split()
    assert cells[:2] == ["lazy:10", f"{mean:.1f}"]
    assert cells[5] == f"{100 * mean / (120 * bl.optimal_value(bl.chain(4))):.1f}%"
    assert cells[6] == f"{sum(run.updates for run in runs) / 3:.0f}"
    assert cells[7] == f"{sum(run.epochs for run in runs) / 3:.0f}"
    most = max(run.max_missing for run in runs)
    assert cells[8:10] == [f"{most}", f"({bl.theory.psi(20, 120, 0.05):.1f})"]
    held = sum(run.optimism_broken == 0 for run in runs)
    assert cells[10:] == [f"{held}", "of", "3"]


def test_a_base_that_is_not_optimistic_is_not_judged_by_its_optimism():
    bases = ("--base", "psrl", "--base", "ucrl2", "--base", "random")
    done = call(*TINY, *bases)
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert rows["psrl"][-1] == rows["random"][-1] == "-"
    assert rows["ucrl2"][-3:] == ["3", "of", "3"]
    note = "Optimism: - for psrl and random, which are not designed to be optimistic."
    assert done.stdout.splitlines()[-1] == note
    held = {one["base"]: one["optimism_held"] for one in settings(*TINY, *bases)}
    assert held == {"psrl": None, "ucrl2": 3, "random": None}
    assert "Optimism: -" not in call(*TINY, "--base", "ucrl2").stdout


def test_json_has_every_setting_of_the_cross_product_with_its_numbers():
    found = settings(
        *TINY,
        *("--base", "ucrl2", "--base", "ucbvi-bf", "--updater", "active", "--updater", "lazy:2"),
        *("--delay", "constant:0", "--delay", "poisson:9"),
        *("--option", "scale=0.1", "--option", "ucbvi-bf.preset=two_term"),
    )
    bases = {
        "ucrl2": bl.UCRL2(scale=0.1),
        "ucbvi-bf": bl.UCBVI_BF(preset="two_term", scale=0.1),
    }
    updaters = {"active": bl.Active(), "lazy:2": bl.Lazy(2)}
    assert len(found) == 8
    assert len({one["setting"] for one in found}) == 8
    for one in found:
        law = bl.delays.parse(one["delay"])
        runs = runs_of(bases[one["base"]], updaters[one["updater"]], law)
        assert one["total_regret"] == pytest.approx([run.total_regret for run in runs])
        assert one["mean_regret"] == pytest.approx(sum(one["total_regret"]) / 3)
        assert one["low"] <= one["mean_regret"] <= one["high"]
        assert one["max_missing"] == max(run.max_missing for run in runs)
        assert one["optimism_held"] == sum(run.optimism_broken == 0 for run in runs)
        assert one["seeds"] == [0, 1, 2]


def test_the_command_in_the_json_gives_the_same_json_again():
    done = call(
        *TINY,
        *("--base", "belated.papers.howson2021.base:Published", "--option", "ties=random"),
        *("--stages", "pooled", "--updater", "explicit", "--delay", "uniform:2.5", "--json"),
    )
    command = json.loads(done.stdout)["command"]
    again = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json"])
    assert again.stdout == done.stdout


def test_settings_that_are_the_same_are_run_once():
    found = settings(
        *TINY,
        *("--base", "ucrl2", "--base", "ucrl2", "--updater", "active", "--updater", "active"),
        *("--delay", "geometric:0", "--delay", "constant:0"),
    )
    assert [one["setting"] for one in found] == ["chain-4/ucrl2/constant-0/active"]


def test_no_bound_on_what_is_missing_is_null_in_json_and_infinite_in_the_table():
    arguments = [*TINY, "--base", "ucrl2", "--delay", "never:0.2:constant:3"]
    assert settings(*arguments)[0]["psi"] is None
    assert " (∞) " in call(*arguments).stdout


def test_no_number_is_cut_off_on_a_narrow_terminal():
    arguments = [*TINY, "--base", "ucrl2", "--updater", "active", "--updater", "lazy:10"]
    wide, narrow = (call(*arguments, env={"COLUMNS": width}).stdout for width in ("200", "30"))
    assert narrow == wide
    assert "…" not in narrow


def test_the_figure_comes_as_pdf_and_png_and_leaves_stdout_to_the_json(tmp_path):
    figure = tmp_path / "new" / "plot.png"
    done = call(*TINY, "--base", "ucrl2", "--json", "--figure", figure)
    assert json.loads(done.stdout)["world"] == "chain-4"
    for kind, magic in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        path = figure.with_suffix(f".{kind}")
        assert path.read_bytes().startswith(magic)
        assert str(path) in done.stderr


def test_the_report_holds_the_table_and_the_command(tmp_path):
    file = tmp_path / "new" / "report.html"
    arguments = [*TINY, "--base", "ucrl2", "--updater", "active", "--updater", "lazy:3"]
    done = call(*arguments, "--report", file)
    assert done.exit_code == 0
    assert str(file) in done.stdout
    page = file.read_text()
    command = "belated run --world chain-4 --base ucrl2 --updater active --updater lazy:3"
    assert f"{command} --episodes 120 --seeds 3" in page
    for one in settings(*arguments):
        assert f'<td class="number">{one["mean_regret"]:.1f}</td>' in page
        assert f">{one['updater']}</t" in page


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--base", "ucrl2", "--option", "=1"], "'--option': option must be 'key=value', such as"),
        (["--base", "ucrl2", "--option", "ubev.scale=1"], "is for the base 'ubev', which"),
        (["--base", "ucrl2", "--figure", "x.svg"], "'--figure': figure must end in .pdf, "),
        (["--base", "ucrl2", "--report", "x.pdf"], "'--report': report must end in .html, "),
        (
            ["--base", "ucrl2:scale=0.1", "--option", "scale=0.2"],
            "'scale' of base 'ucrl2' is given twice",
        ),
        ([], "Missing option '--base'"),
    ],
)
def test_wrong_usage_leaves_with_2_and_a_sentence(arguments, sentence, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("It ran.")

    monkeypatch.setattr(many, "run_seeds", never)
    done = call(*TINY, *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert sentence in done.stderr


def test_what_cannot_run_is_said_after_what_could():
    done = call(
        *TINY,
        *("--base", "ucrl2", "--updater", "active", "--updater", "explicit"),
        *("--delay", "never:0.5:constant:1"),
    )
    assert done.exit_code == 2
    assert "\n active" in done.stdout
    assert "\n explicit" not in done.stdout
    assert done.stderr.startswith("explicit: The largest delay is infinite, ")


def test_ctrl_c_leaves_with_130_and_shows_and_draws_what_finished(monkeypatch, tmp_path):
    real = many.run_seeds

    def play(setting, seeds, **options):
        runs = real(setting, seeds, **options)
        if isinstance(setting.updater, bl.Lazy):
            raise Interrupted(runs[:2], 3)
        return runs

    monkeypatch.setattr(many, "run_seeds", play)
    updaters = ("--updater", "active", "--updater", "lazy:2", "--updater", "multi")
    done = call(*TINY, "--base", "ucrl2", *updaters, "--figure", tmp_path / "plot")
    assert done.exit_code == 130
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if " of " in line[20:]}
    assert rows["active"].rstrip().endswith("of 3")
    assert rows["lazy:2"].rstrip().endswith("of 2")
    assert "multi" not in rows
    assert (tmp_path / "plot.png").exists()
    assert done.stderr == "Interrupted: 5 of 9 runs were finished.\n"


def test_a_delay_may_depend_on_what_is_played():
    delay = "by_action:0=constant:5,1=never:0.1:geometric:20"
    done = call(*TINY, "--base", "ucrl2", "--delay", delay)
    assert done.exit_code == 0, done.stderr
    runs = runs_of("ucrl2", "active", delay)
    most = max(run.max_missing for run in runs)
    assert f"{most} (-)" in done.stdout
    [row] = settings(*TINY, "--base", "ucrl2", "--delay", delay)
    assert (row["delay"], row["psi"]) == (delay, None)
    assert row["total_regret"] == [run.total_regret for run in runs]
