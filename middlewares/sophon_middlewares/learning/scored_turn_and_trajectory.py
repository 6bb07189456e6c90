"""What scoring and learning read of a finished turn: the scored facts, and the trajectory."""

from sophon.context import Context
from sophon.extensions import Key
from sophon.learning.contract import ScoredTurn
from sophon.learning.scorers import find_judge
from sophon.learning.trajectories import MAX_TEXT_CHARACTERS, Trajectory, scores_to_json
from sophon.messages import Message, Response
from sophon.models.model import Call, CallLayer, ModelRequest, ModelResponse
from sophon.routing.context_keys import ANSWER_TIER, ROUTE, SCORE, SCORER, TASK_PROFILE
from sophon.security.redaction.text_redaction import redact_and_cut

ANSWER_REASONS = frozenset({"stop", "length", "max_iterations", "loop_detected"})
"""Finish reasons of a turn that has an answer of the model, which can be good or bad."""

IS_JUDGED: Key[bool] = Key("learning.is_judged", bool, bool)
"""Whether the turn was scored and kept when the loop detector ended it, after its last model call."""

ANSWERED_BY: Key[str] = Key("learning.answered_by", str, str)
"""Id of the model that answered last."""


def is_learning(ctx: Context) -> bool:
    """Return whether the turn may be learnt from: not a plan step, not off the record, not turned off."""
    return ctx.depth == 0 and ctx.services.learning.is_enabled and ctx.settings.learning.enabled is not False


def has_answer(response: Response | None) -> bool:
    """Return whether a response is an answer, and not a refusal, a question, a failure, or one that asks for tools."""
    return response is not None and response.finish_reason in ANSWER_REASONS and not response.tool_calls


def find_finish_reason(ctx: Context, response: Response) -> str:
    """Return why the turn ends. The last model call of a turn without rounds left may use no tools, and ends it."""
    return response.finish_reason if ctx.tools_allowed else "max_iterations"


def limit_quality(quality: float) -> float:
    """Return the quality, 0 if it is not one: a scorer of the user may return anything, and the store refuses that."""
    return quality if 0 <= quality <= 1 else 0.0


def describe_turn(ctx: Context, response: Response) -> ScoredTurn:
    """Return what a scorer sees of the turn."""
    profile = ctx.get(TASK_PROFILE)
    return ScoredTurn(
        request_text=ctx.text,
        reply_text=response.full_text,
        task_type=profile.task_type if profile is not None else "chat",
        finish_reason=find_finish_reason(ctx, response),
        output_tokens=ctx.tally.usage.output_tokens,
        tools_offered=len(ctx.tools),
        tools_used=ctx.tally.tool_calls,
        tool_failures=sum(map(is_failed_result, list_own_messages(ctx))),
    )


def list_own_messages(ctx: Context) -> list[Message]:
    """Return the messages of the turn itself, after that of the user."""
    for index in range(len(ctx.messages) - 1, -1, -1):
        message = ctx.messages[index]
        if message.role == "user" and not message.origin:
            return ctx.messages[index + 1 :]
    return []


def is_failed_result(message: Message) -> bool:
    """Return whether a message is the result of a tool call that failed or was not allowed."""
    return message.role == "tool" and (message.origin == "denied" or message.content.startswith("error:"))


def build_trajectory(ctx: Context, response: Response) -> Trajectory:
    """Return the trajectory of the turn, with its secrets replaced as in a trace."""
    score, scorer = ctx.get(SCORE), ctx.get(SCORER)
    judge = find_judge(scorer) if scorer is not None and score is not None else ""
    route, profile = ctx.get(ROUTE), ctx.get(TASK_PROFILE)
    usage = ctx.tally.metered if ctx.tally.metered.calls else ctx.tally.usage
    tools = {call.name: None for message in list_own_messages(ctx) for call in message.tool_calls}
    return Trajectory(
        run_id=ctx.run_id,
        session_id=ctx.session_id,
        principal=ctx.principal,
        at=ctx.services.clock.now(),
        request=_to_stored_text(ctx, ctx.text, MAX_TEXT_CHARACTERS),
        reply=_to_stored_text(ctx, response.full_text, MAX_TEXT_CHARACTERS),
        task_type=profile.task_type if profile is not None else "chat",
        complexity=profile.complexity if profile is not None else None,
        tier=ctx.get(ANSWER_TIER) or (route.tier if route is not None else ""),
        model=ctx.get(ANSWERED_BY) or (route.model if route is not None else ""),
        strategy=route.strategy if route is not None else "",
        finish_reason=find_finish_reason(ctx, response),
        tools=tuple(tools),
        scores=None if score is None else scores_to_json(score),
        quality=limit_quality(score.overall) if score is not None and judge else None,
        cost_micro_usd=usage.cost_micros if not usage.unpriced_tokens else None,
        duration_ms=round(ctx.stopwatch.seconds * 1000),
        output_tokens=usage.output_tokens,
        judge=judge,
    )


def _to_stored_text(ctx: Context, text: str, limit: int) -> str:
    if ctx.redactor is not None:
        text = ctx.redactor(text)
    return redact_and_cut(text, limit)


def build_model_note(ctx: Context) -> CallLayer:
    """Return a call layer that notes which model has answered; after a failover it is not the first of the route."""

    async def note_model(request: ModelRequest, call: Call) -> ModelResponse:
        response = await call(request)
        if response.model is not None and request.purpose == "reply":
            ctx.put(ANSWERED_BY, response.model.id)
        return response

    return note_model
