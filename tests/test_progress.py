import io
import sys

import pytest

from belated.progress import Pace, Progress


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def watched(marks, *, shown, total=1000):
    """Progress told of (seconds, episodes) pairs."""
    clock = Clock()
    with Progress("Working", total=total, shown=shown, clock=clock) as progress:
        for seconds, done in marks:
            clock.now = 100.0 + seconds
            progress.update(done)


def test_nothing_is_shown_before_two_seconds_have_passed(capsys):
    watched([(0.5, 100), (1.0, 500), (2.0, 1000)], shown=None)
    assert capsys.readouterr() == ("", "")


def test_lines_come_after_two_seconds_then_every_five_and_at_the_end(capsys):
    marks = [(t / 10, t) for t in range(1, 140)]
    watched(marks, shown=None)
    assert capsys.readouterr().err.splitlines() == [
        "Working: 21 of 1,000 episodes, 2%, 10 episodes/s, 1:38 left",
        "Working: 71 of 1,000 episodes, 7%, 10 episodes/s, 1:33 left",
        "Working: 121 of 1,000 episodes, 12%, 10 episodes/s, 1:28 left",
        "Working: 139 episodes in 0:14, 10 episodes/s",
    ]


def test_true_shows_from_the_start(capsys):
    watched([(0.1, 1000)], shown=True)
    assert capsys.readouterr().err.splitlines() == [
        "Working: 0 of 1,000 episodes, 0%, 0 episodes/s, -:-- left",
        "Working: 1,000 episodes in 0:00, 10,000 episodes/s",
    ]


def test_false_is_silent_however_long_it_takes(capsys):
    watched([(10.0, 100), (20.0, 200)], shown=False)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal_for(monkeypatch):
    """A terminal as stderr; not a fixture, since pytest sets stderr anew for the test itself."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_a_terminal_gets_a_bar_with_percentage_rate_and_time_left(monkeypatch):
    terminal = terminal_for(monkeypatch)
    watched([(3.0, 250), (4.0, 500)], shown=None)
    text = terminal.getvalue()
    assert "Working" in text
    assert "━" in text
    for part in (" 25%", "83 episodes/s, 0:09 left", " 50%", "125 episodes/s, 0:04 left"):
        assert part in text


def test_a_terminal_stays_clean_for_short_work(monkeypatch):
    terminal = terminal_for(monkeypatch)
    watched([(1.0, 500), (1.9, 1000)], shown=None)
    assert terminal.getvalue() == ""


def test_the_bar_goes_and_stderr_comes_back_when_the_work_fails(monkeypatch):
    terminal = terminal_for(monkeypatch)

    def fail():
        with Progress("Working", total=10, shown=True):
            assert sys.stderr is not terminal
            raise ValueError("No.")

    with pytest.raises(ValueError, match="No"):
        fail()
    assert sys.stderr is terminal


def test_a_hundred_percent_means_done():
    assert Pace(999, 1000, 1.0).percent == 99
    assert Pace(1000, 1000, 1.0).percent == 100
