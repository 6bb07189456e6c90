"""Redaction: secrets leave a turn as a marker, and no marker is written over a secret."""

import os
import stat
from collections.abc import Awaitable
from pathlib import Path

from sophon.builtin_tools.files import resolve_files_root
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.messages import ToolCall, to_canonical_json
from sophon.security.redaction.marker_writes import MarkerWrite, find_marker_writes, loses_secret, may_hold_marker
from sophon.tools.declared_action_types import list_action_types
from sophon_middlewares.guards.guard import Guard, Judgement
from sophon_middlewares.guards.redaction.model_redaction import redact_turn

MAX_FILE_BYTES = 10_000_000
"""A larger file counts as one without a marker."""


class Redaction(Guard):
    """Replaces secrets (`sophon.security.redact`) in results of tools before anything keeps or reads them, in the text
    and reasoning of models, streamed or not, and in events about tool calls; and blocks a call that would write the
    marker into a file that does not hold it, because the secret there would be lost.

    A result that cannot be redacted is withheld. The arguments of a call stay as they are for the tool and for the
    person who decides on it. `ReplyRedaction` does the same for the model calls outside of the loop.
    """

    after = ("AgenticLoop", "ParallelExecution", "Audit")
    before = ("Integrity", "InformationFlow", "Protection", "Approval", "ToolExecution", "LlmInvoker")
    acts = {
        "tool call": "replaces secrets in its result; blocks one that would write the marker of a secret into a file",
        "model call": "replaces secrets in what the model writes, and in results of tools that it reads",
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        with redact_turn(ctx):
            if ctx.settling:
                await super().__call__(ctx, next)
            else:
                await next(ctx)

    def judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | None:
        """Judge what the call would write in place of secrets."""
        return _judge_markers(ctx, call) if may_hold_marker(to_canonical_json(call.arguments)) else None


async def _judge_markers(ctx: Context, call: ToolCall) -> Judgement | None:
    folder = str(resolve_files_root(ctx).absolute())
    types = list_action_types(call.name, ctx.services.registry.get(call.name), call.arguments)
    writes = [write for each in types for write in find_marker_writes(each, call.arguments, folder)]
    return await ctx.services.clock.run_in_thread(lambda: judge_writes(writes)) if writes else None


def judge_writes(writes: list[MarkerWrite]) -> Judgement | None:
    """Return the judgement of writes that hold a marker; reads the files that they would change."""
    lost = next((each.path for each in writes if each.path and loses_secret(each, read_text(each.path))), None)
    if lost is not None:
        return Judgement(
            "block",
            "marker_write",
            f"[REDACTED] stands for a secret that you cannot see; writing it to {Path(lost).name} would replace the "
            "secret itself. Change only other parts of the file, such as with sed, or ask the person to do it",
        )
    if any(each.path is None for each in writes):
        return Judgement(
            "escalate", "marker_unclear", "it contains [REDACTED], and may write it to a file in place of a secret"
        )
    return None


def read_text(path: str) -> str | None:
    """Return the text of a regular file; None without one, and for one that is too large to be read."""
    try:
        # Not blocking: the path may be a pipe that nobody writes to.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
                return None
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


class ReplyRedaction:
    """Redacts the model calls of the whole turn, such as the one that sums up a plan, and the events of a plan. A host
    puts it in front of its own model calls, too: titles, memories, plans of goals.

    Stands in front of Planning and of PromptToolBridge, which reads tool calls from the text as the model wrote it.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents",)
    before = ("PromptToolBridge", "Planning", "AgenticLoop", "LlmInvoker")
    hooks_model_calls = True
    acts = {"model call": "replaces secrets in what models write outside of the loop, and in plans that are shown"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        with redact_turn(ctx):
            await next(ctx)
