"""What every call of one gateway works with."""

from dataclasses import dataclass

from sophon.clock import Clock
from sophon.models.backoff import Backoff
from sophon.models.options import GatewayOptions
from sophon.models.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Equipment:
    """The same for all calls, and shared by them."""

    clock: Clock
    tokens: TokenCounter
    options: GatewayOptions
    backoff: Backoff
