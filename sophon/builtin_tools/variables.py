"""Built-in tool `variables.set`: keeps a text under a name, which later calls of the turn write as `{{name}}`."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.context import Context
from sophon.errors import ToolError
from sophon.extensions import Key
from sophon.tools.tool import Risk, Tool, tool
from sophon.tools.untrusted_text import unfence_text

VARIABLE_LIFETIME: Final = timedelta(seconds=3600)
"""Time after which a variable is gone, also if the turn was suspended. Source: WASP."""

MAX_VARIABLES: Final = 32
MAX_VALUE_CHARACTERS: Final = 60_000
MAX_TOTAL_CHARACTERS: Final = 200_000
"""Characters of all variables of a turn: they are part of its checkpoints."""

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Variable:
    """A text, the tool whose result it was ("" for one that the model wrote), and when it was set."""

    value: str
    source: str
    set_at: datetime


def _dump(variables: Mapping[str, Variable]) -> Any:
    return {name: [each.value, each.source, each.set_at.isoformat()] for name, each in variables.items()}


def _load(data: Any) -> dict[str, Variable]:
    return {name: Variable(value, source, datetime.fromisoformat(at)) for name, (value, source, at) in data.items()}


_VARIABLES: Key[dict[str, Variable]] = Key("variables", dump=_dump, load=_load)


def find_variables(ctx: Context) -> dict[str, Variable]:
    """Return the variables of the turn that have not expired, by name; plan steps share them with their turn."""
    known = ctx.root.get(_VARIABLES)
    if not known:
        return {}
    now = ctx.services.clock.now()
    return {name: each for name, each in known.items() if now - each.set_at < VARIABLE_LIFETIME}


@tool(name="variables.set", deferred=True, risk=Risk.NONE, idempotent=True, serial=True, tags=("variable", "repeat"))
async def variables_set(ctx: Context, name: str, value: str | None = None, result_of: str | None = None) -> str:
    """Keep a long text under a name, so that arguments of later calls can say {{name}} instead of repeating it.

    Args:
        name: Letters, digits and _, such as report.
        value: The text; or leave it out and give result_of.
        result_of: The name of a tool whose newest result in this turn is the text.
    """
    if _NAME.fullmatch(name) is None:
        raise ToolError(f"{name!r} cannot be a name: use letters, digits and _, at most 64")
    if (value is None) == (result_of is None):
        raise ToolError("give either value or result_of")
    text = value if value is not None else _find_result(ctx, result_of or "")
    variables = {**find_variables(ctx), name: Variable(text, result_of or "", ctx.services.clock.now())}
    total = sum(len(each.value) for each in variables.values())
    if len(text) > MAX_VALUE_CHARACTERS or total > MAX_TOTAL_CHARACTERS or len(variables) > MAX_VARIABLES:
        raise ToolError(
            f"a turn keeps at most {MAX_VARIABLES} variables of {MAX_VALUE_CHARACTERS} characters each and"
            f" {MAX_TOTAL_CHARACTERS} together; this one has {len(text)}"
        )
    ctx.root.put(_VARIABLES, variables)
    origin = f", the result of {result_of}" if result_of else ""
    return f"{{{{{name}}}}} stands for {len(text)} characters{origin}, in later rounds of this turn."


def variable_tools() -> list[Tool]:
    """Return the tools of `Tools.Variables`."""
    return [variables_set]


def _find_result(ctx: Context, tool_name: str) -> str:
    """Return the newest result of a tool in the turn, as the model has read it, without its fence."""
    texts: dict[str, str] = {}
    called: list[str] = []
    for message in reversed(ctx.messages):
        if message.role == "user" and not message.origin:
            break
        if message.role == "tool" and message.tool_call_id and message.origin != "denied":
            texts[message.tool_call_id] = message.content
        for call in reversed(message.tool_calls):
            called.append(call.name)
            if call.name == tool_name and call.id in texts:
                text = unfence_text(texts[call.id])
                if not text.startswith("error:"):
                    return text
    known = ", ".join(dict.fromkeys(called)) or "none"
    raise ToolError(f"{tool_name!r} has no result in an earlier round of this turn; tools called: {known[:500]}")
