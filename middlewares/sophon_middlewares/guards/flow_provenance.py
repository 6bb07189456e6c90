"""Provenance of a call: whether what it would do follows from what people wrote, or from text of others."""

import json

from sophon.context import Context
from sophon.context.provenance import list_person_texts
from sophon.messages import ToolCall
from sophon.risk import Risk
from sophon.security.action_types import find_action_type
from sophon.security.assessed_arguments import find_objects, has_command
from sophon.security.information_flow import FlowVerdict
from sophon.security.named_values import PersonTexts, find_unnamed_arguments
from sophon_middlewares.guards.flow_targets import find_open_sinks

NOT_ASKED_FOR = "not_asked_for"

MAX_NAMES = 3
MAX_NAME_CHARACTERS = 40


def judge_provenance(ctx: Context, call: ToolCall) -> FlowVerdict | None:
    """Return an escalation if the call acts, the session has read untrusted content, and nobody named its values.

    The taint is that of the moment in which the call was proposed: what is read afterwards cannot have asked for it.
    """
    tool = ctx.services.registry.get(call.name)
    if tool is None or not ctx.tally.taint.is_untrusted:
        return None
    if tool.risk < Risk.MEDIUM and set(find_open_sinks(ctx, call, may_be_seen=True)) <= {"workspace_read"}:
        return None
    is_command = find_action_type(call.name) == "execute_command" or any(map(has_command, find_objects(call.arguments)))
    texts = PersonTexts(list_person_texts(ctx))
    unnamed = find_unnamed_arguments(call.arguments, tool.parameters, texts, is_command=is_command)
    if unnamed == []:
        return None
    return FlowVerdict("escalate", NOT_ASKED_FOR, f"it follows from text of others: {_describe(unnamed)}")


def _describe(unnamed: list[str] | None) -> str:
    if unnamed is None:
        return "the call has no value that anybody could have named"
    names = [json.dumps(name[:MAX_NAME_CHARACTERS]) for name in unnamed[:MAX_NAMES]]
    more = f" and {len(unnamed) - MAX_NAMES} more" if len(unnamed) > MAX_NAMES else ""
    return f"what stands in {', '.join(names)}{more} is nowhere in what people wrote in this session"
