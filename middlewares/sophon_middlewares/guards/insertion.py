"""Insertion of the guards that the settings enable, around the tool call of any chain."""

from collections.abc import Callable, Sequence

from sophon.chain.order_constraints import get_middleware_name, read_order_constraints
from sophon.chain.pipeline import Middleware, Pipeline
from sophon.errors import CompositionError
from sophon.settings import GuardsSettings
from sophon_middlewares.guards.audit import Audit
from sophon_middlewares.guards.authorization import Authorization
from sophon_middlewares.guards.information_flow import InformationFlow
from sophon_middlewares.guards.integrity import Integrity
from sophon_middlewares.guards.intent_gate import IntentGate
from sophon_middlewares.guards.off_the_record import OffTheRecord
from sophon_middlewares.guards.protection import Protection
from sophon_middlewares.guards.rate_limit import RateLimit
from sophon_middlewares.guards.redaction import Redaction
from sophon_middlewares.guards.reply_redaction import ReplyRedaction
from sophon_middlewares.guards.shield import Shield
from sophon_middlewares.guards.simulation import Simulation
from sophon_middlewares.guards.snapshot import Snapshot
from sophon_middlewares.guards.unsandboxed_programs import Sandbox

_GUARDS: Sequence[tuple[Callable[[GuardsSettings], bool], Callable[[], Middleware]]] = (
    (lambda guards: guards.audit.enabled, Audit),
    (lambda guards: guards.redaction.enabled, Redaction),
    (lambda guards: bool(guards.authorization.enabled), Authorization),
    (lambda guards: guards.rate_limit.enabled, RateLimit),
    (lambda guards: guards.intent_gate.enabled, IntentGate),
    (lambda guards: guards.integrity.enabled, Integrity),
    (lambda guards: guards.information_flow.enabled, InformationFlow),
    (lambda guards: guards.protection.enabled, Protection),
    (lambda guards: guards.shield.enabled, Shield),
    (lambda guards: guards.snapshot.enabled, Snapshot),
    (lambda guards: guards.sandbox.enabled, Sandbox),
    (lambda guards: guards.simulation.enabled, Simulation),
)
"""The guards in their order, outermost first; each stands in front of Approval."""

_GUARDED = ("Approval", "ToolExecution")


def add_guards(chain: Pipeline, settings: GuardsSettings) -> Pipeline:
    """Return the chain with the enabled guards in front of its Approval, or of ToolExecution without one.

    A guard that the chain already has is not added, and stays if the settings disable it. A chain without tool
    execution is returned as it is. Raises CompositionError.
    """
    if not isinstance(chain, Pipeline) or not isinstance(settings, GuardsSettings):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompositionError("add_guards takes a chain and its settings: add_guards(chain, services.settings.guards)")
    names = [get_middleware_name(each) for each in chain]
    if not any(name in names for name in _GUARDED):
        return chain
    guarded = list(chain)
    inner: list[str] = list(_GUARDED)
    for is_enabled, create in reversed(_GUARDS):
        guard = create()
        name = get_middleware_name(guard)
        if is_enabled(settings) and name not in names:
            # In front of the chain's own guards that come after it, too.
            position = min(names.index(each) for each in inner if each in names)
            guarded.insert(position, guard)
            names.insert(position, name)
        inner.append(name)
    if settings.redaction.enabled and "ReplyRedaction" not in names:
        # Outermost: whatever stands in front of the loop may ask a model.
        guarded.insert(1 if read_order_constraints(chain[0]).first else 0, ReplyRedaction())
    # The chain may be of a class of its own.
    return chain if len(guarded) == len(chain) else type(chain).compose(*guarded)


def add_off_the_record(chain: Pipeline) -> Pipeline:
    """Return the chain with OffTheRecord in front of its other guards, Approval and ToolExecution.

    A chain without tool execution is returned as it is. Raises CompositionError.
    """
    names = [get_middleware_name(each) for each in chain]
    if not any(name in names for name in _GUARDED) or "OffTheRecord" in names:
        return chain
    judges = ("Integrity", "Protection", "Shield", *_GUARDED)
    position = min(names.index(each) for each in judges if each in names)
    guarded = list(chain)
    guarded.insert(position, OffTheRecord())
    return type(chain).compose(*guarded)
