"""Text of the resources and prompts that an MCP server lists. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

MAX_ABOUT: Final = 300
"""Characters of a description."""


def resources_to_text(
    resources: Sequence[Mapping[str, Any]], templates: Sequence[Mapping[str, Any]], *, has_more: bool
) -> str:
    """Return one line for each resource and each template, whose variables the reader fills in."""
    lines = [f"{each.get('uri')}{_about(each)}" for each in resources]
    if templates:
        lines += ["Templates, whose variables in braces must be filled in:"]
        lines += [f"{each.get('uriTemplate')}{_about(each)}" for each in templates]
    lines += ["[there are more, which are left out]"] if has_more else []
    return "\n".join(lines) or "There are no resources."


def prompts_to_text(prompts: Sequence[Mapping[str, Any]], *, has_more: bool) -> str:
    """Return one line for each prompt with its arguments."""
    lines = [f"{each.get('name')}({_arguments(each.get('arguments') or ())}){_about(each)}" for each in prompts]
    lines += ["[there are more, which are left out]"] if has_more else []
    return "\n".join(lines) or "There are no prompts."


def contents_to_text(contents: Iterable[Mapping[str, Any]]) -> str:
    """Return the contents of a resource; what is no text is named, with type and size."""
    blocks = [{"type": "resource", "resource": each} for each in contents]
    return result_to_text(blocks) if blocks else "The resource is empty."


def prompt_to_text(result: Mapping[str, Any]) -> str:
    """Return the messages of a prompt, each under its role."""
    lines = [str(result["description"])] if result.get("description") else []
    for each in result.get("messages", ()):
        lines.append(f"[{each.get('role')}]\n{result_to_text([each.get('content', {})])}")
    return "\n\n".join(lines) or "The prompt is empty."


def _about(entry: Mapping[str, Any]) -> str:
    kind = f" ({entry['mimeType']})" if entry.get("mimeType") else ""
    text = " ".join(str(entry.get("description") or entry.get("title") or "").split())
    return f"{kind}: {text[:MAX_ABOUT]}" if text else kind


def _arguments(given: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{each.get('name')}{'' if each.get('required') else '?'}" for each in given)


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
