"""Exception tree of Sophon; a branch names the cause and who can fix it.

::

    SophonError
    ├── CompositionError          the chain cannot be built (author of the chain)
    ├── ChainError                no response, or past the last middleware (author of a middleware)
    │   └── TurnAlreadyRun        a state whose turn has ended, or is running (caller)
    ├── SettingsError             invalid settings (operator)
    ├── StateError                serialised turn state that cannot be restored
    ├── InputError                invalid user input: empty, too large
    │   └── MessageTooLarge
    ├── NotFound                  a session, task or approval that does not exist
    │   └── SessionTaken          a session that is no longer the one that was found
    ├── StoreError                the store cannot be opened, read or written: its file, its server, its URL
    │   └── StoreUnavailable      not now: its disk is full, its server is gone; the same request may succeed later
    ├── ChangedMeanwhile          what was read was changed or deleted since (whoever reads again finds the change)
    ├── IllegalTransition         a state transition that is not allowed (caller)
    ├── BudgetExceeded            a limit set by the operator was reached
    │   └── PriceUnknown          a limit on the cost, and a model whose price is unknown
    ├── TryLater                  a message that a host refuses now (in sophon_hosting.queue.errors)
    ├── ToolError                 a tool or its arguments; becomes a result that the model can read
    │   └── InvalidArguments
    ├── PlanError                 an invalid plan (in sophon.plans.plan)
    ├── TrialFailed               a provider that was tried before its use: key, credit, network, model
    ├── SsrfBlocked               a URL that the SSRF guard blocks (in sophon.tools.http.ssrf_guard)
    └── ModelError                a provider, its key or its network
        ├── RateLimited           429
        ├── Overloaded            529, "overloaded"
        ├── ProviderUnavailable   5xx, network
        ├── ModelTimeout
        ├── ResponseTooLarge      the reply exceeds AgentExecution.MaxReplyBytes; never retried or failed over
        ├── AuthenticationFailed  401, 403
        ├── ContextOverflow       the request exceeds the context window
        ├── BadRequest            other 4xx
        └── NoProvider            no provider is available

Constructors take facts, store them as attributes and build the message: fact, value, remedy.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sophon.redaction_hook import RedactedError, redact


class SophonError(RedactedError):
    """Base class of all exceptions that Sophon raises deliberately; secrets in their texts are replaced."""

    code = "error"
    """Stable machine-readable error code; used in events and in responses of the host."""


class CompositionError(SophonError):
    """Invalid argument of `Pipeline.compose`, `tool`, `Services` or `ModelInfo`; the message names what is wrong."""

    code = "composition"


class ChainError(SophonError):
    """A turn passed the last middleware, or ended without a response; the message names the middleware."""

    code = "chain"


class TurnAlreadyRun(ChainError):
    """A turn that is run again although it has ended, is running, or was continued until a later suspension.

    `progress` is `ended`, `running` or `suspended`.
    """

    code = "turn_already_run"

    def __init__(self, run_id: str, progress: str) -> None:
        self.run_id, self.progress = run_id, progress
        what = {
            "ended": "has ended, and its end is recorded: create a new one with services.turn(...)",
            "running": "is running, in this process or another: wait until it has ended or is suspended",
            "suspended": "was continued from this state and is suspended anew: restore the state of that suspension",
        }[progress]
        super().__init__(f"the turn {run_id} {what}")


class SettingsError(SophonError):
    """Invalid settings; reports all problems at once.

    `problems` holds one line per problem, each starting with the path of the setting.
    """

    code = "settings"

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = [redact(problem) for problem in problems]
        super().__init__("\n".join(self.problems))


class StateError(SophonError):
    """Serialised turn state that cannot be restored."""

    code = "state"


class InputError(SophonError):
    """Invalid input of a user."""

    code = "input"


class MessageTooLarge(InputError):
    """System prompt and last user message alone exceed the model's context window. Sizes in tokens.

    `is_system_prompt`: the instructions and the tools do not fit even without a message.
    """

    code = "message_too_large"

    def __init__(self, tokens: int, limit: int, model: str, *, is_system_prompt: bool = False) -> None:
        self.tokens, self.limit, self.model = tokens, limit, model
        self.is_system_prompt = is_system_prompt
        what, remedy = ("the message is", "shorten it")
        if is_system_prompt:
            what, remedy = "the system prompt and the tools are", "shorten the instructions, offer fewer tools"
        super().__init__(
            f"{what} too large: about {tokens} tokens, and {model} accepts at most {limit}; "
            f"{remedy}, or choose a model with a larger window"
        )


MAX_SIMILAR: Final = 3
"""Similar names that an error asks about; more of them are a list of what there is."""


class NotFound(SophonError):
    """No object of `kind` has the requested name; `near` holds up to three similar names, or all if none is similar."""

    code = "not_found"

    def __init__(self, kind: str, name: str, near: Sequence[str] = ()) -> None:
        self.kind, self.name, self.near = kind, name, list(near)
        hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        if len(near) > MAX_SIMILAR:
            hint = f"; there are {', '.join(near)}"
        super().__init__(f"there is no {kind} {name!r}{hint}")


class SessionTaken(NotFound):
    """The session of that id was deleted meanwhile, or is another owner's by now."""

    def __init__(self, session_id: str) -> None:
        super().__init__("session", session_id)


class StoreError(SophonError):
    """The store cannot be opened, read or written. `store` is its URL without a password, `problem` the cause."""

    code = "store"

    def __init__(self, store: str, problem: str) -> None:
        self.store, self.problem = store, problem
        super().__init__(f"the store {store} cannot be used: {problem}")


class StoreUnavailable(StoreError):
    """The store cannot be used now, through no fault of the request; the same request may succeed later.

    `kind` is one word, a key of `sophon.stores.health.REASONS`; `reason` says the same in words that clients may read:
    it names no file and no server. `retry_after_seconds` is what clients are told.
    """

    code = "unavailable"
    retry_after_seconds = 5

    def __init__(self, store: str, kind: str, reason: str) -> None:
        super().__init__(store, reason)
        self.kind, self.reason = kind, reason
        self.args = (f"the store is unavailable: {reason}",)


class Busy(SophonError):
    """A running turn blocks the operation; retry when the turn has ended."""

    code = "busy"


class ChangedMeanwhile(SophonError):
    """The `kind` of that name was changed or deleted since it was read; nothing was stored."""

    code = "changed_meanwhile"

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"the {kind} {name!r} was changed or deleted meanwhile; read it again")


class IllegalTransition(SophonError):
    """The requested state transition is not allowed; of two concurrent transitions the later one raises this."""

    code = "illegal_transition"

    def __init__(self, kind: str, name: str, state: str, wanted: str, allowed: Sequence[str]) -> None:
        self.kind, self.name, self.state, self.wanted, self.allowed = kind, name, state, wanted, list(allowed)
        ways = f"allowed: {' or '.join(allowed)}" if allowed else "this state is final"
        super().__init__(f"the {kind} {name!r} is {state} and cannot become {wanted}; {ways}")


class BudgetExceeded(SophonError):
    """A limit set by the operator was reached.

    `limit` is the name of the setting; `used`, `allowed` and `needed` are in its unit, which the message shows if
    `unit` names it. `needed` is the estimate for the next call if that call did not fit, else 0. `resets_at` is ISO
    8601 in UTC.
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
        unit: str = "",
    ) -> None:
        self.limit, self.used, self.allowed, self.needed = limit, used, allowed, needed
        self.provider, self.resets_at = provider, resets_at
        whose = f" of provider {provider!r}" if provider else ""
        when = f"; it resets at {resets_at}" if resets_at else ""
        more = f", and the next call may need {needed:.12g}" if needed else ""
        amount = f"{allowed:.12g} {unit}".rstrip()
        super().__init__(f"the budget {limit}{whose} is spent: {used:.12g} of {amount} used{more}{when}")


class PriceUnknown(BudgetExceeded):
    """A limit on the cost is in force, and the price of a model that a provider charges for is unknown.

    `model` is `provider/name`; `limit` is the name of the setting, `allowed` its value in USD.
    """

    code = "price_unknown"

    def __init__(self, model: str, provider: str, limit: str, allowed: float) -> None:
        super().__init__(limit, 0, allowed, provider=provider)
        self.model = model
        self.args = (
            f"the price of {model!r} is unknown, and {limit} limits the cost to {allowed:.12g} USD; set Prices of the "
            f"provider {provider!r}, or Budget.DefaultPrices, in USD per million tokens (0 if it is free)",
        )


class ToolError(SophonError):
    """A tool failed; a tool raises it with a message that the model reads."""

    code = "tool"


class InvalidArguments(ToolError):
    """The arguments of a call do not match the tool's schema; `problems` has one line per argument."""

    code = "invalid_arguments"

    def __init__(self, tool: str, problems: Sequence[str]) -> None:
        self.tool, self.problems = tool, list(problems)
        super().__init__(f"invalid arguments for {tool}: {'; '.join(problems)}")


_TRY_AGAIN = "; try again after "


class ModelError(SophonError):
    """Base class of provider errors; the gateway converts every provider exception and keeps it as the cause.

    `retry_after` is the provider's delay in seconds. `unavailable_until` (ISO 8601 in UTC) is when the provider is
    called again, if the gateway gave up because that is too far away. `visible` is true if streamed text had already
    been shown when the attempt failed; such an attempt is never retried.
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
        self.unavailable_until: str | None = None
        self.attempts: list[Any] = []
        super().__init__(message)

    def set_unavailable_until(self, moment: datetime) -> None:
        """Set the time until which the provider is not called, and add it to the message, once."""
        if self.unavailable_until is None:
            self.unavailable_until = moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
            self.args = (f"{self}{_TRY_AGAIN}{self.unavailable_until}",)


def find_unavailable_until(message: str) -> datetime | None:
    """Return the time that `ModelError.set_unavailable_until` has added to a message, if it has."""
    _, mark, told = message.rpartition(_TRY_AGAIN)
    try:
        return datetime.strptime(told, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) if mark else None
    except ValueError:
        return None


class RateLimited(ModelError):
    """HTTP 429: rate limit of this API key."""

    code = "rate_limited"


class Overloaded(ModelError):
    """HTTP 529, or a 503 that reports overload: the provider is busy for all keys."""

    code = "overloaded"


class ProviderUnavailable(ModelError):
    """HTTP 5xx, or a network failure."""

    code = "provider_unavailable"


class ModelTimeout(ModelError):
    """No response within the timeout."""

    code = "model_timeout"


class TrialFailed(SophonError):
    """A provider cannot be used as it was given; the text is one sentence for people.

    `reason` is `wrong_key`, `no_credit`, `no_network`, `unknown_model`, `no_api`, `provider_busy` or `provider_failed`.
    """

    code = "trial_failed"

    def __init__(self, reason: str, sentence: str) -> None:
        self.reason = reason
        super().__init__(sentence)


class ResponseTooLarge(ModelError):
    """A provider's reply exceeds a limit on its size. Its rest was not read; it is neither retried nor failed over.

    `subject` says what is too large, `limit` is in `unit`.
    """

    code = "response_too_large"

    def __init__(self, subject: str, limit: int, unit: str = "bytes") -> None:
        self.subject, self.limit, self.unit = subject, limit, unit
        super().__init__(
            f"{subject} is too large: more than {limit:,} {unit}; ask for a shorter answer, or raise "
            "AgentExecution.MaxReplyBytes"
        )


class AuthenticationFailed(ModelError):
    """HTTP 401 or 403: the key is wrong, expired or not permitted to use the model."""

    code = "authentication"


class ContextOverflow(ModelError):
    """The request exceeds the model's context window."""

    code = "context_overflow"


class BadRequest(ModelError):
    """Any other HTTP 4xx: the request is invalid and must not be retried."""

    code = "bad_request"


class NoProvider(ModelError):
    """No provider is available: none configured, all disabled by the circuit breaker, or all budgets spent."""

    code = "no_provider"
