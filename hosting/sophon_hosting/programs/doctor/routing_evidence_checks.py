"""Check of `sophon doctor` on routing that learns: from what, and how much of it there is."""

from collections.abc import Iterable

from sophon.errors import SophonError
from sophon.routing.route_averages import MIN_SAMPLES
from sophon.services import Services
from sophon.settings.sections.routing import LEARNING_STRATEGIES
from sophon.stores.route_averages.route_average import RouteAverage
from sophon.stores.vectors.contract import POLICIES
from sophon_hosting.programs.doctor.findings import DoctorFinding, ok, warning
from sophon_hosting.store.contract import host_store

SOURCES = {
    "Heuristic": "what people say about answers, and faults of form",
    "Evaluator": "what people say about answers, faults of form, and a model that judges {share:.0%} of the others",
}
PEOPLE = "what people say about answers"


async def check_learning(services: Services) -> DoctorFinding | None:
    """Say what a strategy learns from, and how many tiers are known; None where none learns. The store must be open."""
    settings = services.settings
    routing, learning = settings.routing, settings.learning
    strategies = {settings.routing.strategy, *(each.strategy or "" for each in routing.task_types.values())}
    names = " and ".join(sorted(strategies & LEARNING_STRATEGIES))
    if not names:
        return None
    if learning.enabled is False:
        text = f"{names} learns nothing: Learning.Enabled is false; it decides as Tiered does"
        return warning("learning", text, "remove Learning.Enabled, or set Routing.Strategy to Tiered")
    source = SOURCES.get(learning.scorer, PEOPLE).format(share=learning.evaluator.share)
    try:
        averages = await host_store(services).route_averages.list_all()
        decisions = await host_store(services).vectors.count(POLICIES)
    except SophonError as error:
        return ok("learning", f"{names} learns from {source}; the store cannot be read: {error}")
    evidence = f"{describe_evidence(averages)}, and {decisions} judged messages are kept"
    return ok("learning", f"{names} learns from {source}; {evidence}. Without evidence it decides as Tiered does")


def describe_evidence(averages: Iterable[RouteAverage]) -> str:
    """Return how many tiers are known, of those that have answered."""
    judged: dict[tuple[str, str], int] = {}
    for each in averages:
        key = (each.tier, each.task_type)
        judged[key] = judged.get(key, 0) + max(each.scored, each.rated)
    known = sum(count >= MIN_SAMPLES for count in judged.values())
    return f"{known} of {len(judged)} tiers and task types have {MIN_SAMPLES} judged answers"
