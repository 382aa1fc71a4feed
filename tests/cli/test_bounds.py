import json
import math
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from belated import theory
from belated.cli.bounds import bounds
from belated.episode import Shape
from belated.theory.bonus import BASES

app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command()(bounds)

CHAIN = ["--states", 30, "--actions", 2, "--horizon", 30]
ASKED = [*CHAIN, "--episodes", 100_000, "--mean-delay", 300]
TINY = ["--states", 2, "--actions", 2, "--horizon", 2, "--mean-delay", 3]


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def promises():
    return theory.compare(Shape(30, 2, 30), episodes=100_000, mean_delay=300)


def test_the_tables_have_a_row_for_each_base_and_way_to_update(promises):
    done = call(*ASKED)
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    orders, bounds = (
        lines[lines.index(f"{kind} leading delay total delay < leading") :]
        for kind in ("Orders", "Bounds")
    )
    for promise in promises:
        updating = {
            "lazy": "lazy, alpha 10",
            "multi": "multi-instance",
            "explicit": "explicit exploration",
        }.get(promise.updating, promise.updating)
        row = f"{promise.base or 'any'} {updating}"
        order, bound = promise.order, promise.bound
        fades = promise.order_fades
        fades = "at no K < 1e+18" if fades is None else f"from K = {fades:.2g}"
        assert f"{row} {order.leading:.2g} {order.delay:.2g} {order.total:.2g} {fades}" in orders
        if bound is None:
            assert not any(line.startswith(row) for line in bounds)
            continue
        fades = promise.bound_fades
        fades = "at every K" if fades == 1 else f"from K = {fades:.2g}"
        assert f"{row} {bound.leading:.2g} {bound.delay:.2g} {bound.total:.2g}* {fades}" in bounds


def test_the_tables_fit_a_small_terminal():
    rows = [line for line in call(*ASKED).stdout.splitlines() if line.startswith(" ")]
    assert len(rows) > 40
    assert max(map(len, rows)) <= 80


def test_the_answer_is_said_in_sentences():
    text = call(*ASKED).stdout
    assert "At most 412 episodes are missing at a time, with probability 99% (psi)." in text
    assert (
        "The delay term is at least as large as the leading term in the order of active with every "
        "base; "
        "lazy with every base; multi-instance with every base." in text
    )
    assert "The smallest order is that of active with ucrl2 and kl-ucrl, 1e+08;" in text
    assert "at least of the order 4e+05" in text
    assert "ucrl2 1.79, ucrl2b inf" in text
    assert "(inf is active updating: there, the bound of lazy updating, Theorem 2," in text
    assert "tau_max = E[tau] = 300, the smallest possible value" in text


def test_numbers_that_say_nothing_are_called_vacuous():
    assert (
        "Every total is vacuous (*): it is above K H = 3,000,000, the maximum"
        in call(*ASKED).stdout
    )
    long = call(*TINY, "--episodes", 10**4).stdout
    assert "Every bound is vacuous (*): it is above K H = 20,000, the maximum" in long
    longer = call(*TINY, "--episodes", 10**6).stdout
    stars = sum("e+" in line and "*" in line for line in longer.splitlines())
    assert 0 < stars < 14
    assert (
        f"{stars} of 14 bounds are vacuous (*): they are above K H = 2,000,000, the maximum"
        in longer
    )
    longest = call(*TINY, "--episodes", 10**12).stdout
    assert "No bound is vacuous: each is below K H = 2,000,000,000,000" in longest
    assert "*" not in longest


def test_no_method_is_preferred_by_totals_above_the_maximum_regret():
    assert "At this K no total is a reason to prefer a method" in call(*ASKED).stdout
    assert "reason to prefer" not in call(*TINY, "--episodes", 10**4).stdout


def test_a_delay_term_that_is_always_smaller_is_explained():
    text = call(*ASKED).stdout
    assert "ubev       lazy, alpha 10  2.3e+11  1.2e+09  2.3e+11*        at every K" in text
    assert "does not mean that delay costs nothing: the bound without delay is loose." in text
    assert "costs nothing" not in call(*ASKED[:-1], 0).stdout


def test_explicit_exploration_is_compared_only_if_the_longest_delay_is_known():
    asked = ["--states", 5, "--actions", 2, "--horizon", 5, "--episodes", 10**4, "--mean-delay", 10]
    assert "The smallest order is that of active with ucrl2 and kl-ucrl, 2.3e+04;" in (
        call(*asked).stdout
    )
    known = call(*asked, "--longest-delay", 20).stdout
    assert "The smallest order is that of explicit exploration with any base, 2e+04;" in known


def test_what_dominates_is_listed_where_it_depends():
    late = call("--states", 5, "--actions", 2, "--horizon", 5, *ASKED[6:8], "--mean-delay", 30)
    assert "in the order of active with ubev, ucbvi-ch, ucbvi-bf" in late.stdout
    at_once = call(*ASKED[:-1], 0)
    assert "In every order, the leading term is larger than the delay term." in at_once.stdout
    lost = call(*ASKED[:-1], "inf")
    assert "In every order, the delay term is at least as large as the leading term." in lost.stdout


def test_alpha_and_the_longest_delay_are_taken():
    text = call(*ASKED, "--alpha", 2.5, "--longest-delay", 4000).stdout
    assert "lazy, alpha 2.5" in text
    assert "the smallest possible value" not in text
    explicit = theory.explicit_exploration(Shape(30, 2, 30), episodes=100_000, longest_delay=4000)
    assert f"{explicit.delay:.2g}  {explicit.total:.2g}" in text


def test_json_has_everything_once(promises):
    done = call(*ASKED, "--json")
    result = json.loads(done.stdout)
    assert result["asked"] == {
        "states": 30,
        "actions": 2,
        "horizon": 30,
        "episodes": 100_000,
        "mean_delay": 300,
        "alpha": 10,
        "delta": 0.05,
        "longest_delay": None,
    }
    assert result["psi"] == theory.psi(300, 100_000, 0.05)
    assert result["most_regret"] == 3_000_000
    assert len(result["promises"]) == len(promises)
    for one, promise in zip(result["promises"], promises, strict=True):
        assert (one["base"], one["updating"]) == (promise.base, promise.updating)
        assert one["order"]["total"] == promise.order.total
        assert one["order"]["delay_fades_at"] == promise.order_fades
        assert (one["bound"] is None) == (promise.bound is None)
        if promise.bound is not None:
            assert one["bound"]["delay"] == promise.bound.delay
            assert one["bound"]["vacuous"] == promise.bound.vacuous
    for base in BASES:
        best = theory.best_alpha(Shape(30, 2, 30), episodes=100_000, mean_delay=300, base=base)
        assert result["best_alpha"][base] == ("inf" if math.isinf(best) else best)


def test_an_infinite_mean_delay_is_still_json():
    result = json.loads(call(*ASKED[:-1], "inf", "--json").stdout)
    assert result["psi"] == "inf"
    assert result["promises"][0]["bound"]["total"] == "inf"


@pytest.mark.parametrize("name", ["bounds.png", "deep/bounds.pdf"])
def test_a_picture_is_drawn_where_it_is_wanted(name, tmp_path):
    done = call(*TINY, "--episodes", 1000, "--plot", tmp_path / name)
    assert done.exit_code == 0
    assert (tmp_path / name).read_bytes()[:4] in (b"\x89PNG", b"%PDF")
    assert f"Drew {tmp_path / name}." in done.stdout


@pytest.mark.parametrize(
    ("wrong", "option", "sentence"),
    [
        (["--states", 0], "--states", "states must be at least 1, got 0."),
        (["--actions", -1], "--actions", "actions must be at least 1, got -1."),
        (["--horizon", 0], "--horizon", "horizon must be at least 1, got 0."),
        (["--episodes", 0], "--episodes", "episodes must be at least 1, got 0."),
        (["--states", 10**10], "--states", "states must be at most 1,000,000,000, got 10000000000"),
        (["--mean-delay", -1], "--mean-delay", "mean_delay must be at least 0, got -1.0."),
        (["--mean-delay", "nan"], "--mean-delay", "mean_delay must be at least 0, got nan."),
        (["--alpha", 0.5], "--alpha", "alpha must be at least 1 (inf is active updating), got 0.5"),
        (["--delta", 0], "--delta", "delta must lie strictly between 0 and 1, got 0.0."),
        (["--delta", 1], "--delta", "delta must lie strictly between 0 and 1, got 1.0."),
        (["--longest-delay", -3], "--longest-delay", "longest_delay must be at least 0, got -3.0."),
        (["--plot", "bounds.jpg"], "--plot", "path must end in .pdf or .png, got bounds.jpg."),
    ],
)
def test_nonsense_leaves_with_2_and_one_sentence(wrong, option, sentence):
    done = call(*ASKED, *wrong)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert f"Invalid value for '{option}': " in done.stderr
    assert sentence in done.stderr


def test_an_alpha_without_end_cannot_be_drawn(tmp_path):
    done = call(*ASKED, "--alpha", "inf", "--plot", tmp_path / "a.png")
    assert done.exit_code == 2
    assert "alpha must be finite to be drawn, got inf." in done.stderr


def test_the_answer_needs_no_compiler():
    script = (
        "import sys; sys.argv = ['bounds', *sys.argv[1:]]; import typer; "
        "from belated.cli.bounds import bounds; app = typer.Typer(); app.command()(bounds); "
        "app(standalone_mode=False); "
        "print(sorted({'numba', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    arguments = [sys.executable, "-c", script, *map(str, ASKED)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
