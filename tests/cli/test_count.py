"""Progress is shown once it has lasted two seconds, and now and then."""

import io
import sys

import pytest

from belated.cli.count import Count


class Clock:
    """Time that goes by when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """Standard error, as if somebody looked."""

    def isatty(self) -> bool:
        return True


def test_short_work_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Count("Copying", 10, clock=clock) as count:
        for clock.now in (0.5, 1.0, 1.9):
            count.add()
    assert capsys.readouterr() == ("", "")


def test_long_work_tells_the_time_left_every_five_seconds_in_a_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with Count("Copying", 8000, clock=clock) as count:
        for clock.now in (1.0, 2.0, 3.0, 6.0, 61.0):
            count.add(1000)
    assert capsys.readouterr().err.splitlines() == [
        "Copying: 2,000 of 8,000 rows, 0:06 left",
        "Copying: 5,000 of 8,000 rows, 0:37 left",
    ]


def test_long_work_has_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, screen = Clock(), Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with Count("Copying", 4, clock=clock) as count:
        for clock.now in (1.0, 2.5, 3.0):
            count.add()
    assert "Copying" in screen.getvalue()
    assert " 75%" in screen.getvalue()
    assert screen.getvalue().count(" left") > 0


def test_what_goes_by_is_the_same_and_is_counted() -> None:
    with Count("Copying", 3) as count:
        assert list(count.over("abc")) == ["a", "b", "c"]
    assert count.done == 3
