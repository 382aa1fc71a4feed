from html.parser import HTMLParser

import numpy as np
import pytest

import belated as bl
from belated.html import format_cell
from belated.mdp.classics import garnet
from belated.mdp.html import describe_html


class Reader(HTMLParser):
    """Parser that collects the rows of all tables and checks that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.tags = [], [], set()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_a_small_world_shows_its_numbers_and_its_transitions():
    page = Reader(describe_html(bl.chain(2)))
    assert page.rows == [
        ["size", "2 states, 2 actions, 2 steps"],
        ["transitions", "the same at every step"],
        ["successors", "6, at most 2 per state and action"],
        ["rewards", "0 to 1, the same at every step, deterministic"],
        ["first state", "0"],
        ["state", "action", "mean reward", "successors"],
        ["0", "0", "0", "0 (1)"],
        ["0", "1", "0", "0 (0.5), 1 (0.5)"],
        ["1", "0", "1", "0 (1)"],
        ["1", "1", "1", "0 (0.5), 1 (0.5)"],
    ]


def test_a_large_world_stays_small_on_the_page():
    text = describe_html(garnet(300, 4, horizon=20, branching=5))
    assert len(Reader(text).rows) == 5
    assert "300 states, 4 actions, 20 steps" in text
    assert "6,000, at most 5 per state and action" in text
    assert len(text) < 1000


def test_transitions_that_differ_by_step_are_not_listed():
    p = np.full((3, 2, 1, 2), 0.5)
    for draws, phrase in (("bernoulli", "Bernoulli draws"), ("beta", "Beta draws")):
        changing = bl.MDP.dense(p, np.zeros((3, 2, 1)), reward_draws=draws)
        rows = dict(Reader(describe_html(changing)).rows)
        assert rows["transitions"] == "different for each step"
        assert rows["rewards"] == f"0 to 0, different for each step, {phrase}"


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (2, "2"),
        ([0.25, 0, 0.75, 0, 0, 0], "0 (0.25), 2 (0.75)"),
        (np.full(6, 1 / 6), "one of 6"),
    ],
)
def test_the_first_state_is_named_while_there_are_few(start, said):
    world = bl.MDP.dense(np.full((6, 1, 6), 1 / 6), np.zeros((6, 1)), horizon=2, start=start)
    assert dict(row for row in Reader(describe_html(world)).rows[:5])["first state"] == said


def test_text_is_escaped():
    assert "&lt;b&gt; &amp; &quot;" in format_cell("td", '<b> & "')
