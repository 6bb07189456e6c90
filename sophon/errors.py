"""Every exception of Sophon, in one tree; a branch says whose fault it is.

    SophonError
    ├── CompositionError          the chain cannot be built: whoever wrote the chain
    ├── ChainError                the chain was built and ended in a place where it may not: whoever wrote a middleware
    ├── SettingsError             settings that cannot be used: whoever runs the host
    ├── StateError                a written-out turn that cannot be read back
    ├── InputError                what a person sent cannot be used: empty, too large
    │   └── MessageTooLarge
    ├── NotFound                  a session, task or approval that does not exist
    ├── StoreError                the store cannot be opened, read or written: its file, its server, its URL
    ├── IllegalTransition         what is kept in a state was to take one that does not follow: whoever asked for it
    ├── BudgetExceeded            a limit set by the operator was met
    ├── QueueFull                 more was sent than may wait: try again in a while
    ├── ToolError                 a tool or its arguments; becomes a result that the model can read
    │   ├── UnknownTool
    │   └── InvalidArguments
    ├── PlanError                 a plan that cannot be run
    ├── SsrfBlocked               an address that the SSRF guard refuses (in sophon.tools.ssrf)
    └── ModelError                a provider, its key or its network
        ├── RateLimited           429
        ├── Overloaded            529, "overloaded"
        ├── ProviderUnavailable   5xx, network
        ├── ModelTimeout
        ├── AuthenticationFailed  401, 403
        ├── ContextOverflow       the request does not fit the model's window
        ├── BadRequest            other 4xx
        └── NoProvider            nobody is left to ask

Constructors take facts, keep them as attributes and build the sentence: fact, value, remedy.
"""

from collections.abc import Sequence
from typing import Any


class SophonError(Exception):
    """The root: `except SophonError` catches all that Sophon raises on purpose."""

    code = "error"
    """A stable name for programs: it stands in events and in answers of the host."""


class CompositionError(SophonError):
    """`Pipeline.compose` was given something that is no chain; the message names the culprit."""

    code = "composition"


class ChainError(SophonError):
    """A turn ran off the end of its chain, or ended with no response; the message names the place."""

    code = "chain"


class SettingsError(SophonError):
    """Settings that cannot be used; all problems at once, one line each.

    `problems` holds the lines, each of which begins with the path of the setting.
    """

    code = "settings"

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class StateError(SophonError):
    """A written-out turn that cannot be read back."""

    code = "state"


class InputError(SophonError):
    """What a person sent cannot be used."""

    code = "input"


class MessageTooLarge(InputError):
    """System prompt and last user message alone do not fit the model's window. Sizes in tokens."""

    code = "message_too_large"

    def __init__(self, tokens: int, limit: int, model: str) -> None:
        self.tokens, self.limit, self.model = tokens, limit, model
        super().__init__(
            f"the message is too large: about {tokens} tokens, and {model} has room for {limit}; "
            f"shorten it, or choose a model with a larger window"
        )


class NotFound(SophonError):
    """Something that was asked for by name does not exist."""

    code = "not_found"

    def __init__(self, kind: str, name: str, near: Sequence[str] = ()) -> None:
        self.kind, self.name, self.near = kind, name, list(near)
        hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        super().__init__(f"there is no {kind} {name!r}{hint}")


class StoreError(SophonError):
    """The store cannot be opened, read or written. `store` is its URL without a password, `problem` what is wrong."""

    code = "store"

    def __init__(self, store: str, problem: str) -> None:
        self.store, self.problem = store, problem
        super().__init__(f"the store {store} cannot be used: {problem}")


class IllegalTransition(SophonError):
    """Something was to become what it cannot become from where it is; of two who try, the later one meets this."""

    code = "illegal_transition"

    def __init__(self, kind: str, name: str, state: str, wanted: str, allowed: Sequence[str]) -> None:
        self.kind, self.name, self.state, self.wanted, self.allowed = kind, name, state, wanted, list(allowed)
        ways = f"from there it can become {' or '.join(allowed)}" if allowed else "that is its end"
        super().__init__(f"the {kind} {name!r} is {state} and cannot become {wanted}; {ways}")


class BudgetExceeded(SophonError):
    """A limit set by the operator was met.

    `limit` is the name of the setting, `used` and `allowed` are in its own unit, and so is `needed`: what the next call
    may need, where it was that call which did not fit. `resets_at` is ISO 8601 in UTC.
    """

    code = "budget_exceeded"

    def __init__(
        self,
        limit: str,
        used: float,
        allowed: float,
        *,
        needed: float = 0,
        provider: str | None = None,
        resets_at: str | None = None,
    ) -> None:
        self.limit, self.used, self.allowed, self.needed = limit, used, allowed, needed
        self.provider, self.resets_at = provider, resets_at
        whose = f" of provider {provider!r}" if provider else ""
        when = f"; it resets at {resets_at}" if resets_at else ""
        more = f", and the next call may need {needed:.12g}" if needed else ""
        super().__init__(f"the budget {limit}{whose} is spent: {used:.12g} of {allowed:.12g} used{more}{when}")


class QueueFull(SophonError):
    """As many tasks wait as may; nothing of the refused one is kept.

    `capacity` is in tasks. `retry_after_seconds`, a whole number, is an estimate of when there is room again.
    """

    code = "queue_full"

    def __init__(self, capacity: int, retry_after_seconds: int) -> None:
        self.capacity, self.retry_after_seconds = capacity, retry_after_seconds
        super().__init__(
            f"the queue is full: {capacity} tasks may wait, and as many do; try again in {retry_after_seconds} s"
        )


class ToolError(SophonError):
    """A tool could not do its work; raise it in a tool to tell the model why in your own words."""

    code = "tool"


class UnknownTool(ToolError):
    """No tool has that name, or it is withheld from this turn."""

    code = "unknown_tool"

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        self.name, self.near = name, list(near)
        hint = f"; near names: {', '.join(near)}" if near else ""
        super().__init__(f"there is no tool {name!r}{hint}")


class InvalidArguments(ToolError):
    """The arguments of a call do not fit the tool's schema; `problems` has a line per argument."""

    code = "invalid_arguments"

    def __init__(self, tool: str, problems: Sequence[str]) -> None:
        self.tool, self.problems = tool, list(problems)
        super().__init__(f"invalid arguments for {tool}: {'; '.join(problems)}")


class PlanError(SophonError):
    """A plan that cannot be run; `problems` has a line per fault."""

    code = "plan"

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("the plan cannot be run: " + "; ".join(self.problems))


class ModelError(SophonError):
    """Whatever a provider raises leaves the gateway as one of these, the original as its cause.

    `retry_after` is in seconds, as the provider asked. `visible` tells that text had already been shown when it
    failed: such an attempt is never repeated.
    """

    code = "model"

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.provider, self.model, self.status, self.retry_after = provider, model, status, retry_after
        self.visible = False
        self.attempts: list[Any] = []
        super().__init__(message)


class RateLimited(ModelError):
    """429: this key has asked too often."""

    code = "rate_limited"


class Overloaded(ModelError):
    """529, or a 503 that says so: the provider is busy, whatever the key."""

    code = "overloaded"


class ProviderUnavailable(ModelError):
    """5xx, or the network between."""

    code = "provider_unavailable"


class ModelTimeout(ModelError):
    """No answer in time."""

    code = "model_timeout"


class AuthenticationFailed(ModelError):
    """401 or 403: the key is wrong, expired or has no right to the model."""

    code = "authentication"


class ContextOverflow(ModelError):
    """The request does not fit the model's window."""

    code = "context_overflow"


class BadRequest(ModelError):
    """Any other 4xx: the request itself is refused, and asking again would not help."""

    code = "bad_request"


class NoProvider(ModelError):
    """No provider can be asked: none configured, all benched, or all spent."""

    code = "no_provider"
