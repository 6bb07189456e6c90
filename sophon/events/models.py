"""Events of model calls: attempts, fallbacks and budgets."""

from dataclasses import field

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event
from sophon.events.visibility import Plain
from sophon.messages import Usage
from sophon.redaction_hook import redact


@dataclass(slots=True, kw_only=True)
class ModelAttempt(Event):
    """One attempt of the gateway at one model; `outcome` is `ok` or the error code.

    `key` is the number of the API key, from 0; null without one. `first_token_ms`: from its start to the first text of
    a streamed reply. `span_id` is what the provider was told as its caller, if the trace is passed on.
    """

    is_trace = True

    purpose: Plain
    model: Plain
    outcome: Plain
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    detail: str = ""
    key: int | None = None
    first_token_ms: int | None = None
    span_id: Plain = ""

    def __post_init__(self) -> None:
        if self.detail:
            self.detail = redact(self.detail)


@dataclass(slots=True, kw_only=True)
class ModelFallback(Event):
    """States of a model call that needed more than its first attempt, in order; none repeats without a transition.

    They end with `succeeded`, `exhausted` (no candidate is left) or `aborted`; there are at most `max_transitions`
    after the first.
    """

    is_trace = True

    purpose: Plain
    states: tuple[Plain, ...]
    max_transitions: int


@dataclass(slots=True, kw_only=True)
class BudgetAlert(Event):
    """Budget use reached a `share` of a limit; `used` and `limit` are in the unit of the setting `name`.

    The limit is that of a provider or, with a `principal`, of a person, or with a `task_type` of that. `refused`: a
    call was refused because the rest
    of the limit is too small for it; `share` is then 1.0. Emitted once per limit, share and day or month.
    """

    provider: Plain
    name: Plain
    limit: float
    used: float
    share: float
    refused: bool = False
    principal: str = ""
    task_type: Plain = ""


@dataclass(slots=True, kw_only=True)
class ProviderExcluded(Event):
    """The turn does not use a provider, or no longer, because of a budget; `limit` is the name of the setting.

    `until` is ISO 8601 in UTC, the time at which the limit resets; null if it does not.
    """

    provider: Plain
    limit: Plain
    reason: Plain
    until: Plain | None = None
