"""Backups that cannot be compiled."""

import inspect
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import belated as bl
from belated.cli.main import app
from belated.compiled import JIT
from belated.learner.backup import mean, unseen, variance
from belated.learner.bases import BackupRule
from belated.learner.planning.loops import loops_of
from belated.learner.problem import LearningProblem
from belated.learner.state import LearnerRecord, configure, empty_state


@bl.backup
def wordy(constants, stage, row):
    if row.n == 0:
        return unseen(stage, row)
    return "much" + row.reward


@dataclass(frozen=True)
class Wordy(bl.Base):
    name = "wordy"

    def backup_rule(self, shape, episodes):
        return BackupRule(wordy, np.zeros(1), reads="successors")


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_a_backup_that_does_not_compile_raises_an_error_with_its_line() -> None:
    source, first = inspect.getsourcelines(wordy.function)
    line = first + source.index('    return "much" + row.reward\n')
    place = rf"\(test_backup\.py, line {line}\)\."
    with pytest.raises(TypeError, match=rf"^The backup wordy fails: TypeError: .* {place}$"):
        bl.simulate("chain-3", base=Wordy(), updater="active", delay="constant:1", episodes=5)
    advice = (
        r"A backup computes with numbers and creates no arrays or objects\. Without @bl\.backup it "
        r"runs as plain Python\."
    )
    cause = r"No implementation of add\(str, float64\)"
    with pytest.raises(
        TypeError, match=f"^The backup wordy does not compile: {cause} {place} {advice}$"
    ):
        loops_of(BackupRule(wordy, np.zeros(1)), record_of(Wordy()))


def record_of(base: bl.Base) -> LearnerRecord:
    problem = LearningProblem(
        shape=bl.Shape(2, 2, 2), base=base, updater=bl.Active(), rewards=None, episodes=1
    )
    return LearnerRecord(configure(problem, 0), empty_state(problem))


@bl.backup
def incomplete(constants, stage, row):
    return row.reward + variance(stage, row)


@bl.backup
def crowded(constants, stage, row):
    return mean(stage, row, 1.0)


@bl.backup
def misspelt(constants, stage, row):
    return row.rewad


@bl.backup
def nameless(constants, stage, row):
    return misspelt_name + row.reward  # noqa: F821


@bl.backup
def swapped(constants, stage, row):
    return mean(row, stage)


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("backup", "cause", "has_line"),
    [
        (incomplete, "variance() needs the argument centre", True),
        (crowded, "mean() has too many positional arguments", True),
        (misspelt, "Unknown attribute 'rewad' of type Row", True),
        (nameless, "NameError: name 'misspelt_name' is not defined", False),
        (swapped, "Unknown attribute 'lo' of type Stage", True),
    ],
)
def test_a_mistake_in_a_backup_is_told_in_one_sentence_with_its_own_line(
    backup: bl.Backup, cause: str, has_line: bool
) -> None:
    with pytest.raises(TypeError) as caught:
        loops_of(BackupRule(backup, np.zeros(1)), record_of(Wordy()))
    line = inspect.getsourcelines(backup.function)[1] + 2
    where = f" (test_backup.py, line {line})" if has_line else ""
    name = backup.function.__name__
    assert str(caught.value) == f"The backup {name} does not compile: {cause}{where}."


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
@pytest.mark.parametrize("command", ["sweep", "run", "calibrate"])
def test_commands_report_a_backup_that_does_not_compile_in_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    base = f"{__name__}:Wordy"
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    Path("study.toml").write_text(
        f'name = "s"\nepisodes = 5\nseeds = 1\nworlds = ["chain-3"]\nbases = ["{base}"]\n'
        'updaters = ["active"]\ndelays = ["constant:0"]\n'
    )
    words = ["--world", "chain-3", "--base", base, "--episodes", "5", "--seeds", "1"]
    done = CliRunner().invoke(app, [command, *(["study.toml"] if command == "sweep" else words)])
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("The backup wordy fails: TypeError: can only concatenate str")
