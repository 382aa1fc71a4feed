"""Ids and digests of cells, which are names of stored files."""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any, get_args

from belated.learner.bases import BASES
from belated.learner.updaters import UPDATERS
from belated.options import SimulationOptions
from belated.papers.howson2021 import grid
from belated.sweep.cell import Cell
from belated.sweep.packaged import study_names
from belated.sweep.study import read_study
from regression.digesting import digest

PLAIN = Cell(
    world="chain-30",
    base="ucrl2",
    delay="geometric:100",
    updater="lazy:10",
    episodes=100_000,
    seeds=(0, 1, 2, 3, 4),
)
WORLDS = ("chain-3", "frozen-lake-4x4", "icu-sepsis", "riverswim-6", "garnet-4-2-3")
DELAYS = ("constant:0", "never:0.1:poisson:6", "by_action:0=constant:5,1=geometric:100")
LONG_DELAY = "by_action:" + ",".join(f"{action}=geometric:{action}00" for action in range(9))
FORMS = {"lazy": "lazy:10", "batched": "batched:10", "scheduled": "scheduled:9"}


def named(cells: Iterable[Cell]) -> list[list[str]]:
    """Return the id and the digest of each cell."""
    return [[cell.id, cell.digest] for cell in cells]


def with_options() -> list[list[str]]:
    """Return the names of cells that differ in one option of the simulation."""
    choices = {option.name: get_args(option.type) for option in fields(SimulationOptions)}
    cells = [
        replace(PLAIN, **{name: value}, rewards=rewards)
        for name, values in choices.items()
        for value, rewards in product(values, ("known", "unknown"))
    ]
    cells += [
        replace(PLAIN, points=points, label=label, seeds=seeds)
        for points, label, seeds in product((None, 50, 200), ("", "short"), ((5, 6), (40,)))
    ]
    return named(cells)


def with_parts() -> list[list[str]]:
    """Return the names of cells of every base, updater, world and delay."""
    updaters = [FORMS.get(name, name) for name in UPDATERS if name not in ("matured", "triggered")]
    bases = [name for name in BASES if name not in ("fixed",)]
    cells = [
        replace(PLAIN, base=base, updater=updater) for base, updater in product(bases, updaters)
    ]
    cells += [
        replace(PLAIN, world=world, base=base, delay=delay, rewards=rewards)
        for world, base, delay, rewards in product(
            WORLDS, ("ucrl2", "ubev"), (*DELAYS, LONG_DELAY), ("known", "unknown")
        )
    ]
    return named(cells)


def corrected() -> list[list[str]]:
    """Return the names of cells whose results a corrected formula has changed, and others."""
    options: tuple[Any, ...] = (
        (),
        (("scale", 0.1),),
        (("radius", "paper"),),
        (("radius", "paper"), ("scale", 0.1)),
    )
    return named(
        replace(PLAIN, base_options=own, updater=updater, rewards=rewards, reward_bonus=bonus)
        for own, updater, rewards, bonus in product(
            options, ("lazy:auto", "active"), ("known", "unknown"), ("hoeffding", "filippi")
        )
    )


def spelled() -> list[list[str]]:
    """Return the names of a few cells, which are kept in full."""
    options = (("preset", "two_term"), ("scale", 0.03))
    own = {"base": "ucbvi-bf", "base_options": options, "label": "short", "stages": "pooled"}
    explicit = {"updater": "explicit", "updater_options": (("threshold", 7),)}
    return named(
        [
            PLAIN,
            replace(PLAIN, **own, **explicit),
            replace(PLAIN, delay=LONG_DELAY),
            replace(PLAIN, rewards="unknown", late="rewards", delay_per="step", base="psrl"),
        ]
    )


def of_study(name: str) -> str:
    """Return the digest of the names of the cells of a packaged study."""
    return digest(named(read_study(name).cells()))


def of_paper(variant: Any) -> str:
    """Return the digest of the names of the cells of the paper."""
    return digest(named(grid.cells(grid.PRESETS["paper"], variant)))


def digested(function: Callable[[], Any]) -> str:
    """Return the digest of the names that a function returns."""
    return digest(function())


CELLS: dict[str, Callable[[], Any]] = {
    "spelled": spelled,
    "options": partial(digested, with_options),
    "parts": partial(digested, with_parts),
    "corrected": partial(digested, corrected),
    **{f"study {name}": partial(of_study, name) for name in study_names()},
    **{f"paper {variant}": partial(of_paper, variant) for variant in get_args(grid.Variant)},
}
