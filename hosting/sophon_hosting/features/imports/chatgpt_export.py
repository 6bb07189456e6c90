"""Conversations of an export of ChatGPT: `conversations.json`, a tree of nodes each, of which one is current."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sophon_hosting.features.imports.conversation import (
    Conversation,
    Transcript,
    UnreadableConversation,
    clean_title,
    fence,
    get_items,
    get_mapping,
    mention_file,
    time_from_seconds,
)

_CITATION: Final = re.compile("\ue200[^\ue200\ue201]*\ue201")
"""A reference to a search result, in characters of the private use area that the page of ChatGPT replaces."""


def parse_chatgpt(item: Mapping[str, Any]) -> Conversation:
    """Return the current branch of a conversation, without hidden messages. Raises UnreadableConversation."""
    source_id = item.get("conversation_id") or item.get("id")
    if not isinstance(source_id, str):
        raise UnreadableConversation("it has no id")
    if not isinstance(item["mapping"], dict):
        raise UnreadableConversation("its mapping is no object")
    transcript = Transcript()
    for node in _current_branch(item):
        message = get_mapping(node.get("message"))
        role = get_mapping(message.get("author")).get("role")
        if role in ("user", "assistant", "tool") and not _is_hidden(message):
            at = time_from_seconds(message.get("create_time"))
            # What a tool has returned is part of the answer that used it.
            transcript.add("user" if role == "user" else "assistant", _text_parts(message, role), at)
    return Conversation(
        "chatgpt",
        source_id,
        clean_title(item.get("title")),
        time_from_seconds(item.get("create_time")),
        time_from_seconds(item.get("update_time")),
        transcript.build_records(),
        archived=item.get("is_archived") is True,
    )


def _current_branch(item: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the nodes from the root to the current one."""
    mapping, node_id = get_mapping(item["mapping"]), item.get("current_node")
    if node_id is None and mapping:
        # Old exports do not name it: the branch whose last message is the newest.
        leaves = [each for each, node in mapping.items() if not get_items(get_mapping(node).get("children"))]
        node_id = max(leaves, key=lambda each: _node_time(mapping[each]), default=None)
    branch: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while node_id is not None:
        if not isinstance(node_id, str) or node_id not in mapping:
            raise UnreadableConversation(f"it refers to the node {str(node_id)[:60]!r}, which it does not have")
        if node_id in seen:
            raise UnreadableConversation("its messages follow each other in a circle")
        seen.add(node_id)
        branch.append(get_mapping(mapping[node_id]))
        node_id = branch[-1].get("parent")
    return branch[::-1]


def _node_time(node: object) -> float:
    at = time_from_seconds(get_mapping(get_mapping(node).get("message")).get("create_time"))
    return 0.0 if at is None else at.timestamp()


def _is_hidden(message: Mapping[str, Any]) -> bool:
    about = get_mapping(message.get("metadata"))
    return about.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0


def _text_parts(message: Mapping[str, Any], role: str) -> Iterator[str]:
    content = get_mapping(message.get("content"))
    kind, text = content.get("content_type"), content.get("text")
    if kind in ("text", "multimodal_text"):
        for part in get_items(content.get("parts")):
            if isinstance(part, str):
                # What tools write as plain text is for the model: results of searches, pages.
                yield "" if role == "tool" else _CITATION.sub("", part)
            else:
                yield from _mention_part(get_mapping(part))
    elif kind == "code" and isinstance(text, str) and message.get("recipient", "all") in ("all", "python"):
        language = content.get("language")
        yield fence(text, language if isinstance(language, str) and language != "unknown" else "")
    elif kind == "execution_output" and isinstance(text, str):
        yield fence(text)
    if role == "user":
        for each in get_items(get_mapping(message.get("metadata")).get("attachments")):
            yield mention_file(get_mapping(each).get("name"))


def _mention_part(part: Mapping[str, Any]) -> Iterator[str]:
    kind, text = part.get("content_type"), part.get("text")
    if kind == "audio_transcription" and isinstance(text, str):
        yield text
    elif kind == "image_asset_pointer":
        yield "[image]"
