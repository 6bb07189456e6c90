"""Gateway context: the collaborators that all calls of one gateway share."""

from dataclasses import dataclass

from sophon.clock import Clock
from sophon.models.gateway.backoff import Backoff
from sophon.models.gateway.options import GatewayOptions
from sophon.models.token_counter import TokenCounter


@dataclass(frozen=True, slots=True)
class GatewayDependencies:
    """Clock, token counter, options and back-off of one gateway; the same objects for all its calls."""

    clock: Clock
    tokens: TokenCounter
    options: GatewayOptions
    backoff: Backoff
