"""Names of published stages in the explanation of a chain."""

from collections.abc import Mapping
from typing import TypeVar

from sophon.chain.order_constraints import read_order_constraints

M = TypeVar("M")


def as_stage(stage: str, middleware: M) -> M:
    """Return the middleware with the name of the published stage that it takes part in, for `explain()`."""
    acts: Mapping[str, str] = read_order_constraints(middleware).acts
    named = {when: f"{stage}: {what}" if index == 0 else what for index, (when, what) in enumerate(acts.items())}
    # Of this instance only: the same class stands in other chains.
    vars(middleware)["acts"] = named
    return middleware
