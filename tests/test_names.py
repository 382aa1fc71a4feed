"""Texts that name a base, an updater, a delay law or a world: the same in Python, studies and
the command line."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

import belated as bl
import own_parts
from belated.cli.main import app
from belated.sweep.study import Study, read_study

USUAL: dict[str, Any] = {
    "world": "chain-3",
    "base": "ucrl2:scale=0.1",
    "updater": "active",
    "delay": "constant:2",
}
EPISODES = 40

TEXTS: list[tuple[str, str, Any]] = [
    ("world", "chain-4", bl.chain(4)),
    ("world", "own_parts:OWN_WORLD", own_parts.OWN_WORLD),
    ("world", "own_parts:own_world", bl.chain(3)),
    ("world", "own_parts:own_world:states=5", bl.chain(5)),
    ("world", "own_parts:own_world:5", bl.chain(5)),
    ("base", "ucrl2", bl.UCRL2()),
    ("base", "ucrl2:scale=0.1,ties=random", bl.UCRL2(scale=0.1, ties="random")),
    ("base", "ucbvi-bf: preset=two_term, scale=0.03", bl.UCBVI_BF(preset="two_term", scale=0.03)),
    ("base", "own_parts:OWN_BASE", own_parts.OWN_BASE),
    ("base", "own_parts:OwnBase", own_parts.OwnBase()),
    (
        "base",
        "own_parts:OwnBase:scale=0.3,monotone=true",
        own_parts.OwnBase(scale=0.3, monotone=True),
    ),
    ("base", "own_parts:own_base:0.4,ties=random", own_parts.OwnBase(scale=0.4, ties="random")),
    ("base", "own_parts:Bases.Inner:scale=0.3", own_parts.OwnBase(scale=0.3)),
    ("updater", "lazy:10", bl.Lazy(10)),
    ("updater", "lazy:alpha=10", bl.Lazy(10)),
    ("updater", "lazy:auto", bl.Lazy("auto")),
    ("updater", "explicit:threshold=3,unit=sh", bl.ExplicitExploration(threshold=3, unit="sh")),
    ("updater", "multi", bl.MultiInstance()),
    ("updater", "batched:doubling", bl.Batched()),
    ("updater", "scheduled:5,arrivals", bl.Scheduled(5, "arrivals")),
    ("updater", "matured:5:lazy:10", bl.Matured(bl.Lazy(10), age=5)),
    ("updater", "matured:5:own_parts:OwnUpdater:5", bl.Matured(own_parts.OwnUpdater(5), age=5)),
    ("updater", "own_parts:OWN_UPDATER", own_parts.OWN_UPDATER),
    ("updater", "own_parts:OwnUpdater", own_parts.OwnUpdater()),
    ("updater", "own_parts:OwnUpdater:5", own_parts.OwnUpdater(5)),
    ("delay", "geometric:3", bl.delays.geometric(3)),
    ("delay", "poisson:mean=3", bl.delays.poisson(3)),
    ("delay", "never:0.2:constant:2", bl.delays.never(0.2, bl.delays.constant(2))),
    ("delay", "own_parts:OWN_LAW", own_parts.OWN_LAW),
    ("delay", "own_parts:own_law:4", own_parts.own_law(4)),
    ("delay", "never:0.2:own_parts:own_law:mean=4", bl.delays.never(0.2, own_parts.own_law(4))),
]


def regret_in_python(parts: dict[str, Any]) -> float:
    keywords = {name: part for name, part in parts.items() if name != "world"}
    return bl.simulate(parts["world"], **keywords, episodes=EPISODES, seed=0).total_regret


def regret_in_a_study(parts: dict[str, str], folder: Any) -> float:
    file = folder / "study.toml"
    lists = {f"{name}s": json.dumps([text]) for name, text in parts.items()}
    facts = {"name": '"one"', "episodes": EPISODES, "seeds": 1, **lists}
    file.write_text("\n".join(f"{key} = {value}" for key, value in facts.items()))
    (cell,) = read_study(file).cells()
    return cell.build().run(0).total_regret


def call_run(parts: dict[str, str]) -> Any:
    words = [word for name, text in parts.items() for word in (f"--{name}", text)]
    words += ["--episodes", str(EPISODES), "--seeds", "1", "--json"]
    return CliRunner().invoke(app, ["run", *words])


def regret_on_the_command_line(parts: dict[str, str]) -> float:
    done = call_run(parts)
    assert done.exit_code == 0, done.stderr
    (setting,) = json.loads(done.stdout)["settings"]
    return float(setting["total_regret"][0])


@pytest.mark.parametrize(("kind", "text", "part"), TEXTS, ids=[text for _, text, _ in TEXTS])
def test_python_studies_and_the_command_line_accept_the_same_texts(
    kind: str, text: str, part: Any, tmp_path: Any
) -> None:
    named = {**USUAL, kind: text}
    expected = regret_in_python({**USUAL, kind: part})
    assert regret_in_python(named) == expected
    assert regret_in_a_study(named, tmp_path) == expected
    assert regret_on_the_command_line(named) == expected


ERRORS = [
    ("base", "ucrl3", "base must be one of ubev, ", "Did you mean 'ucrl2' or 'ucrl2b'"),
    ("base", "UCRL2", "base must be one of ubev, ", "got 'UCRL2'. Did you mean 'ucrl2'"),
    ("base", "ucrl3:scale=1", "base must be one of ", "Did you mean 'ucrl2:scale=1'"),
    ("base", "ucrl2:scal=1", "base 'ucrl2' has no option 'scal'", "Did you mean 'scale'?"),
    ("base", "ucrl2:", "options of base 'ucrl2:' must be values or 'name=value'", "got ''."),
    ("base", "ucrl2:scale=", "must be values or 'name=value'", "got 'scale='."),
    ("base", "ucrl2:scale=1,scale=2", "option 'scale' is given twice", ""),
    ("base", "ucrl2:scale=0.1,3", "values without a name must come first", ""),
    ("base", "ucrl2:scale=-1", "scale must be finite and at least 0, got -1.", ""),
    ("base", "nowhere:Base", "'nowhere:Base' cannot be imported", "no module 'nowhere'."),
    ("base", "own_parts:OwnBas", "module 'own_parts' has no 'OwnBas'.", "Did you mean 'OwnBase'"),
    ("base", "own_parts:Bases.Iner", "has no 'Iner'.", "Did you mean 'Inner'?"),
    ("base", "own_parts:NUMBER", "must be a Base or an object with a plan method", "got 7."),
    ("base", "own_parts:wrong", "base 'own_parts:wrong' must give a Base", "got 'nothing'."),
    ("base", "own_parts:OWN_BASE:scale=1", "it is an object, and takes no options", ""),
    ("base", "fails_on_import:X", "module 'fails_on_import' fails with RuntimeError", "licence"),
    ("updater", "lazzy:10", "updater must be one of active, lazy:ALPHA, ", "mean 'lazy:10'?"),
    ("updater", "lasy:auto", "there is no module 'lasy'.", "Did you mean 'lazy:auto'?"),
    ("updater", "lazy", "updater 'lazy' needs alpha, as in 'lazy:ALPHA'.", ""),
    ("updater", "lazy:often", "alpha must be a number or 'auto', got 'often'.", ""),
    ("updater", "lazy:1,2", "takes at most 1 values without a name", "its options are alpha"),
    ("updater", "active:1", "takes no values without a name", "it has no options."),
    ("updater", "batched:9-5", "increase from each to the next, got [9, 5].", ""),
    ("updater", "scheduled:0", "every must be at least 1, got 0.", ""),
    ("updater", "matured:-3:active", "age must be at least 0, got -3.", ""),
    (
        "updater",
        "matured:5",
        "updater must be an Updater such as Active(), or its name",
        "got 5; the form as text is matured:AGE:UPDATER.",
    ),
    ("updater", "own_parts:OwnBase", "updater 'own_parts:OwnBase' must give an Updater", ""),
    ("delay", "geometrc:100", "delay must be one of constant:MEAN, ", "mean 'geometric:100'?"),
    ("delay", "geometric", "delay 'geometric' needs mean, as in 'geometric:MEAN'.", ""),
    ("delay", "geometric:many", "mean of a geometric delay must be a number, got 'many'.", ""),
    ("delay", "never:often:constant:1", "must have the form never:PROBABILITY:DELAY", ""),
    ("delay", "never:0.1:soon", "delay must be one of constant:MEAN", "got 'soon'."),
    ("delay", "own_parts:own_law:mea=3", "has no option 'mea'", "Did you mean 'mean'?"),
    ("world", "chian-5", "world must be one of chain-S, ", "Did you mean 'chain-5'"),
    ("world", "own_parts:own_wrld", "module 'own_parts' has no 'own_wrld'.", "own_world"),
    ("world", "own_parts:wrong", "world 'own_parts:wrong' must give an MDP, got 'nothing'.", ""),
]


@pytest.mark.parametrize(("kind", "text", "start", "end"), ERRORS, ids=[e[1] for e in ERRORS])
def test_python_studies_and_the_command_line_refuse_the_same_texts_with_the_same_words(
    kind: str,
    text: str,
    start: str,
    end: str,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "fails_on_import.py").write_text("raise RuntimeError('no licence')")
    monkeypatch.syspath_prepend(tmp_path)
    parts = {**USUAL, kind: text}
    with pytest.raises(ValueError) as error:  # noqa: PT011
        regret_in_python(parts)
    message = str(error.value)
    assert start in message
    assert end in message
    with pytest.raises(ValueError) as error:  # noqa: PT011
        regret_in_a_study(parts, tmp_path)
    assert message.rstrip(".") in str(error.value)
    done = call_run(parts)
    assert done.exit_code == 2
    assert message in done.stderr.replace("\n", " ")


def test_a_base_as_text_and_as_a_section_is_the_same_cell() -> None:
    given = {
        "name": "small",
        "episodes": 10,
        "seeds": 1,
        "worlds": ["chain-3"],
        "updaters": ["active"],
        "delays": ["constant:0"],
    }
    (section,) = Study(**given, bases=[{"name": "ucrl2", "scale": 0.1}]).cells()
    (text,) = Study(**given, bases=["ucrl2:scale=0.1"]).cells()
    (both,) = Study(**given, bases=[{"name": "ucrl2:scale=0.1"}]).cells()
    assert section == text == both
    assert section.digest == text.digest == both.digest
    assert text.id == "chain-3/ucrl2-0.1/constant-0/active/seeds-0-0"
    with pytest.raises(ValueError, match="option 'scale' of base 'ucrl2' is given twice"):
        Study(**given, bases=[{"name": "ucrl2:scale=0.1", "scale": 0.2}])


def test_own_parts_of_a_study_have_ids_that_are_paths() -> None:
    study = Study(
        name="own",
        episodes=10,
        seeds=1,
        worlds=["own_parts:own_world:states=4"],
        bases=["own_parts:OwnBase:scale=0.3"],
        updaters=["own_parts:OwnUpdater:5"],
        delays=["never:0.2:own_parts:own_law:4"],
    )
    (cell,) = study.cells()
    assert cell.id == (
        "own_parts-own_world-states=4/OwnBase-0.3/never-0.2-own_parts-own_law-4/"
        "own_parts-OwnUpdater-5/seeds-0-0"
    )


def test_learner_plan_calibrate_and_many_take_names() -> None:
    learner = bl.Learner(
        bl.Shape(2, 2, 1), base="ucrl2:scale=0.1", updater="lazy:10", rewards=None, episodes=10
    )
    assert learner.snapshot()["base"]["options"]["scale"] == 0.1
    counts = [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]
    made = bl.plan("ucrl2", [[0, 0], [0, 0]], counts, [[0, 0], [0, 1]], episodes=10, horizon=2)
    assert made.v.tolist() == [[1.0, 2.0], [0.0, 1.0], [0.0, 0.0]]
    (run,) = bl.simulate_many("chain-3", **_without_world(), episodes=20, seeds=[4])
    assert run.seed == 4
    found = bl.calibrate(
        "chain-3",
        base="ucbvi-ch:delta=0.1",
        delay="constant:1",
        updater="lazy:2",
        episodes=30,
        seeds=range(3),
        lowest=0.5,
    )
    assert found.runs == 3
    with pytest.raises(
        TypeError,
        match="base must be optimistic and have a scale, got 'psrl'; such built-in bases are ",
    ):
        bl.calibrate("chain-3", base="psrl", episodes=30)


def _without_world() -> dict[str, Any]:
    return {name: part for name, part in USUAL.items() if name != "world"}
