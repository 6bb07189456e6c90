"""Tier 2 of Shield on a tool call: asks the evaluator's model, within the daily budget, once a minute per action."""

import hashlib
import logging

from sophon.context import Context
from sophon.extensions import Key
from sophon.invisible_characters import escape_invisible
from sophon.local_day import LONGEST_DAY_SECONDS, find_start_of_day
from sophon.messages import Message, ToolCall, to_canonical_json
from sophon.models.gateway.provider import Candidate
from sophon.models.offline import OfflineModel
from sophon.security import describe_error, redact_and_cut
from sophon.security.shield.evaluation_texts import (
    MAX_PAYLOAD_CHARACTERS,
    MAX_TOKENS,
    TIMEOUT_SECONDS,
    Evaluation,
    InvalidEvaluation,
    build_evaluation_texts,
    create_canary,
    read_evaluation,
    render_action,
)
from sophon.security.shield.shield_tiers import EVALUATOR, PERSON, Action, TierVerdict
from sophon.security.shield.verdict_cache import VerdictCache
from sophon.security.sliding_windows import RateLimit
from sophon_middlewares.tool_calls.escalations import get_round_values
from sophon_middlewares.tool_calls.rate_slots import take_slot

log = logging.getLogger("sophon.guards")

SCOPE = "shield.evaluations"
"""Rate window of the evaluations of all users."""

MAX_REASON_CHARACTERS = 300

_EVALUATED: Key[dict[str, tuple[str, TierVerdict]]] = Key(
    "shield.evaluated",
    dump=lambda calls: {
        call_id: [key, each.verdict, each.tier, each.rule, each.reason] for call_id, (key, each) in calls.items()
    },
    load=lambda data: {call_id: (key, TierVerdict(*verdict)) for call_id, (key, *verdict) in data.items()},
)
"""Call id -> digest of the action and the evaluator's verdict: a resumed turn does not pay for it again."""


async def evaluate(ctx: Context, call: ToolCall, action: Action, cache: VerdictCache) -> TierVerdict:
    """Return the verdict of the evaluator: allow or block in tier 2, or escalate to a person."""
    rendered = render_action(action.action_type, action.arguments)
    if len(rendered) > MAX_PAYLOAD_CHARACTERS:
        return TierVerdict("escalate", 3, "oversized_action", "it is too long to be evaluated")
    model = ctx.services.settings.guards.shield.evaluator_model or ""
    key = hashlib.sha256(to_canonical_json([model, rendered])).hexdigest()
    evaluated = get_round_values(ctx, _EVALUATED)
    earlier = evaluated.get(call.id)
    if earlier is not None and earlier[0] == key:
        return earlier[1]
    if not _can_evaluate(ctx):
        return TierVerdict("escalate", PERSON, "no_evaluator", "no model can evaluate it")
    evaluation = cache.find(key, ctx.services.clock.monotonic())
    if evaluation is None:
        found = await _try_to_evaluate(ctx, rendered)
        if isinstance(found, TierVerdict):
            return found
        cache.add(key, found, ctx.services.clock.monotonic())
        evaluation = found
    verdict = to_verdict(evaluation)
    evaluated[call.id] = (key, verdict)
    return verdict


def to_verdict(evaluation: Evaluation) -> TierVerdict:
    """Return the verdict of an evaluation; the reasoning is cut, and nothing in it is invisible."""
    reasoning = redact_and_cut(escape_invisible(" ".join(evaluation.reasoning.split())), MAX_REASON_CHARACTERS)
    if evaluation.decision == "ALLOW":
        return TierVerdict("allow", EVALUATOR, "evaluator", reasoning)
    if evaluation.decision == "BLOCK":
        return TierVerdict("block", EVALUATOR, "evaluator", f"the evaluator blocks it: {reasoning}")
    return TierVerdict("escalate", 3, "evaluator", f"the evaluator wants a person to decide: {reasoning}")


async def _try_to_evaluate(ctx: Context, action: str) -> Evaluation | TierVerdict:
    """Return the evaluation, or the verdict if there is none."""
    try:
        if (spent := await _take_evaluation(ctx)) is not None:
            return _decide_without(ctx, "evaluation_budget", spent)
        async with ctx.services.clock.timeout(TIMEOUT_SECONDS):
            return await _ask(ctx, action)
    except InvalidEvaluation as error:
        return TierVerdict("block", EVALUATOR, f"evaluator_{error.rule}", str(error))
    except TimeoutError:
        return _decide_without(ctx, "evaluation_timeout", f"the evaluator did not answer in {TIMEOUT_SECONDS:g} s")
    except Exception as error:  # noqa: BLE001 - whatever it is, the call is not evaluated
        log.warning("an evaluation failed: %s", describe_error(error))
        return _decide_without(ctx, "evaluation_failed", f"the evaluation failed: {describe_error(error)}")


async def _take_evaluation(ctx: Context) -> str | None:
    """Count an evaluation of this day; return why there is none left. Of several users none may take more than half:
    without evaluations the calls of all others are blocked.
    """
    settings = ctx.services.settings
    since = find_start_of_day(ctx.services.clock.now(), settings.budget.time_zone)
    limit = settings.guards.shield.daily_budget
    if settings.has_several_users():
        half = (limit + 1) // 2
        own = RateLimit("evaluation_budget", f"{SCOPE}:{ctx.principal}", half, LONGEST_DAY_SECONDS, since=since)
        if not await take_slot(ctx, own):
            return f"the {half} evaluations of this day that one user may take are used up"
    everybody = RateLimit("evaluation_budget", SCOPE, limit, LONGEST_DAY_SECONDS, since=since)
    return None if await take_slot(ctx, everybody) else f"the {limit} evaluations of this day are used up"


def _decide_without(ctx: Context, rule: str, reason: str) -> TierVerdict:
    """Return the verdict where the evaluator cannot be asked: block, or a person by `FailClosed: false`."""
    if ctx.services.settings.guards.shield.fail_closed:
        return TierVerdict("block", EVALUATOR, rule, reason)
    return TierVerdict("escalate", 3, rule, reason)


async def _ask(ctx: Context, action: str) -> Evaluation:
    canary = create_canary()
    system, user = build_evaluation_texts(action, canary)
    messages = [Message("system", system), Message("user", user)]
    request = ctx.request(messages, purpose="evaluation", max_tokens=MAX_TOKENS, temperature=0.0)
    response = await ctx.complete(request, route=_find_route(ctx))
    return read_evaluation(response.text, canary)


def _can_evaluate(ctx: Context) -> bool:
    """Return whether there is a model to ask: the offline model, which follows rules, is none."""
    if ctx.services.settings.guards.shield.evaluator_model is not None:
        return True
    route = ctx.route if ctx.route is not None else ctx.services.gateway.candidates()
    return not all(isinstance(each.model, OfflineModel) for each in route)


def _find_route(ctx: Context) -> list[Candidate] | None:
    """Return the route to the evaluator's model; None is the route of the turn."""
    model = ctx.services.settings.guards.shield.evaluator_model
    return None if model is None else [ctx.services.gateway.find(model)]
