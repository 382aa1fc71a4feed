"""`belated demo`: the service, and a simulated clinic that uses it."""

import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from belated.cli.inputs import sentence
from belated.cli.serve import HOST, PORT, address_of, hidden, listening, server_of
from belated.cli.token import open_ledger

if TYPE_CHECKING:
    import socket

    from belated.client import Client
    from belated.demo.schedule import FeedbackSchedule
    from belated.online.ledger import Ledger

INTERVAL: Final = 0.5
"""Seconds between two looks at what has come back."""
GRACE: Final = 1
"""Seconds that open requests have at the end."""
PATIENCE: Final = 10.0
"""Seconds to wait at the end for what was sent to be taken in."""


def demo(
    rate: Annotated[float, typer.Option(min=0.01, help="Patients a second, at most.")] = 10.0,
    mean_delay: Annotated[
        float, typer.Option(min=0.0, help="How late outcomes are on average, in patients.")
    ] = 60.0,
    never: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The share of outcomes that never come.")
    ] = 0.03,
    seed: Annotated[int, typer.Option(min=0, help="For all that is drawn at random.")] = 7,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, help="End when so many patients came and were heard of."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help=f"By default {PORT}, or any that is free if that is taken; 0 for any.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Keep the ledger: sqlite:///demo.db, or postgresql://user@host/database; "
            "by default it is in a temporary folder, and goes at the end."
        ),
    ] = None,
) -> None:
    """Serve a simulated clinic, to see late feedback come back; stop it with Ctrl-C.

    Ten patients a second are seen six times each: wait, medicate or operate? The service knows
    how well a patient fares in each state, but not what an action leads to. Each patient is
    treated by the plan that is served, and the outcome is sent about sixty patients later, over
    HTTP, as a device would: out of order, one in five in pieces, one in ten twice, and three in a
    hundred never. Watch it learn in the browser, and send requests of your own meanwhile.
    """
    from belated.demo.schedule import FeedbackSchedule

    typer.echo("Starting; the first time it compiles for some seconds ...")
    with sentence():
        schedule = FeedbackSchedule(mean_delay=mean_delay, never=never, seed=seed)
    with storing(store) as url, open_ledger(url) as ledger:
        check_open(ledger, url)
        with somewhere(port) as listener, stopping() as stop:
            address = address_of(HOST, listener.getsockname()[1])
            with serving(ledger, listener):
                play(address, schedule, rate=rate, episodes=episodes, stop=stop)
    if store is not None:
        typer.echo(f"All of it is kept in {hidden(store)}.")


def play(
    address: str,
    schedule: "FeedbackSchedule",
    *,
    rate: float,
    episodes: int | None,
    stop: threading.Event,
) -> None:
    """Play the clinic at a service, and say how it goes and how it went."""
    from belated.client import Client, ServiceError
    from belated.demo.clinic import PROBLEM
    from belated.demo.simulation import NAME, ClinicSimulation
    from belated.demo.statistics import HEADER
    from belated.demo.status_line import StatusLine

    client = Client(address)
    try:
        client.define(PROBLEM)
        before = client.status(NAME)
        clinic = ClinicSimulation(client, schedule, first=(before["begun"] or 0) + 1)
        statistics = clinic.statistics
        tell(address, schedule, rate=rate, best=statistics.best)
        line = StatusLine(HEADER, lambda seconds: statistics.line(seconds, client.status(NAME)))
        clinic.run(rate=rate, episodes=episodes, stop=stop, after_each=line.update)
        line.close()
        status = settled(client)
    except ServiceError as error:
        typer.echo(f"The demo cannot go on: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(statistics.summary((status["missing"] or 0) - (before["missing"] or 0)))


def settled(client: "Client") -> dict[str, Any]:
    """Where the clinic stands once all that was sent is taken in and its policy published."""
    from belated.demo.simulation import NAME

    deadline = time.monotonic() + PATIENCE
    while (status := client.status(NAME))["waiting"] and time.monotonic() < deadline:
        time.sleep(0.05)
    return status


def tell(address: str, schedule: "FeedbackSchedule", *, rate: float, best: float) -> None:
    """Say what happens, where to look, and what to try."""
    clinic = f"{address}/v1/problems/clinic"
    typer.echo(
        f"A simulated clinic: {rate:g} patients a second, outcomes {schedule.mean_delay:g} "
        f"patients late on average, {schedule.never:.0%} never.\n"
        f"Dashboard: {address}/#clinic ; stop it with Ctrl-C.\n"
        "\n"
        "What to look at there:\n"
        "  Pending episodes, beside ψ: pending is a state, never a zero, however long it lasts\n"
        f"  Mean return by version: it rises towards {best:.2f}, the best that can be expected\n"
        "  The policy: when to operate, when to medicate, and when it is too late for either\n"
        "  Freeze: patients keep to that version, while new ones go on being published\n"
        "\n"
        "What to try in another terminal:\n"
        f"  curl -s {clinic}/status\n"
        f"  curl -s -X POST {clinic}/freeze    # and unfreeze\n"
    )


@contextmanager
def storing(store: str | None) -> Iterator[str]:
    """The address of the ledger; without one, of a file that goes at the end."""
    if store is not None:
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="belated-demo-") as folder:
        yield f"sqlite:///{Path(folder) / 'demo.db'}"


def check_open(ledger: "Ledger", store: str) -> None:
    """Refuse a ledger that has tokens: the clinic has none."""
    if ledger.tokens.all():
        raise typer.BadParameter(
            f"{hidden(store)} has tokens, and the demo has none; give it a store of its own.",
            param_hint="'--store'",
        )


def somewhere(port: int | None) -> "socket.socket":
    """A socket that listens at a port, or at any that is free where none was asked for."""
    if port is not None:
        return listening(HOST, port)
    try:
        return listening(HOST, PORT)
    except typer.BadParameter:
        free = listening(HOST, 0)
        typer.echo(f"Port {PORT} is taken; this is at {free.getsockname()[1]}.")
        return free


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """What is set by Ctrl-C, or by whoever ends the process, so that it ends in order."""
    stop = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, lambda *_: stop.set()) for one in signals]
    try:
        yield stop
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)


@contextmanager
def serving(ledger: "Ledger", listener: "socket.socket") -> Iterator[None]:
    """The service, in a thread of its own."""
    server = server_of(ledger, open=True, interval=INTERVAL, grace=GRACE)
    thread = threading.Thread(target=server.run, args=([listener],), name="belated-demo")
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
