"""`belated demo`: run the service, with a simulated clinic as its client."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from belated.cli.serve import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    build_server,
    format_url,
    open_listener,
    stop_signals,
)
from belated.cli.support.errors import exit_with_message, usage_errors
from belated.cli.support.options import help_from_docstring
from belated.cli.support.stores import hide_password, open_ledger

if TYPE_CHECKING:
    import socket

    from belated.client import Client
    from belated.demo.simulation import FeedbackSchedule
    from belated.ledger.ledger import Ledger

CHECK_INTERVAL_S: Final = 0.5
"""Number of seconds between two checks of the service for new feedback."""

SHUTDOWN_TIMEOUT_S: Final = 1
"""Maximum number of seconds to wait for requests in progress when the demo ends."""

SETTLE_TIMEOUT_S: Final = 10.0
"""Maximum number of seconds to wait for the service to process all feedback when the demo ends."""


@help_from_docstring()
def demo(
    rate: Annotated[float, typer.Option(min=0.01)] = 10.0,
    mean_delay: Annotated[float, typer.Option(min=0.0)] = 60.0,
    never: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.03,
    seed: Annotated[int, typer.Option(min=0)] = 7,
    episodes: Annotated[int | None, typer.Option(min=1)] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535)] = None,
    store: str | None = None,
) -> None:
    """Run the service with a simulated clinic.

    The demo shows how delayed feedback arrives. Stop it with Ctrl-C. By default, ten patients
    arrive per second. Each patient is treated in six steps with one of three actions: wait,
    medicate or operate. The rewards are known to the service; the effects of actions are not.
    Each patient is treated by the served policy. The outcome is sent over HTTP about sixty patients
    later. Outcomes arrive out of order, 20 % in parts, 10 % twice, and 3 % never. The dashboard in
    the browser shows what the service learns. You can also send your own requests.

    Example: belated demo --rate 50 --episodes 1000

    Parameters
    ----------
    rate
        Maximum number of patients per second.
    mean_delay
        Mean delay of an outcome: number of patients that arrive meanwhile.
    never
        Share of outcomes that never arrive.
    seed
        Seed of all random numbers.
    episodes
        Stop after this number of patients; by default run until Ctrl-C.
    port
        Port to listen on; 0 for any free port. By default 8000, or any free port if that is in use.
    store
        Keep the ledger at this address: sqlite:///demo.db, or postgresql://user@host/database. By
        default it is temporary.
    """
    from belated.demo.simulation import FeedbackSchedule
    from belated.learner.background import compilation_in_background

    with usage_errors():
        schedule = FeedbackSchedule(mean_delay=mean_delay, never=never, seed=seed)
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="belated-demo-") as folder:
        address = store or f"sqlite:///{Path(folder) / 'demo.db'}"
        with open_ledger(address) as ledger:
            if ledger.tokens.all():
                raise typer.BadParameter(
                    f"{hide_password(address)} has tokens, but the demo uses none; choose another "
                    "store.",
                    param_hint="'--store'",
                )
            typer.echo("Starting ...")
            with (
                compilation_in_background(),
                open_demo_listener(port) as listener,
                stop_signals(lambda *_: stop.set()),
            ):
                url = format_url(DEFAULT_HOST, listener.getsockname()[1])
                with serve_in_thread(ledger, listener):
                    run_clinic(url, schedule, rate=rate, episodes=episodes, stop=stop)
    if store is not None:
        typer.echo(f"Everything is stored in {hide_password(store)}.")


def run_clinic(url: str, schedule: "FeedbackSchedule", *, rate: float, **how: Any) -> None:
    """Simulate the clinic as a client of the service, and print progress and a summary.

    Exit with a message if the service reports an error.

    Parameters
    ----------
    url : str
        URL of the service.
    schedule : FeedbackSchedule
        Times at which the outcomes are sent.
    rate : float
        Maximum number of patients per second.
    **how
        Further arguments of `ClinicSimulation.run`: episodes and stop.
    """
    from belated.client import Client, ServiceError
    from belated.demo.clinic import PROBLEM
    from belated.demo.simulation import NAME, ClinicSimulation
    from belated.demo.status import HEADER, StatusLine

    client = Client(url)
    try:
        client.define(PROBLEM)
        before = client.status(NAME)
        clinic = ClinicSimulation(client, schedule, first=(before["begun"] or 0) + 1)
        statistics = clinic.statistics
        print_introduction(url, schedule, rate=rate, best=statistics.best)
        line = StatusLine(HEADER, lambda seconds: statistics.line(seconds, client.status(NAME)))
        clinic.run(rate=rate, after_each=line.update, **how)
        line.close()
        status = wait_until_settled(client, (before["observed"] or 0) + statistics.back)
    except ServiceError as error:
        exit_with_message(f"The demo cannot continue: {error}")
    typer.echo(statistics.summary((status["missing"] or 0) - (before["missing"] or 0)))


def wait_until_settled(client: "Client", observed: int) -> dict[str, Any]:
    """Wait until the service has processed all feedback, and return the status of the problem.

    `client` is a client of the service, and `observed` the number of episodes whose feedback was
    sent completely. All feedback is processed when the status reports at least `observed` observed
    episodes and no feedback that waits to be processed. The wait ends after at most
    `SETTLE_TIMEOUT_S` seconds, even if some feedback is not processed.
    """
    from belated.demo.simulation import NAME

    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        status = client.status(NAME)
        settled = not status["waiting"] and (status["observed"] or 0) >= observed
        if settled or time.monotonic() >= deadline:
            return status
        time.sleep(0.05)


def print_introduction(url: str, schedule: "FeedbackSchedule", *, rate: float, best: float) -> None:
    """Print an introduction to the demo, with suggestions for the user.

    Parameters
    ----------
    url : str
        URL of the service.
    schedule : FeedbackSchedule
        Times at which the outcomes are sent.
    rate : float
        Maximum number of patients per second.
    best : float
        Expected return of the optimal policy.
    """
    clinic = f"{url}/v1/problems/clinic"
    typer.echo(
        f"A simulated clinic: {rate:g} patients per second; outcomes arrive "
        f"{schedule.mean_delay:g} patients later on average, {schedule.never:.0%} never.\n"
        f"Dashboard: {url}/#clinic ; stop it with Ctrl-C.\n"
        "\n"
        "On the dashboard:\n"
        "  Pending episodes, beside ψ: their outcomes are unknown until they arrive\n"
        f"  Mean return by version: it rises towards {best:.2f}, the optimal expected return\n"
        "  The policy: when to operate, when to medicate, and when neither helps\n"
        "  Freeze: patients keep the current version, while new ones are still published\n"
        "\n"
        "To try in another terminal:\n"
        f"  curl -s {clinic}/status\n"
        f"  curl -s -X POST {clinic}/freeze    # and unfreeze\n"
    )


def open_demo_listener(port: int | None) -> "socket.socket":
    """Return a socket that listens on `port`.

    If `port` is None, use the default port or, if that is in use, any free port.
    """
    if port is not None:
        return open_listener(DEFAULT_HOST, port)
    try:
        return open_listener(DEFAULT_HOST, DEFAULT_PORT)
    except typer.BadParameter:
        listener = open_listener(DEFAULT_HOST, 0)
        typer.echo(f"Port {DEFAULT_PORT} is in use; using {listener.getsockname()[1]} instead.")
        return listener


@contextmanager
def serve_in_thread(ledger: "Ledger", listener: "socket.socket") -> Iterator[None]:
    """Run the service for `ledger` in a thread until the end of the block.

    The service accepts connections on the socket `listener`.
    """
    server = build_server(
        ledger, open=True, interval=CHECK_INTERVAL_S, shutdown_timeout_s=SHUTDOWN_TIMEOUT_S
    )
    thread = threading.Thread(target=server.run, args=([listener],), name="belated-demo")
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
