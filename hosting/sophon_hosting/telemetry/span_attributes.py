"""Attributes of spans, by the semantic conventions for generative AI; `sophon.*` for what these do not name.

Source: OpenTelemetry semantic conventions 1.41, gen-ai (in development).
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from sophon.messages import Usage
from sophon.traces.trace import AgentTrace, AttemptTrace, NoteTrace, ToolTrace, Trace

Attributes: TypeAlias = dict[str, Any]

AGENT_NAME: Final = "sophon"

SHOWN_NOTE_FIELDS: Final = frozenset(
    {"model", "strategy", "tier", "task_type", "how", "level", "tool", "stage", "purpose", "provider", "name", "limit"}
)
"""Text fields of notes that quote nothing of a conversation."""


def describe_turn(trace: Trace, provider: str) -> Attributes:
    """Return the attributes of the span of a turn. The person is a hash: enough to tell people apart."""
    found = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": provider,
        "gen_ai.agent.name": AGENT_NAME,
        "gen_ai.conversation.id": trace.session_id,
        "gen_ai.request.model": trace.model,
        "gen_ai.response.finish_reasons": (trace.finish_reason,) if trace.finish_reason else (),
        "error.type": find_error_type(trace),
        "user.hash": blake2b(trace.principal.encode(errors="replace"), digest_size=8).hexdigest(),
        "sophon.task.id": trace.run_id,
        "sophon.task.parent_id": trace.parent_run_id,
        "sophon.channel": trace.channel,
        "sophon.status": trace.status,
        "sophon.queued_ms": trace.queued_ms,
        "sophon.working_ms": trace.working_ms,
        "sophon.waiting_ms": trace.waiting_ms,
        "sophon.rounds": trace.iterations,
        "sophon.fallback_attempts": trace.fallback_attempts,
        **describe_usage(trace.usage),
        **{f"sophon.stage.{each.name}.own_ms": each.own_ms for each in trace.stages if not each.depth},
    }
    return drop_empty(found)


def describe_attempt(attempt: AttemptTrace, provider: str) -> Attributes:
    """Return the attributes of the span of one attempt of a model call."""
    model = attempt.model.partition("/")[2] or attempt.model
    first = attempt.first_token_ms
    return drop_empty(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.response.model": model if attempt.outcome == "ok" else "",
            "gen_ai.response.time_to_first_chunk": None if first is None else first / 1000,
            "gen_ai.request.stream": True if first is not None else None,
            "error.type": "" if attempt.outcome == "ok" else attempt.outcome,
            "sophon.purpose": attempt.purpose,
            "sophon.key": attempt.key,
            **describe_usage(attempt.usage),
        }
    )


def describe_tool(call: ToolTrace, *, content: bool) -> Attributes:
    """Return the attributes of the span of a tool call; its arguments only with `content`."""
    return drop_empty(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.call.id": call.call_id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.arguments": call.arguments if content else "",
            "error.type": "" if call.outcome == "completed" else call.outcome,
            "sophon.tool.risk": call.risk,
            "sophon.tool.outcome": call.outcome,
            "sophon.tool.result_characters": call.result_characters,
            "sophon.verdicts": tuple(f"{each.guard}: {each.verdict}" for each in call.verdicts),
        }
    )


def describe_agent(agent: AgentTrace) -> Attributes:
    """Return the attributes of the span of a sub-agent."""
    return drop_empty(
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent.agent,
            "gen_ai.agent.id": agent.id,
            "sophon.agent.state": agent.state,
        }
    )


def describe_note(note: NoteTrace) -> Attributes:
    """Return what of a note quotes nothing: numbers, booleans and names."""
    return drop_empty(
        {
            f"sophon.{name}": value
            for name, value in note.data.items()
            if isinstance(value, bool | int | float) or (name in SHOWN_NOTE_FIELDS and isinstance(value, str))
        }
    )


def describe_usage(usage: Usage) -> Attributes:
    """Return tokens and cost."""
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens or None,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
        "sophon.cost_usd": usage.cost_micros / 1_000_000,
    }


def find_error_type(trace: Trace) -> str:
    """Return the error code of a turn that failed or was cancelled; empty otherwise."""
    if trace.status == "failed":
        return str(trace.error.get("code", "internal"))
    return "cancelled" if trace.status == "cancelled" else ""


def drop_empty(attributes: Mapping[str, Any]) -> Attributes:
    """Return the attributes that have a value."""
    return {name: value for name, value in attributes.items() if value is not None and value != "" and value != ()}
