"""Backups that cannot be compiled."""

import inspect
from dataclasses import dataclass

import numpy as np
import pytest
from numba.core.errors import NumbaError

import belated as bl
from belated.compiled import JIT
from belated.learner.backup import describe_error, unseen
from belated.learner.bases import BackupRule


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
    with pytest.raises(
        TypeError,
        match=rf"^The backup wordy does not compile: .* \(line {line}\)\. A backup computes with "
        r"numbers and creates no arrays or objects\. Without @bl\.backup it runs as plain "
        r"Python\.$",
    ):
        bl.simulate(
            bl.chain(3),
            base=Wordy(),
            updater=bl.Active(),
            delay=bl.delays.constant(1),
            episodes=5,
        )


def test_the_cause_of_an_error_is_found_in_a_highlighted_message() -> None:
    error = NumbaError("unused")
    error.args = (
        "\x1b[1m\x1b[1mFailed in nopython mode pipeline (step: nopython frontend)\x1b[0m\n"
        "\x1b[1mUnknown attribute 'rewad' of type Row\n"
        '\x1b[1mFile "base.py", line 7:\x1b[0m',
    )
    assert describe_error(error) == "Unknown attribute 'rewad' of type Row (line 7)"
