"""The README is short and true; the code of docs/tour.md gives the numbers of its comments."""

import ast
import io
import math
import re
import tokenize
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tour.md").read_text(), re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(\.\.\.|…)?(?!\w)")
"""A number in a comment; dots after it stand for more digits."""


def comments_of(block: str) -> dict[int, str]:
    """Return the comments of a block by line."""
    tokens = tokenize.generate_tokens(io.StringIO(block).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def numbers_in(comment: str) -> list[tuple[str, float, float, float]]:
    """Return each number of a comment as text, value, and how far below and above is allowed.

    Numbers of fewer than three digits belong to the prose, as in "episode 1".
    """
    found = []
    for text, dots in NUMBER.findall(comment):
        digits = text.replace(",", "")
        if len(digits.replace(".", "")) >= 3:
            unit = 10.0 ** -len(digits.partition(".")[2])
            half = (0.0, unit) if dots else (unit / 2, unit / 2)
            found.append((text, float(digits), *half))
    return found


def largest_regret(statement: ast.stmt, names: dict[str, Any]) -> list[float]:
    """Return K V*_1(s_1) of each `bl.simulate` in a statement."""
    found = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "bl.simulate":
            given = {word.arg: word.value for word in node.keywords}
            world = eval(ast.unparse(node.args[0]), names)
            episodes = eval(ast.unparse(given["episodes"]), names)
            found.append(episodes * bl.optimal_value(world))
    return found


def scalars(value: Any) -> list[float]:
    """Return the numbers in a value, or in the parts of a tuple."""
    parts = value if isinstance(value, tuple) else (value,)
    return [float(part) for part in parts if isinstance(part, int | float | np.number)]


def run_block(block: str) -> tuple[dict[str, Any], list[str]]:
    """Run a block; return its names and the numbers of its comments, all of which must be true.

    A number beside an expression is one of its values, or the largest possible regret of the last
    simulation; a number beside an assignment is the value assigned.
    """
    names: dict[str, Any] = {"__name__": "readme"}
    comments, shown = comments_of(block), []
    limits: list[float] = []
    for statement in ast.parse(block).body:
        source = compile(ast.Module([statement], []), "<tour>", "exec")
        if isinstance(statement, ast.Expr):
            values = scalars(eval(ast.unparse(statement), names))
        else:
            exec(source, names)
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            values = [x for target in targets for x in scalars(eval(ast.unparse(target), names))]
        limits = largest_regret(statement, names) or limits
        if not isinstance(statement, ast.Expr | ast.Assign):
            continue
        for text, number, below, above in numbers_in(comments.get(statement.end_lineno or 0, "")):
            true = [x for x in values + limits if number - below <= x <= number + above]
            assert true, f"{ast.unparse(statement)} gives {values}, not {text}"
            shown.append(text)
    return names, shown


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_block_of_the_tour_runs_and_gives_the_numbers_it_shows(block: str) -> None:
    names, _ = run_block(block)
    assert math.isfinite(names["run"].total_regret)


def test_the_tour_shows_an_optimal_value_and_a_regret_out_of_its_maximum() -> None:
    _, shown = run_block(BLOCKS[0])
    assert len(shown) >= 3


@pytest.mark.parametrize("comment", ["0.374132601", "0.3741327", "0.37414...", "0.37412..."])
def test_a_number_that_is_not_true_is_noticed(comment: str) -> None:
    block = f"import belated as bl\nbl.optimal_value(bl.chain(30))  # {comment}\n"
    with pytest.raises(AssertionError, match=r"gives \[0\.37413.*\], not 0\.37"):
        run_block(block)


@pytest.mark.parametrize("comment", ["0.37413...", "0.374", "0.3741326", "about 0.374, 30 states"])
def test_a_number_is_rounded_or_cut_off_before_dots(comment: str) -> None:
    block = f"import belated as bl\nvalue = bl.optimal_value(bl.chain(30))  # {comment}\n"
    assert len(run_block(block)[1]) == 1


def test_the_largest_possible_regret_of_a_run_may_stand_beside_it() -> None:
    block = """
import belated as bl
run = bl.simulate(bl.chain(5), base=bl.UCRL2(), updater=bl.Active(), episodes=1_000)
run.updates  # 999, regret of at most {}
"""
    assert run_block(block.format("409.6"))[1] == ["999", "409.6"]
    with pytest.raises(AssertionError, match=r"not 410\.6"):
        run_block(block.format("410.6"))


README = (ROOT / "README.md").read_text()


def test_the_readme_fits_on_a_few_screens_and_begins_with_a_picture() -> None:
    lines = README.splitlines()
    assert len(lines) <= 120
    assert README.index("![") < README.index("```")
    assert "pip install" in README
    assert "make reproduce" in README
    assert "make test" in README


def test_the_code_of_the_readme_has_five_lines_and_its_numbers_are_true() -> None:
    [session] = re.findall(r"```pycon\n(.*?)```", README, re.DOTALL)
    assert len(session.splitlines()) == 5
    learner: dict[str, Any] = {"base": "ucrl2:scale=0.03", "updater": "lazy:10"}
    late = bl.simulate("chain-5", **learner, delay="geometric:100", episodes=1_000, seed=4)
    at_once = bl.simulate("chain-5", **learner, episodes=1_000, seed=4)
    largest = 1_000 * bl.optimal_value(bl.chain(5))
    sentence = f"lost a reward of {late.total_regret:.1f}, out of a maximum of {largest:.1f}"
    assert sentence in README
    assert f"Without delay it loses {at_once.total_regret:.1f}." in " ".join(README.split())


def test_the_tour_shows_every_part() -> None:
    assert len(BLOCKS) == 2
    for line in ("bl.optimal_value(world)", "bl.plan(", "learner.observe(", "learner.snapshot()"):
        assert line in BLOCKS[0]
