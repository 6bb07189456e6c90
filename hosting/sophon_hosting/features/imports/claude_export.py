"""Conversations of an export of Claude: `conversations.json`, a list of messages each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sophon_hosting.features.imports.conversation import (
    Conversation,
    Transcript,
    UnreadableConversation,
    clean_title,
    fence,
    get_items,
    get_mapping,
    mention_file,
    time_from_text,
)


def parse_claude(item: Mapping[str, Any]) -> Conversation:
    """Return the current branch of a conversation. Raises UnreadableConversation."""
    source_id, messages = item.get("uuid"), get_items(item["chat_messages"])
    if not isinstance(source_id, str):
        raise UnreadableConversation("it has no uuid")
    transcript, leaf = Transcript(), item.get("current_leaf_message_uuid")
    for message in _current_branch([get_mapping(each) for each in messages], leaf):
        sender = message.get("sender")
        if sender in ("human", "assistant"):
            at = time_from_text(message.get("created_at"))
            transcript.add("user" if sender == "human" else "assistant", _text_parts(message), at)
    return Conversation(
        "claude",
        source_id,
        clean_title(item.get("name")),
        time_from_text(item.get("created_at")),
        time_from_text(item.get("updated_at")),
        transcript.build_records(),
    )


def _current_branch(messages: Sequence[Mapping[str, Any]], leaf: object) -> Sequence[Mapping[str, Any]]:
    """Return the messages from the first to the last one of the current branch.

    Without a named leaf that is the branch of the last message of the list; in older exports messages name no parents,
    and all of them are one branch.
    """
    by_id = {each["uuid"]: each for each in messages if isinstance(each.get("uuid"), str)}
    if not any(isinstance(each.get("parent_message_uuid"), str) for each in messages):
        return messages
    current = by_id.get(leaf) if isinstance(leaf, str) else None
    current = messages[-1] if current is None else current
    branch: list[Mapping[str, Any]] = []
    seen: set[int] = set()
    while current is not None:
        if id(current) in seen:
            raise UnreadableConversation("its messages follow each other in a circle")
        seen.add(id(current))
        branch.append(current)
        parent = current.get("parent_message_uuid")
        # The parent of the first message is an id that no message has.
        current = by_id.get(parent) if isinstance(parent, str) else None
    return branch[::-1]


def _text_parts(message: Mapping[str, Any]) -> Iterator[str]:
    parts = [each for block in get_items(message.get("content")) for each in _block_parts(get_mapping(block))]
    text = message.get("text")
    yield from parts or ([text] if isinstance(text, str) else [])
    for each in map(get_mapping, get_items(message.get("attachments"))):
        content = each.get("extracted_content")
        yield mention_file(each.get("file_name"))
        if isinstance(content, str) and content.strip():
            yield fence(content)
    for each in map(get_mapping, get_items(message.get("files"))):
        yield mention_file(each.get("file_name"))


def _block_parts(block: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of a block; of a tool call only the document that it wrote. What a model thought is left out."""
    text, given = block.get("text"), get_mapping(block.get("input"))
    if block.get("type") == "text" and isinstance(text, str):
        yield text
    elif block.get("type") == "tool_use" and isinstance(given.get("content"), str):
        title = clean_title(given.get("title"))
        if title:
            yield f"**{title}**"
        yield fence(str(given["content"]))
