"""Cost limits and models of unknown price: which limit would never be reached because of a model."""

from typing import NamedTuple

from sophon.models.model import ModelInfo
from sophon.settings import EVERY_PROVIDER, BudgetSettings


class CostLimit(NamedTuple):
    """A limit on the cost: the path of its setting, and its value in USD."""

    setting: str
    allowed: float


def find_blind_cost_limit(model: ModelInfo, budget: BudgetSettings) -> CostLimit | None:
    """Return the limit on the cost that a model of unknown price would never reach; None if there is none.

    A monthly limit needs the price of every model that does not run locally. The ceiling of a turn, which has a
    default, needs that of hosted models only, so that a server of one's own works without further settings.
    """
    if model.prices is not None or model.hosting == "local":
        return None
    monthly = budget.limits_for(model.provider).monthly_cost
    if monthly is not None:
        entry = model.provider if model.provider in budget.providers else EVERY_PROVIDER
        return CostLimit(f"Budget.Providers.{entry}.MonthlyCost", monthly)
    if model.hosting != "hosted":
        return None
    if budget.turn.cost is not None:
        return CostLimit("Budget.Turn.Cost", budget.turn.cost)
    limits = ((kind, entry.cost) for kind, entry in budget.task_types.items() if entry.cost is not None)
    return next((CostLimit(f"Budget.TaskTypes.{kind}.Cost", cost) for kind, cost in limits), None)
