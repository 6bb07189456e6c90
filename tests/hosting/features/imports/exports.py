"""Small exports in the forms of ChatGPT and Claude."""

import io
import json
import zipfile
from typing import Any


def chatgpt_node(
    node_id: str, parent: str | None, role: str, parts: Any, *, at: float = 1_700_000_000.5, **more: Any
) -> tuple[str, dict[str, Any]]:
    content = parts if isinstance(parts, dict) else {"content_type": "text", "parts": parts}
    message = {"id": node_id, "author": {"role": role}, "create_time": at, "content": content, **more}
    return node_id, {"id": node_id, "message": message, "parent": parent, "children": []}


def chatgpt_conversation(**changes: Any) -> dict[str, Any]:
    nodes = dict(
        [
            ("root", {"id": "root", "message": None, "parent": None, "children": ["s"]}),
            chatgpt_node("s", "root", "system", [""]),
            chatgpt_node("u1", "s", "user", ["What is a bassoon?"], metadata={"attachments": [{"name": "notes.pdf"}]}),
            chatgpt_node("old", "u1", "assistant", ["A kind of trumpet."]),
            chatgpt_node("new", "u1", "assistant", ["A woodwind\ue200cite\ue202turn0\ue201 instrument."]),
            chatgpt_node("u2", "new", "user", {"content_type": "multimodal_text", "parts": [
                {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}, "And this one?"]}),
            chatgpt_node("code", "u2", "assistant", {"content_type": "code", "language": "python", "text": "1 + 1"},
                         recipient="python"),
            chatgpt_node("out", "code", "tool", {"content_type": "execution_output", "text": "2"}),
            chatgpt_node("a2", "out", "assistant", ["An oboe."], at=1_700_000_100.0),
            chatgpt_node("hidden", "a2", "user", ["do not show"],
                         metadata={"is_visually_hidden_from_conversation": True}),
        ]
    )  # fmt: skip
    data = {
        "title": "Woodwinds",
        "create_time": 1_700_000_000.0,
        "update_time": 1_700_000_100.0,
        "mapping": nodes,
        "current_node": "hidden",
        "conversation_id": "c-1",
    }
    return data | changes


def claude_conversation(**changes: Any) -> dict[str, Any]:
    messages = [
        {
            "uuid": "m1",
            "text": "old text",
            "content": [{"type": "text", "text": "Summarise the notes"}],
            "sender": "human",
            "created_at": "2024-05-01T10:00:00.123456Z",
            "attachments": [{"file_name": "notes.txt", "file_size": 9, "extracted_content": "reeds ``` and keys"}],
            "files": [{"file_name": "photo.png"}],
            "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
        },
        {
            "uuid": "m2",
            "text": "",
            "content": [{"type": "text", "text": "rejected answer"}],
            "sender": "assistant",
            "created_at": "2024-05-01T10:00:05Z",
            "parent_message_uuid": "m1",
        },
        {
            "uuid": "m3",
            "text": "",
            "content": [
                {"type": "thinking", "thinking": "hmm"},
                {"type": "text", "text": "Here it is:"},
                {"type": "tool_use", "name": "artifacts", "input": {"title": "Summary", "content": "Reeds, keys."}},
            ],
            "sender": "assistant",
            "created_at": "2024-05-01T10:01:00Z",
            "parent_message_uuid": "m1",
        },
    ]
    data = {
        "uuid": "k-1",
        "name": "Notes on reeds",
        "created_at": "2024-05-01T10:00:00Z",
        "updated_at": "2024-05-01T10:01:00Z",
        "chat_messages": messages,
    }
    return data | changes


def zipped(**files: Any) -> bytes:
    """Return an archive; `__` in a name stands for `/`, `_json` at its end for the extension."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_json", ".json"), json.dumps(content))
    return buffer.getvalue()
