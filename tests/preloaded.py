"""Imported by the process from which `processes.Program` forks: modules, and compiled kernels."""

import belated.cli.serve
import belated.service.app
import belated.sweep.sweep  # noqa: F401
from belated.ledger import Ledger
from belated.online.host import Host
from histories import History, make_spec

with Ledger.open("sqlite://") as ledger:
    history, host = History(ledger, make_spec()), Host(ledger)
    host.step()  # loads the kernels of a learner
    history.answer(*history.open())
    host.step()
    host.stop()
