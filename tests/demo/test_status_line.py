"""One line that says how things stand."""

import sys

import pytest

from belated.demo.status_line import OTHER_INTERVAL_S, TERMINAL_INTERVAL_S, StatusLine


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


def test_elsewhere_it_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    shown([0, OTHER_INTERVAL_S, OTHER_INTERVAL_S + 1, 2 * OTHER_INTERVAL_S])
    assert capsys.readouterr().out == "HEADER\nafter 10\nafter 20\n"


def test_on_a_terminal_it_is_written_in_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown([TERMINAL_INTERVAL_S, 2 * TERMINAL_INTERVAL_S])
    out = capsys.readouterr().out
    assert out == "HEADER\n\r\x1b[2Kafter 0.5\r\x1b[2Kafter 1\n"


def test_nothing_is_shown_of_what_ended_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    shown([0])
    assert capsys.readouterr().out == ""
