"""The status line."""

import sys

import pytest

from belated.demo.status import OTHER_INTERVAL_S, TERMINAL_INTERVAL_S, StatusLine


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(seconds: list[float]) -> None:
    clock = Clock()
    line = StatusLine("HEADER", lambda passed: f"after {passed:g}", clock=clock)
    for clock.now in seconds:
        line.update()
    line.close()


def test_without_a_terminal_lines_are_printed_at_intervals(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown([0, OTHER_INTERVAL_S, OTHER_INTERVAL_S + 1, 2 * OTHER_INTERVAL_S])
    assert capsys.readouterr().out == "HEADER\nafter 10\nafter 20\n"


def test_on_a_terminal_the_line_is_rewritten(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown([TERMINAL_INTERVAL_S, 2 * TERMINAL_INTERVAL_S])
    out = capsys.readouterr().out
    assert out == "HEADER\n\r\x1b[2Kafter 0.5\r\x1b[2Kafter 1\n"


def test_nothing_is_printed_before_the_first_interval(capsys: pytest.CaptureFixture[str]) -> None:
    shown([0])
    assert capsys.readouterr().out == ""
