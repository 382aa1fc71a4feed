"""Progress is shown once work has lasted two seconds: as a bar, or as lines in a log."""

import builtins
import io
import sys
from types import ModuleType, SimpleNamespace

import pytest

from belated.progress import Progress


class Clock:
    """Clock that stands still until it is set."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def show_progress(marks, *, shown, total=1000, unit="episodes"):
    """Update a progress display at each (seconds, done) of `marks`."""
    clock = Clock()
    with Progress("Working", total=total, unit=unit, shown=shown, clock=clock) as progress:
        for seconds, done in marks:
            clock.now = 100.0 + seconds
            progress.update(done)


def test_nothing_is_shown_before_two_seconds_have_passed(capsys):
    show_progress([(0.5, 100), (1.0, 500), (1.9, 1000)], shown=None)
    assert capsys.readouterr() == ("", "")


def test_lines_come_after_two_seconds_then_every_five_and_at_the_end(capsys):
    marks = [(t / 10, t) for t in range(1, 140)]
    show_progress(marks, shown=None)
    assert capsys.readouterr().err.splitlines() == [
        "Working: 20 of 1,000 episodes, 2%, 10 episodes/s, 1:38 left",
        "Working: 70 of 1,000 episodes, 7%, 10 episodes/s, 1:33 left",
        "Working: 120 of 1,000 episodes, 12%, 10 episodes/s, 1:28 left",
        "Working: 139 episodes in 0:14, 10 episodes/s",
    ]


def test_the_unit_can_be_chosen_and_more_than_the_total_counts_as_all_of_it(capsys):
    show_progress([(4.0, 2000), (64.0, 9000)], shown=None, total=8000, unit="rows")
    assert capsys.readouterr().err.splitlines() == [
        "Working: 2,000 of 8,000 rows, 25%, 500 rows/s, 0:12 left",
        "Working: 8,000 of 8,000 rows, 100%, 125 rows/s, 0:00 left",
        "Working: 9,000 rows in 1:04, 141 rows/s",
    ]


def test_no_time_is_given_before_enough_is_done(capsys):
    show_progress([(2.5, 9), (8.0, 10)], shown=None)
    first, second, _ = capsys.readouterr().err.splitlines()
    assert first.endswith(", -:-- left")
    assert second.endswith(", 13:12 left")


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
    show_progress([(3.0, 250), (4.0, 500)], shown=None)
    text = terminal.getvalue()
    assert "Working" in text
    assert "━" in text
    for part in (" 25%", "83 episodes/s, 0:09 left", " 50%", "125 episodes/s, 0:04 left"):
        assert part in text


def test_the_bar_disappears_and_stderr_is_restored_when_the_work_fails(monkeypatch):
    terminal = terminal_for(monkeypatch)

    def fail():
        with Progress("Working", total=10, shown=True):
            assert sys.stderr is not terminal
            raise ValueError("No.")

    with pytest.raises(ValueError, match="No"):
        fail()
    assert sys.stderr is terminal


class Output:
    """Output of a notebook cell that keeps every state it was in."""

    def __init__(self):
        self.texts = []

    def update(self, shown):
        bundle = shown._repr_mimebundle_([], [])
        self.texts.append((bundle["text/html"], bundle["text/plain"]))


def notebook_for(monkeypatch):
    """Return the output of a notebook, which has no terminal and no widgets."""
    output = Output()

    class ZMQInteractiveShell:
        """Shell of a notebook; rich recognises it by its name."""

    def display(shown, *, display_id):
        assert display_id
        output.update(shown)
        return output

    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return output


def test_a_notebook_gets_one_bar_that_is_replaced_and_stays(monkeypatch, capsys):
    output = notebook_for(monkeypatch)
    show_progress([(3.0, 250), (3.1, 260), (4.0, 500), (5.0, 1000)], shown=None)
    html, plain = zip(*output.texts, strict=True)
    assert len(html) == 5  # started, 250, 500 and 1000 units, and the end
    assert "25%" in plain[1]
    assert "125 episodes/s, 0:04 left" in plain[2]
    assert "100%" in plain[-1]
    assert "0:05, 200 episodes/s" in plain[-1]
    assert all("━" in text for text in html)
    assert not any("\x1b" in text for text in html)
    assert capsys.readouterr() == ("", "")


def test_ipython_without_a_notebook_gets_lines(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    show_progress([(3.0, 250)], shown=None)
    assert "250 of 1,000 episodes" in capsys.readouterr().err
