import json
import math

import pytest
import typer
from typer.testing import CliRunner

from belated import theory
from belated.cli.bounds import bounds
from belated.episode import Shape
from belated.theory.bonus import BASES

app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(bounds)

SHAPE = Shape(30, 2, 30)
LATE = {"episodes": 100_000, "mean_delay": 300}
CHAIN = ["--states", 30, "--actions", 2, "--horizon", 30]
ASKED = [*CHAIN, "--episodes", 100_000, "--mean-delay", 300]
TINY = ["--states", 2, "--actions", 2, "--horizon", 2, "--mean-delay", 3]


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_answer_is_said_in_sentences():
    text = call(*ASKED).stdout
    assert "At most 412 episodes are missing at a time, with probability 99% (psi)." in text
    assert "ucrl2 1.79, ucrl2b inf" in text
    assert "(inf is active updating: there, the bound of lazy updating, Theorem 2," in text


def test_numbers_that_say_nothing_are_called_vacuous():
    long = call(*TINY, "--episodes", 10**4).stdout
    assert "Every bound is vacuous (*): it is above K H = 20,000, the maximum" in long
    longer = call(*TINY, "--episodes", 10**6).stdout
    stars = sum("e+" in line and "*" in line for line in longer.splitlines())
    assert 0 < stars < 14
    assert f"{stars} of 14 bounds are vacuous (*): they are above K H = 2,000,000, the" in longer
    longest = call(*TINY, "--episodes", 10**12).stdout
    assert "No bound is vacuous: each is below K H = 2,000,000,000,000" in longest
    assert "*" not in longest


def test_json_has_everything_once():
    result = json.loads(call(*ASKED, "--json").stdout)
    sizes = {"states": 30, "actions": 2, "horizon": 30}
    assert result["asked"] == {**sizes, **LATE, "alpha": 10, "delta": 0.05}
    assert result["psi"] == theory.psi(300, 100_000, 0.05)
    assert result["most_regret"] == 3_000_000
    orders = theory.table_1(SHAPE, **LATE, alpha=10)
    assert [(one["base"], one["updating"]) for one in result["promises"]] == [
        (row.base, updating) for row in orders for updating in ("active", "lazy")
    ]
    [first, *_] = result["promises"]
    bound = theory.theorem_1("ubev", SHAPE, **LATE)
    assert first["order"]["total"] == orders[0].active.total
    assert first["bound"]["delay"] == bound.delay
    assert first["bound"]["vacuous"] is True
    for base in BASES:
        best = theory.best_alpha(SHAPE, **LATE, base=base)
        assert result["best_alpha"][base] == ("inf" if math.isinf(best) else best)


def test_an_infinite_mean_delay_is_still_json():
    result = json.loads(call(*ASKED[:-1], "inf", "--json").stdout)
    assert result["psi"] == "inf"
    assert result["promises"][0]["bound"]["total"] == "inf"


@pytest.mark.parametrize(
    ("wrong", "option", "sentence"),
    [
        (["--states", 0], "--states", "states must be at least 1, got 0."),
        (["--states", 10**10], "--states", "states must be at most 1,000,000,000, got 10000000000"),
        (["--mean-delay", "nan"], "--mean-delay", "mean_delay must be at least 0, got nan."),
        (["--alpha", 0.5], "--alpha", "alpha must be at least 1 (inf is active updating), got 0.5"),
        (["--delta", 1], "--delta", "delta must lie strictly between 0 and 1, got 1.0."),
    ],
)
def test_nonsense_leaves_with_2_and_one_sentence(wrong, option, sentence):
    done = call(*ASKED, *wrong)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert f"Invalid value for '{option}': " in done.stderr
    assert sentence in done.stderr
