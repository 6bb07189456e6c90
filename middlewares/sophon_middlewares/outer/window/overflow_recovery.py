"""Recovery after a provider rejected a request as too large: pure rules, in three steps at most.

Source: reference/clawdesk.md 1.3: first large tool results are cut, then the conversation is compacted, then the turn
gives up. A step that cannot help is passed over, so that no request is sent in vain.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from sophon.messages import Message
from sophon.tools.result_limit import limit_result

RecoveryStep: TypeAlias = Literal["shrink_results", "compact", "give_up"]

LARGE_RESULT_CHARACTERS: Final = 2000
SHRUNK_RESULT_CHARACTERS: Final = 500


def next_recovery_step(done: RecoveryStep | None, *, shrinking_suffices: bool) -> RecoveryStep:
    """Return the step after the one that was `done` last; None: the request was rejected for the first time.

    `shrinking_suffices`: with its large results cut the request is below the threshold of the size that was rejected.
    """
    if done is None and shrinking_suffices:
        return "shrink_results"
    return "compact" if done in (None, "shrink_results") else "give_up"


def shrink_results(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with tool results of more than 2000 characters cut to 500; the others are the same."""
    return [
        Message("tool", limit_result(each.content, SHRUNK_RESULT_CHARACTERS), [], each.tool_call_id, each.origin)
        if each.role == "tool" and len(each.content) > LARGE_RESULT_CHARACTERS
        else each
        for each in messages
    ]
