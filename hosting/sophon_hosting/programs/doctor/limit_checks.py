"""Checks of `sophon doctor` on the limits of a turn: prices that they need, and which limit on time ends it."""

from collections.abc import Iterator

from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.programs.doctor.findings import DoctorFinding, ok, warning
from sophon_hosting.programs.unknown_prices import PRICE_FIX, find_unknown_prices


def check_prices(services: Services) -> Iterator[DoctorFinding]:
    """Report each model of unknown price: failed if a limit on the cost refuses it, otherwise a warning."""
    found = list(find_unknown_prices(services))
    for each in found:
        yield DoctorFinding("prices", str(each), "failed" if each.limit is not None else "warning", PRICE_FIX)
    unknown = {each.model.id for each in found}
    infos = [info for provider in services.gateway.providers for info in provider.model_infos()]
    free = [info.id for info in infos if info.prices is None and info.id not in unknown]
    if free:
        yield ok("prices", f"{', '.join(free)}: no price is known; free because of where it runs")
    elif not found:
        yield ok("prices", "known for every model that costs money")


def check_time_limits(settings: Settings) -> DoctorFinding:
    """Report which limit on time ends a turn; warn if the hard one does it before the other."""
    active, hard = settings.budget.turn.active_time, settings.agent_execution.max_execution_time
    stop = f"a host stops a task after {hard} of work (AgentExecution.MaxExecutionTime)"
    if active is None:
        return ok("limits.time", f"a turn sums up shortly before its time is over; {stop}")
    if active < hard:
        return ok("limits.time", f"a turn ends after {active} of work (Budget.Turn.ActiveTime) with an answer; {stop}")
    fix = "set Budget.Turn.ActiveTime below it, so that a long turn ends with an answer and not as a failure"
    return warning("limits.time", f"{stop}, before Budget.Turn.ActiveTime ({active}) ends it", fix)
