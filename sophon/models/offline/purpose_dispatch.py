"""Dispatch of a request to the offline rules by its purpose."""

from sophon.models.model import ModelRequest
from sophon.models.offline.language.summaries import MAX_SUMMARY_CHARACTERS, compact_messages, make_title
from sophon.models.offline.plan_replies import build_plan_json, is_plan_review, review_plan, vote_on_planning
from sophon.models.offline.reply_builder import OfflineReply, build_reply
from sophon.models.offline.usage_estimate import CHARACTERS_PER_TOKEN


def answer_request(request: ModelRequest) -> OfflineReply:
    """Return the reply to a request of any purpose. Pure."""
    if request.purpose in ("reply", "step"):
        return build_reply(request)
    return OfflineReply(_text_for_purpose(request))


def _text_for_purpose(request: ModelRequest) -> str:
    match request.purpose:
        case "plan":
            return review_plan() if is_plan_review(request) else build_plan_json(request)
        case "vote":
            return vote_on_planning(request)
        case "compaction":
            return compact_messages(
                request.messages, min(MAX_SUMMARY_CHARACTERS, request.max_tokens * CHARACTERS_PER_TOKEN)
            )
        case "title":
            return make_title(request.messages)
        case "memory":
            return "[]"  # it cannot judge what is worth remembering; it stores only what it is asked to
        case "simulation":
            return ""  # it cannot foresee what a call will do, and an advice that says so stands in the answer
        case _:
            return "unsure: the offline model cannot judge meaning; let a person or a real model decide."
