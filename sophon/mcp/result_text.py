"""Text of the result of a tool of an MCP server. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson


def result_to_text(content: Sequence[Mapping[str, Any]], structured: object = None) -> str:
    """Return the content blocks of a result, in JSON form, as text; what is no text is named, with type and size.

    Without content it is the `structured` part as JSON, or the empty text.
    """
    if not content and structured is not None:
        return orjson.dumps(structured).decode()
    return "\n\n".join(_block_to_text(each) for each in content)


def _block_to_text(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind == "resource":
        resource: Mapping[str, Any] = block.get("resource", {})
        if "text" in resource:
            return f"[resource {resource.get('uri')}]\n{resource['text']}"
        return f"[resource {resource.get('uri')}{_describe_data(resource, 'blob')}]"
    if kind == "resource_link":
        return f"[link to the resource {block.get('uri')}: {block.get('name')}]"
    return f"[{kind}{_describe_data(block, 'data')}]"


def _describe_data(block: Mapping[str, Any], key: str) -> str:
    size = len(str(block.get(key, ""))) * 3 // 4  # base64
    return f", {block.get('mimeType') or 'unknown type'}, about {size} bytes, which are not shown"
