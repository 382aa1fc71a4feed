"""Runs that are stopped and continued from their checkpoint file give the same bits."""

import io
import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
import belated.simulation.compiled_run as driver
from belated.simulation.run_file import FIRST_LINE, read_run, write_run
from belated.simulation.setting import Setting
from processes import Program
from ways import difference


@bl.trigger
def batch_of_three(arrival):
    return arrival.since_plan >= 3


SETTINGS: dict[str, dict[str, Any]] = {
    "active": {},
    "lazy": {"updater": bl.Lazy(3)},
    "auto": {"updater": bl.Lazy("auto")},
    "explicit": {"updater": bl.ExplicitExploration(threshold=5)},
    "trigger": {"updater": bl.Triggered(batch_of_three)},
    "batched": {"updater": bl.Batched(), "delay_per": "step"},
    "scheduled": {"updater": bl.Scheduled(7)},
    "matured": {"updater": bl.Matured(bl.Batched("minimax"), age=9)},
    "multi": {"updater": bl.MultiInstance()},
    "multi, long": {"updater": bl.MultiInstance(), "delay": bl.delays.geometric(1)},
    "steps": {"delay_per": "step"},
    "unknown rewards": {"rewards": "unknown", "updater": bl.Lazy(3)},
    "late rewards": {"rewards": "unknown", "late": "rewards", "updater": bl.Lazy(3)},
    "late rewards by step": {"rewards": "unknown", "late": "rewards", "delay_per": "step"},
    "by return": {"delay": "by_return:0=geometric:12,0.5=never:0.3:poisson:5"},
    "by action, steps": {"delay": "by_action:1:0=constant:3,1=geometric:12", "delay_per": "step"},
    "q-learning": {"base": bl.QLearning(scale=0.02)},
    "q-learning lazy": {"base": bl.QLearning(scale=0.02), "updater": bl.Lazy(3)},
    "psrl": {"base": bl.PSRL(), "rewards": "unknown"},
    "pooled, random ties": {"stages": "pooled", "base": bl.UCRL2(scale=0.1, ties="random")},
    "epsilon-greedy": {"base": bl.EpsilonGreedy()},
    "monotone": {"base": bl.UCBVI_BF(scale=0.1, monotone=True)},
}
EPISODES = 300
SEED = 5


class StopError(Exception):
    """Exception with which the tests stop a run."""


def given(name: str) -> dict[str, Any]:
    """Return the arguments of a run without world and seed."""
    setting = {
        "base": bl.UCRL2(scale=0.1),
        "updater": bl.Active(),
        "delay": bl.delays.geometric(12),
        "episodes": EPISODES,
        "every": 1,
        "trace": True,
        "engine": "compiled",
    }
    return {**setting, **SETTINGS[name]}


def simulate(name: str, **options: Any) -> bl.Run:
    return bl.simulate(bl.chain(6), **{**given(name), "seed": SEED, **options})


def stop_at(*episodes: int) -> Any:
    """Return a callback that stops the run at these episodes."""

    def stop(run: bl.RunSoFar) -> None:
        if run.episode in episodes:
            raise StopError

    return stop


@pytest.fixture(autouse=True)
def one_episode_per_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each block but the first, of 32 episodes, hold one episode."""
    monkeypatch.setattr(driver, "BLOCK_S", 0.0)


def stop_after(blocks: int) -> Any:
    """Return a progress callback that stops the run after this number of blocks."""
    calls = 0

    def stop(episodes: int) -> None:
        nonlocal calls
        calls += episodes > 0
        if calls == blocks:
            raise StopError

    return stop


@pytest.mark.parametrize("name", SETTINGS)
def test_a_stopped_run_continues_with_the_same_bits(name: str, tmp_path: Path) -> None:
    setting = Setting(world=bl.chain(6), **given(name))
    stops = 0
    while stops < 20:
        try:
            resumed = setting.run(SEED, stop_after(5), checkpoint=tmp_path / "run")
            break
        except StopError:
            stops += 1
    assert 2 <= stops < 20
    assert difference(resumed, setting.run(SEED)) is None


def test_the_same_call_returns_a_finished_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("auto", "multi"):
        path = tmp_path / name
        run = simulate(name, checkpoint=path)
        before = path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(driver.engine, "advance", None)  # no episode is played
            again = simulate(name, checkpoint=str(path))
        assert difference(run, again) is None
        assert path.read_bytes() == before


def test_other_checkpoints_can_be_chosen_when_a_run_continues(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(StopError):
        simulate("lazy", checkpoint=path, every=50, on_checkpoint=stop_at(100))
    seen: list[int] = []
    resumed = simulate(
        "lazy", checkpoint=path, every=7, on_checkpoint=lambda run: seen.append(run.episode)
    )
    assert difference(resumed, simulate("lazy", every=7)) is None
    assert seen == [episode for episode in resumed.episode.tolist() if episode > 100]


def test_ctrl_c_saves_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run"

    def interrupt(run: bl.RunSoFar) -> None:
        if run.episode == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate("active", checkpoint=path, on_checkpoint=interrupt)
    _, arrays = saved(path)
    assert len(arrays["output.gaps"]) == 100
    assert difference(simulate("active", checkpoint=path), simulate("active")) is None


KILLED = """
import os, signal, sys
sys.path[:0] = [{folder!r}, {folder!r} + "/.."]
import belated.simulation.compiled_run as driver
import belated.simulation.resume as resume
from test_resume import simulate
driver.BLOCK_S = resume.SAVE_INTERVAL_S = 0.0   # a save after each episode
def kill(run):
    if run.episode == 150:
        os.kill(os.getpid(), signal.SIGKILL)
simulate({name!r}, checkpoint={path!r}, on_checkpoint=kill)
"""


@pytest.mark.parametrize("name", ["lazy", "late rewards by step"])
def test_a_killed_process_continues_from_its_last_save(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    script = KILLED.format(folder=str(Path(__file__).parent), name=name, path=str(path))
    assert Program(script).end()[0] == -signal.SIGKILL
    seen: list[int] = []
    resumed = simulate(name, checkpoint=path, on_checkpoint=lambda run: seen.append(run.episode))
    assert difference(resumed, simulate(name)) is None
    assert seen == list(range(150, EPISODES + 1))
    assert list(tmp_path.iterdir()) == [path]


def stopped_file(path: Path, name: str = "lazy") -> Path:
    """Return the checkpoint file of a run that was stopped."""
    with pytest.raises(StopError):
        simulate(name, checkpoint=path, on_checkpoint=stop_at(100))
    return path


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"seed": 6}, "the seed is 5 in the file and 6 in this run"),
        ({"episodes": 301}, "the number of episodes is 300 in the file and 301 in this run"),
        ({"base": bl.UCRL2(scale=0.2)}, "the base is different"),
        ({"base": bl.UBEV()}, "the base is different"),
        ({"updater": bl.Lazy(4)}, r"the updater is Lazy\(alpha=3.0\) in the file and Lazy\(alpha="),
        ({"delay": bl.delays.geometric(13)}, "the delays is different"),
        ({"stages": "pooled"}, "the options is different"),
        ({"planning": "full"}, "the options is different"),
        ({"planning": "none"}, "the options is different"),
        ({"trace": False}, "the options is different"),
        ({"rewards": np.full((6, 2), 0.5)}, "the rewards is different"),
    ],
)
def test_the_file_of_another_run_is_rejected(
    other: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = stopped_file(tmp_path / "run")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"belongs to another run: {reason}"):
        simulate("lazy", checkpoint=path, **other)
    assert path.read_bytes() == before


def test_the_file_of_another_world_is_rejected(tmp_path: Path) -> None:
    path = stopped_file(tmp_path / "run")
    world = bl.chain(6)
    rewards = world.reward_table()
    rewards[0, 0, 0] = 0.25
    other = bl.MDP.dense(world.transition_table(), rewards)
    with pytest.raises(ValueError, match="belongs to another run: the world is different"):
        bl.simulate(other, **given("lazy"), seed=SEED, checkpoint=path)


def test_a_changed_trigger_is_noticed(tmp_path: Path) -> None:
    path = stopped_file(tmp_path / "run", "trigger")

    @bl.trigger
    def batch_of_three(arrival):
        return arrival.since_plan >= 4

    with pytest.raises(ValueError, match="the code of the backup or trigger is different"):
        simulate("trigger", checkpoint=path, updater=bl.Triggered(batch_of_three))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
def test_a_damaged_file_is_rejected(damage: str, tmp_path: Path) -> None:
    path = stopped_file(tmp_path / "run")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    contents = {
        "cut": path.read_bytes()[:-100],
        "flip": bytes(data),
        "empty": b"",
        "other": b"seed,regret\n",
    }
    path.write_bytes(contents[damage])
    with pytest.raises(ValueError, match=r"is damaged: digest mismatch|is not a checkpoint file"):
        simulate("lazy", checkpoint=path)
    assert path.read_bytes() == contents[damage]


def saved(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return the description and the arrays of a checkpoint file."""
    arrays = read_run(path, {})
    assert arrays is not None
    content = path.read_bytes().partition(b"\n")[2].partition(b"\n")[2]
    with np.load(io.BytesIO(content)) as archive:
        identity = json.loads(archive["identity"].tobytes())
    return identity, arrays


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("run.learner.counts.succ", 6),
        ("run.learner.counts.start", 10**9),
        ("run.learner.counts.size", 7),
        ("run.learner.counts.link_row", 10**6),
        ("run.learner.counts.link_next", 10**6),
        ("run.learner.counts.head", 10**6),
        ("run.learner.counts.used", 10**9),
        ("run.learner.table.actions", 2),
        ("run.learner.table.order", -1),
        ("run.learner.inbox.used", 1),
        ("run.learner.touched", 10**6),
        ("run.learner.changed", -1),
        ("run.learner.rewards", np.nan),
        ("run.learner.alpha", np.nan),
        ("run.queue.states", 6),
        ("run.queue.actions", -1),
        ("run.queue.slot", 0),
        ("run.queue.size", 10**6),
        ("run.queue.number", 0),
        ("run.tally", EPISODES + 1),
        ("run.dropped", -1),
        ("run.v_pi", np.inf),
    ],
)
def test_numbers_out_of_range_are_rejected_before_compiled_code_reads_them(
    name: str, wrong: float, tmp_path: Path
) -> None:
    path = stopped_file(tmp_path / "run")
    identity, arrays = saved(path)
    array = arrays[name]
    arrays[name] = np.full(max(array.size, 1), wrong, array.dtype)
    if array.size:
        arrays[name] = arrays[name].reshape(array.shape)
    write_run(path, identity, arrays)
    with pytest.raises(ValueError, match=r"is damaged: .* Delete it to start the run again\.$"):
        simulate("lazy", checkpoint=path)


def test_missing_arrays_and_wrong_types_and_shapes_are_rejected(tmp_path: Path) -> None:
    path = stopped_file(tmp_path / "run")
    identity, arrays = saved(path)
    for name, array in arrays.items():
        without = {other: arrays[other] for other in arrays if other != name}
        for wrong in (
            without,
            {**without, name: array.astype(np.complex64)},
            {**without, name: array[np.newaxis]},
        ):
            write_run(path, identity, wrong)
            with pytest.raises(ValueError, match="is damaged"):
                simulate("lazy", checkpoint=path)


def test_an_archive_with_pickled_objects_is_not_opened(tmp_path: Path) -> None:
    path = stopped_file(tmp_path / "run")
    identity, arrays = saved(path)
    arrays["run.tally"] = np.array([print], dtype=object)
    write_run(path, identity, arrays)
    assert path.read_bytes().startswith(FIRST_LINE)
    with pytest.raises(ValueError, match=r"is damaged: unreadable archive .*allow_pickle=False"):
        simulate("lazy", checkpoint=path)


def test_a_folder_that_is_not_writable_is_rejected_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ValueError, match=r"^checkpoint must be in a folder that is writable, got"):
        simulate("lazy", checkpoint=tmp_path / "run")


def test_a_checkpoint_needs_the_compiled_engine(tmp_path: Path) -> None:
    path = tmp_path / "run"
    reason = r"^checkpoint needs the compiled engine, but engine is 'reference'\.$"
    with pytest.raises(ValueError, match=reason):
        simulate("lazy", checkpoint=path, engine="reference")
    assert not path.exists()


def test_a_run_that_fails_before_its_first_episode_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("compilation")

    monkeypatch.setattr(driver.engine, "advance", fail)
    with pytest.raises(RuntimeError, match="compilation"):
        simulate("lazy", checkpoint=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
