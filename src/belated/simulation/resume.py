"""Saving and continuing a compiled run: its state as arrays, checked before it is used again.

The state of a run changes only while `belated.simulation.engine.advance` runs, which no signal
interrupts. It can therefore be saved at any time between two blocks, also when an exception stops
the run.
"""

import os
import time
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from belated import __version__
from belated.array_checks import Arrays
from belated.compiled import digest_sources
from belated.learner.backup import as_backup
from belated.learner.problem import LearningProblem
from belated.learner.state import configure
from belated.learner.updaters.trigger import Trigger
from belated.options import LearnerOptions, option_values
from belated.simulation import engine
from belated.simulation.run_file import DamagedFileError, read_run, write_run
from belated.simulation.saved_state import arrays_of, restore_run

SAVE_INTERVAL_S: Final = 30.0
"""Approximate time between two saves of a run, in seconds."""

INSTANCE: Final = "instance"
"""Name, in a checkpoint file, of the array that holds the number of the instance being played."""


class RunSaver:
    """Object that saves the state of one run to a checkpoint file and restores it from the file.

    Parameters
    ----------
    path : str or PathLike
        Checkpoint file. If it exists, the run continues from it.
    truth : Truth
        Simulated world.
    problem : LearningProblem
        Problem of the learner.
    delays : tuple
        Delays of the feedback, and the rule by which an episode selects one of several.
    options : tuple
        Further options that affect the results, such as `trace`; compared with those in the file.

    Raises
    ------
    ValueError
        If the folder is not writable, or the file belongs to another run or is damaged.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        truth: engine.Truth,
        problem: LearningProblem,
        delays: tuple[Any, ...],
        options: tuple[Any, ...],
    ) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(self.path.parent, os.W_OK):
            raise ValueError(f"checkpoint must be in a folder that is writable, got {path}.")
        self.problem = problem
        self.totals: Arrays = {}
        """Results of the finished instances of a run with MultiInstance: a map from names to
        arrays, which is part of each save. Empty with other updaters."""
        self._identity = describe_run(truth, problem, delays, options)
        self._saved = read_run(self.path, self._identity)
        self._next_save_s = time.monotonic() + SAVE_INTERVAL_S

    @property
    def instance(self) -> int:
        """Number of the instance that was played when the run was saved; 0 without a file."""
        if self._saved is None:
            return 0
        return int(self._array(INSTANCE, np.zeros((), np.int64)))

    def restore_totals(self) -> None:
        """Fill `totals` with the saved results of the instances that are finished."""
        if self._saved is not None:
            for name, array in self.totals.items():
                array[...] = self._array(f"total.{name}", array)

    def restore(
        self, instance: int, run: engine.RunState, outputs: engine.Outputs
    ) -> engine.RunState:
        """Return the saved state of an instance, or `run` if none was saved.

        Parameters
        ----------
        instance : int
            Number of the instance.
        run : RunState
            State before the first episode.
        outputs : Outputs
            Arrays that receive the saved results of the episodes played.

        Returns
        -------
        RunState
            State to continue from.

        Raises
        ------
        DamagedFileError
            If a saved array has a wrong type, shape or range.
        """
        if self._saved is None or instance != self.instance:
            return run
        try:
            restored = restore_run(run, self._saved, self.problem, outputs.gaps.size)
        except ValueError as error:
            raise DamagedFileError(self.path, str(error)) from error
        done = int(restored.tally[engine.STARTED])
        for name, array in outputs._asdict().items():
            part = array[:done]
            part[...] = self._array(f"output.{name}", part)
        return restored

    def _array(self, name: str, like: NDArray[Any]) -> NDArray[Any]:
        """Return the saved array `name`, which must have the type and shape of `like`."""
        assert self._saved is not None
        array = self._saved.get(name)
        if array is None or array.dtype != like.dtype or array.shape != like.shape:
            raise DamagedFileError(self.path, f"{name} must be {like.dtype} of shape {like.shape}")
        return array

    def save_if_due(self, instance: int, run: engine.RunState, outputs: engine.Outputs) -> None:
        """Save the state if SAVE_INTERVAL_S have passed since the last save.

        The parameters are those of `save`.
        """
        if time.monotonic() >= self._next_save_s:
            self.save(instance, run, outputs)

    def save(self, instance: int, run: engine.RunState, outputs: engine.Outputs) -> None:
        """Save the state of a run atomically, unless no episode has been played.

        Parameters
        ----------
        instance : int
            Number of the instance that is played.
        run : RunState
            State of this instance.
        outputs : Outputs
            Results of the episodes of this instance.
        """
        done = int(run.tally[engine.STARTED])
        if done + instance > 0:
            played = {f"output.{name}": x[:done] for name, x in outputs._asdict().items()}
            totals = {f"total.{name}": array for name, array in self.totals.items()}
            number = {INSTANCE: np.array(instance, np.int64)}
            arrays = {**number, **totals, **played, **arrays_of(run)}
            write_run(self.path, self._identity, arrays)
        self._next_save_s = time.monotonic() + SAVE_INTERVAL_S


def describe_run(
    truth: engine.Truth,
    problem: LearningProblem,
    delays: tuple[Any, ...],
    options: tuple[Any, ...],
) -> dict[str, str]:
    """Return a description of everything that determines the results of a run.

    Parameters
    ----------
    truth : Truth
        Simulated world.
    problem : LearningProblem
        Problem of the learner.
    delays : tuple
        Delays of the feedback, and the rule by which an episode selects one of several.
    options : tuple
        Further options that affect the results, such as `trace`.

    Returns
    -------
    dict of str to str
        Map from the name of a part, such as "seed" or "world", to the part: as text if it is short,
        otherwise as a digest.
    """
    functions = [as_backup(problem.backup_rule.backup).function.__code__]
    rule = problem.trigger_rule
    if rule is not None and isinstance(rule.trigger, Trigger):
        functions.append(rule.trigger.function.__code__)
    return {
        "seed": str(problem.seed),
        "number of episodes": str(problem.episodes),
        "base": repr(problem.base),
        "updater": repr(problem.updater),
        "world": digest(truth),
        "delays": digest(delays),
        "rewards": digest(problem.initial_rewards()),
        "options": repr((option_values(problem, LearnerOptions), *options)),
        "learner's configuration": digest(configure(problem, 0)),
        "code of the backup or trigger": digest(tuple(functions)),
        "version of belated": f"{__version__}, {digest_sources(frozenset([engine.__file__]))[:16]}",
    }


def digest(part: Any) -> str:
    """Return the SHA-256 of `part`, in hexadecimal.

    `part` is an array, a number, the code of a function, or a tuple of such parts.
    """
    if isinstance(part, CodeType):
        return digest((part.co_code.hex(), part.co_names, part.co_consts))
    if isinstance(part, tuple):
        return sha256("".join(digest(item) for item in part).encode()).hexdigest()
    if isinstance(part, np.ndarray):
        header = f"{part.dtype.str} {part.shape} ".encode()
        return sha256(header + np.ascontiguousarray(part).tobytes()).hexdigest()
    return sha256(repr(part).encode()).hexdigest()
