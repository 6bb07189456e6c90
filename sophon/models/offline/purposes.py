"""Dispatch of a request to the offline rules by its purpose."""

from sophon.models.model import ModelRequest
from sophon.models.offline.answering import Reply, reply
from sophon.models.offline.planning import plan, vote
from sophon.models.offline.summaries import LONGEST_SUMMARY, compacted, title
from sophon.models.offline.usage import CHARACTERS_PER_TOKEN


def answer(request: ModelRequest) -> Reply:
    """Return the reply to a request of any purpose. Pure."""
    if request.purpose in ("reply", "step"):
        return reply(request)
    return Reply(_text_for_purpose(request))


def _text_for_purpose(request: ModelRequest) -> str:
    match request.purpose:
        case "plan":
            return plan(request)
        case "vote":
            return vote(request)
        case "compaction":
            return compacted(request.messages, min(LONGEST_SUMMARY, request.max_tokens * CHARACTERS_PER_TOKEN))
        case "title":
            return title(request.messages)
        case "memory":
            return "[]"  # it cannot judge what is worth remembering; it stores only what it is asked to
        case "simulation":
            return (
                "Nothing was run. The offline model knows tools by rules only and cannot foresee what this call would "
                f"do; it was asked about: {title(request.messages)}."
            )
        case _:
            return "unsure: the offline model cannot judge meaning; let a person or a real model decide."
