"""Text of the comparison of a turn with its replay: what each was asked to do, called, cost and answered."""

from collections.abc import Iterator, Mapping
from typing import Any

from sophon.messages import Usage
from sophon_hosting.rendering.control_characters import to_single_line
from sophon_hosting.rendering.value_formatting import format_count, format_ms, format_usage_cost

Data = Mapping[str, Any]


def format_comparison(found: Data, width: int | None) -> Iterator[str]:
    """Yield the lines of a comparison as JSON data; `width` cuts all lines but those of the answers."""
    yield to_single_line(f"message  {found['message']}", width)
    yield ""
    yield from _format_side("then", found["original"], width)
    yield ""
    replay: Data = found["replay"]
    yield from _format_side(f"replay with the chain {replay['chain']}", replay, width)
    reused, missing = format_count(replay["reused"], "tool call"), format_count(replay["missing"], "tool call")
    yield f"  {reused} got the recorded result, {missing} had none; no tool ran"
    if replay["asked"]:
        yield to_single_line(f"  a person would be asked about {', '.join(replay['asked'])}", width)
    yield ""
    yield str(found["charged"])


def _format_side(title: str, side: Data, width: int | None) -> Iterator[str]:
    yield to_single_line(f"{title} · {side['model'] or 'no model'} · {side['status'] or 'no trace is stored'}", width)
    if side["usage"] is not None:
        usage = Usage.from_json(side["usage"])
        tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens, {format_usage_cost(usage)}"
        yield f"  {tokens}, {format_ms(side['working_ms'])}"
    for each in side["routes"]:
        reason = each["data"].get("reason") or each["data"].get("strategy") or ""
        yield to_single_line(f"  {each['kind'].replace('_', ' ')}: {each['data'].get('model', '')} {reason}", width)
    for each in side["tools"]:
        yield to_single_line(f"  {each['tool']} {each['arguments']}: {each['outcome']}", width)
    if side["error"]:
        yield to_single_line(f"  {side['error'].get('code', '')}: {side['error'].get('message', '')}", width)
    for line in str(side["answer"]).splitlines():
        yield f"  │ {line}"
