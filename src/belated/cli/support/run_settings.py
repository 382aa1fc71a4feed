"""Settings of `belated run`: all combinations of base, updater and delay in one world."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from belated.cli.support.errors import usage_errors
from belated.cli.support.options import (
    DEFAULTS,
    BaseOptions,
    check_choices,
    format_base,
    join_options,
    parse_option,
)

if TYPE_CHECKING:
    from belated.sweep.cell import Cell


@dataclass(frozen=True)
class RunSettings:
    """Settings to run in one world, with their names in tables and figures."""

    cells: "Mapping[str, Cell]"
    """Map from the name of each setting to its cell (setting and seeds). A name contains only the
    values that differ between the settings."""
    title: str
    """Values that all settings have in common, as text."""
    column: str
    """Heading of the table column with the names, such as "Updater, Delay"."""
    command: str
    """Command that runs the same settings again."""

    @property
    def heading(self) -> str:
        """Title, followed by the number of runs of each setting and the number of episodes."""
        cell = next(iter(self.cells.values()))
        runs = "1 run" if len(cell.seeds) == 1 else f"{len(cell.seeds)} runs"
        return f"{self.title}: {runs} of {cell.episodes:,} episodes"


def build_settings(
    *,
    world: str,
    base_options: Mapping[str, BaseOptions],
    option_texts: Sequence[str],
    updaters: Sequence[str],
    delays: Sequence[str],
    episodes: int,
    seeds: int,
    **choices: str,
) -> RunSettings:
    """Check all options of `belated run`, and return the settings to simulate.

    Exit with a usage error (exit code 2) if an option is invalid.

    Parameters
    ----------
    world : str
        Name of the world.
    base_options : mapping
        Map from the text of each base, such as "ucrl2:scale=0.1", to the options given for this
        base with --option. An option in the text takes precedence over --option. It is an error if
        an --option has no effect, because every base to which it applies sets it in its text.
    option_texts : sequence of str
        Values of --option as given on the command line, used in `RunSettings.command`.
    updaters, delays : sequence of str
        Updaters and delay laws. Duplicates are ignored.
    episodes, seeds : int
        Number of episodes of each run, and number of runs of each setting.
    **choices : str
        Values of `rewards` and of the options of a simulation.

    Returns
    -------
    RunSettings
        The settings.
    """
    from belated.learner.bases import BASE_NAMES
    from belated.learner.updaters import UPDATER_NAMES
    from belated.mdp.worlds import world as parse_world
    from belated.sweep.cell import Cell, normalize_delay

    parse_option("--world", parse_world, world)
    named = {base: parse_option("--base", BASE_NAMES.find, base) for base in base_options}
    for key in dict.fromkeys(key for options in base_options.values() for key in options):
        addressed = [base for base, options in base_options.items() if key in options]
        if all(key in named[base].options for base in addressed):
            first = addressed[0]
            parse_option("--option", join_options, base_options[first], named[first].options)
    bases: dict[str, tuple[str, BaseOptions]] = {}  # name and options of each base
    for base, options in base_options.items():
        bases[base] = named[base].name, {**options, **named[base].options}
        parse_option("--base", BASE_NAMES.parse, *bases[base])
    updaters = list(dict.fromkeys(updaters))
    for updater in updaters:
        parse_option("--updater", UPDATER_NAMES.parse, updater)
    laws = list(dict.fromkeys(parse_option("--delay", normalize_delay, delay) for delay in delays))
    check_choices(**choices)
    late_rewards, unknown = choices["late"] == "rewards", choices["rewards"] == "unknown"
    with usage_errors("--late"):
        if late_rewards and not unknown:
            raise ValueError("rewards that are late cannot be known; add --rewards unknown.")

    axes = {"Base": list(base_options), "Updater": updaters, "Delay": laws}
    varied = [axis for axis, values in axes.items() if len(values) > 1] or ["Updater"]
    cells = {}
    for base, law, updater in product(base_options, laws, updaters):
        name, options = bases[base]
        place = {"Base": base, "Updater": updater, "Delay": law}
        cells[", ".join(place[axis] for axis in varied)] = Cell(
            world=world,
            base=name,
            delay=law,
            updater=updater,
            episodes=episodes,
            seeds=tuple(range(seeds)),
            base_options=tuple(sorted(options.items())),
            **choices,  # type: ignore[arg-type]
        )

    axes["Base"] = [format_base(*pair) for pair in bases.values()]
    common = [world, *(values[0] for axis, values in axes.items() if axis not in varied)]
    notes = {
        "pooled counts": choices["stages"] == "pooled",
        "late rewards": late_rewards,
        "unknown rewards": unknown and not late_rewards,
        "one delay per step": choices["delay_per"] == "step",
        f"bonus {choices['reward_bonus']}": choices["reward_bonus"] != DEFAULTS["reward_bonus"],
    }
    common += [note for note, applies in notes.items() if applies]

    words = ["belated", "run", "--world", world]
    repeated = {"base": base_options, "option": option_texts, "updater": updaters, "delay": laws}
    for name, values in repeated.items():
        words += [word for value in values for word in (f"--{name}", value)]
    words += ["--episodes", str(episodes), "--seeds", str(seeds)]
    for name, value in choices.items():
        words += [f"--{name.replace('_', '-')}", value] if value != DEFAULTS[name] else []
    return RunSettings(cells, ", ".join(common), ", ".join(varied), shlex.join(words))
