"""Helper functions shared by several routes."""

import asyncio
from typing import Any, Final

from fastapi import Request
from fastapi.responses import JSONResponse

from belated.client.wire import to_dict
from belated.ledger.problems import Problem
from belated.online.host import Failure
from belated.online.serving import ServedPolicy
from belated.online.status import ProblemStatus
from belated.service.errors import ApiError, unavailable
from belated.service.state import AppState, get_state

FOLD_CHECKS: Final = 100
"""Maximum number of attempts to read the status of a problem for one request."""
FOLD_CHECK_INTERVAL_S: Final = 0.1


def respond(value: Any, status: int = 200) -> JSONResponse:
    """Return a response with `value`, a type of the interface or a JSON object."""
    return JSONResponse(to_dict(value), status)


async def get_problem(request: Request, name: str) -> Problem:
    """Return the problem called `name` of the application that received `request`.

    Raises ApiError (404) if there is no such problem.
    """
    problem = await get_state(request).ledger_cache.problem(name)
    if problem is None:
        raise ApiError(404, f"Problem {name[:100]!r} not found.")
    return problem


async def get_served(state: AppState, problem: Problem) -> ServedPolicy:
    """Return the served version of `problem`, as cached in `state`, and its policy.

    Raises ApiError (503) if no version has been published yet.
    """
    served = await state.policies.served(problem.id)
    if served is None:
        raise unavailable("No policy has been published yet.")
    return served


async def get_status(state: AppState, problem: Problem) -> ProblemStatus | Failure:
    """Return the status of `problem` from the host in `state`.

    The result is a `Failure` if the problem's state cannot be computed from its events. While the
    host computes this state for the first time, the function waits without blocking a thread. It
    raises ApiError (503) after `FOLD_CHECKS` attempts.
    """
    for _ in range(FOLD_CHECKS):
        status = await state.slow_threads.run(state.host.status_nowait, problem)
        if status is not None:
            return status
        await asyncio.sleep(FOLD_CHECK_INTERVAL_S)
    raise unavailable("The problem is still being folded.")
