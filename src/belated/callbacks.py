"""Callbacks that log the regret of a run at each checkpoint: to a CSV file or to TensorBoard.

A callback is any function of a `RunSoFar`. It is passed to `simulate` or `simulate_many`:

    bl.simulate(world, ..., on_checkpoint=bl.callbacks.CSVLogger("regret.csv"))
"""

import csv
import os
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from belated.extras import missing_extra
from belated.simulation.run import RunSoFar

__all__ = ["CSVLogger", "RunSoFar", "TensorBoard"]


class CSVLogger:
    """Callback that appends one line for each checkpoint to a CSV file.

    The columns are those of `RunSoFar`: seed, episodes, episode and regret. The file is closed
    after each line, so that it can be read during the run.

    Parameters
    ----------
    path : str or PathLike
        File to append to; it is created with a header if it does not exist or is empty.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __call__(self, run: RunSoFar) -> None:
        """Append one line with the fields of `run`, which describes a run at a checkpoint."""
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(RunSoFar)])
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(asdict(run))


class TensorBoard:
    """Callback that writes the regret at each checkpoint to a log folder of TensorBoard.

    The values of each seed are written to a subfolder, such as `seed-7`, under the tags "regret"
    and "regret per episode". TensorBoard shows each subfolder as a separate curve. Requires the
    extra `[tensorboard]`.

    Parameters
    ----------
    folder : str or PathLike
        Log folder, to be shown with `tensorboard --logdir FOLDER`.
    make_writer : callable, optional
        Function that makes a writer for a subfolder; by default `tensorboard.summary.Writer`. A
        writer has the methods `add_scalar(tag, value, step=...)`, `flush()` and `close()`.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, make_writer: Callable[[str], Any] | None = None
    ) -> None:
        self.folder = Path(folder)
        if make_writer is None:
            try:
                from tensorboard.summary import Writer
            except ImportError as error:
                message = missing_extra("TensorBoard", "tensorboard", "tensorboard")
                raise ImportError(message) from error
            make_writer = Writer
        self._make_writer = make_writer
        self._writers: dict[int, Any] = {}

    def __call__(self, run: RunSoFar) -> None:
        """Write the regret of `run`, and close the writer of its seed after the last episode."""
        if run.seed not in self._writers:
            self._writers[run.seed] = self._make_writer(str(self.folder / f"seed-{run.seed}"))
        writer = self._writers[run.seed]
        writer.add_scalar("regret", run.regret, step=run.episode)
        writer.add_scalar("regret per episode", run.regret / run.episode, step=run.episode)
        writer.flush()
        if run.episode == run.episodes:
            self._writers.pop(run.seed).close()
