"""What each purpose of a call is answered with."""

from sophon.models.model import ModelRequest
from sophon.models.offline.answering import Reply, reply
from sophon.models.offline.planning import plan, vote
from sophon.models.offline.summaries import LONGEST_SUMMARY, compacted, title
from sophon.models.offline.usage import CHARACTERS_PER_TOKEN


def answer(request: ModelRequest) -> Reply:
    """The answer to a request of any purpose; pure."""
    if request.purpose in ("reply", "step"):
        return reply(request)
    return Reply(_internal(request))


def _internal(request: ModelRequest) -> str:
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
            return "[]"  # it cannot tell what is worth remembering, so it remembers what it is asked to
        case "simulation":
            return (
                "Nothing was run. The offline model knows tools by rules only and cannot foresee what this call would "
                f"do; it was asked about: {title(request.messages)}."
            )
        case _:
            return "unsure: the offline model weighs nothing by its meaning; let a person or a real model judge this."
