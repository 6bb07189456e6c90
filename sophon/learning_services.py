"""Embedder, routing decisions and router: what turns learn from earlier ones with."""

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from sophon._python.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sophon.learning.contract import Embedder, PolicyCache
    from sophon.routing.router import Router


@dataclass(frozen=True, slots=True)
class LearningServices:
    """`embedder` turns texts into vectors, `policies` are routing decisions of earlier messages; None: there are none.

    Without `is_enabled`, as off the record, turns leave no trajectories and no routing decisions. The router is created
    when it is first needed; copies share it, since `routers` is one list.
    """

    embedder: "Embedder | None"
    policies: "PolicyCache | None"
    create_router: "Callable[[Embedder | None, PolicyCache | None], Router]"
    is_enabled: bool = True
    routers: "list[Router]" = field(default_factory=list["Router"])

    @property
    def router(self) -> "Router":
        """Decides which models a turn asks. Raises SettingsError if a booster of the settings cannot be imported."""
        if not self.routers:
            self.routers.append(self.create_router(self.embedder, self.policies))
        return self.routers[0]
