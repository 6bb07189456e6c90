"""File intents: write a text to a file, read a file, list a folder."""

import re
from typing import cast

import orjson

from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.language.english import strip_quotes
from sophon.models.offline.tool_results import format_block
from sophon.tools.tool import Risk

PATH = (
    r"(?P<path>\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`|[\w~][\w./~-]*\.\w{1,8}|\.{0,2}/[\w./~-]+"
    r"|(?=[\w./-]{0,80}[^\W\d])[\w-]+/[\w./-]+)"
)
_FILE = r"(?:(?:the |a |my )?(?:new )?(?:text )?file )?(?:called |named )?"
_WRITE = (
    re.compile(
        rf"(?:write|save|put|store) (?P<text>.+) (?:to|into|in|as|under) {_FILE}{PATH}", re.IGNORECASE | re.DOTALL
    ),
    re.compile(
        rf"(?:write|save|create|make|add)(?: to| into)? {_FILE}{PATH}(?:,? (?:with|containing|that says|saying)"
        r"(?: the (?:text|contents?|words?|line))?:?|:) (?P<text>.+)",
        re.IGNORECASE | re.DOTALL,
    ),
)
_APPEND = re.compile(rf"(?:add|append) (?P<text>.+) to (?:the end of )?{_FILE}{PATH}", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(r"(?:the (?:text|words?|line|sentence|contents?)|down)[: ] ?(?=\S)", re.IGNORECASE)
_REFERENCE = re.compile(
    r"(?:it|that|this|both|them|everything|(?:all )?(?:of )?the (?:results?|answers?|outcome|output|summary|findings))",
    re.IGNORECASE,
)
_READ = re.compile(
    r"(?:read|open|show|print|cat|display|view|get|load|what(?:['’]?s| is| does| stands)(?: written)?(?: in)?"
    r"|tell me what is in)"
    rf"(?: me)?(?: the| my)?(?: contents?(?: of)?)?(?: the| my)? {_FILE}{PATH}(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LIST = re.compile(
    r"(?:list|show|see|what|which|print|give me|tell me)\b[^.\n]{0,30}\b(?:files|documents|folder|directory|folders)\b"
    r"(?:.{0,30}?\b(?:in|of|under) (?:the )?(?:folder |directory )?(?P<path>\"[^\"\n]+\"|[\w~.][\w./~-]*))?",
    re.IGNORECASE,
)
_NOT_A_FOLDER = frozenset(
    {"the", "my", "your", "it", "there", "this", "here", "folder", "directory", "storage", "total"}
)


def _match_write(intent_input: IntentInput) -> PlannedCall | None:
    clause = intent_input.clause.rstrip(".!? ")
    append = _APPEND.fullmatch(clause)
    if append is not None:
        added = "\n" + _file_content(append["text"], intent_input)
        return PlannedCall("files.write", {"path": strip_quotes(append["path"]), "content": added, "append": True})
    for pattern in _WRITE:
        found = pattern.fullmatch(clause)
        if found is not None:
            return PlannedCall(
                "files.write",
                {"path": strip_quotes(found["path"]), "content": _file_content(found["text"], intent_input)},
            )
    return None


def _file_content(text: str, intent_input: IntentInput) -> str:
    label = _LABEL.match(text)
    text = text[label.end() :] if label else text
    return (
        intent_input.previous_results
        if _REFERENCE.fullmatch(text) and intent_input.previous_results
        else strip_quotes(text)
    )


def _match_read(intent_input: IntentInput) -> PlannedCall | None:
    found = _READ.fullmatch(intent_input.clause.rstrip(".!? "))
    if found is None or "://" in intent_input.clause:
        return None
    return PlannedCall("files.read", {"path": strip_quotes(found["path"])})


def _match_list(intent_input: IntentInput) -> PlannedCall | None:
    found = _LIST.match(intent_input.clause.rstrip(".!? "))
    if found is None:
        return None
    path = strip_quotes(found["path"] or "")
    return PlannedCall("files.list", {"path": path} if path and path.lower() not in _NOT_A_FOLDER else {})


def _describe_listing(result: CallResult) -> str:
    folder = str(result.call.arguments.get("path", "."))
    where = "The folder" if folder == "." else folder
    return f"{where} holds:\n{format_block(format_listing(result.text))}"


def format_listing(text: str) -> str:
    """Format the entries of files.list, one per line; return any other text unchanged."""
    try:
        data: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(data, list):
        return text
    return "\n".join(_format_entry(item) for item in cast("list[object]", data))


def _format_entry(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    entry = cast("dict[str, object]", item)
    size = f" ({entry['bytes']} bytes)" if "bytes" in entry else ""
    return f"{entry.get('name', entry)}{'/' if entry.get('kind') == 'folder' else ''}{size}"


def _path_of(call: PlannedCall) -> str:
    return str(call.arguments.get("path", "."))


WRITE_FILE = Intent(
    tool="files.write",
    group="files",
    match_clause=_match_write,
    describe_result=lambda result: (
        f"I wrote {len(str(result.call.arguments.get('content', '')))} characters to {_path_of(result.call)}."
    ),
    describe_call=lambda call: f"write {_path_of(call)}",
    risk=Risk.HIGH,
    resource="files",
    is_writer=True,
)
READ_FILE = Intent(
    tool="files.read",
    group="files",
    match_clause=_match_read,
    describe_result=lambda result: f"{_path_of(result.call)} says:\n{format_block(result.text)}",
    describe_call=lambda call: f"read {_path_of(call)}",
    risk=Risk.LOW,
    resource="files",
)
LIST_FILES = Intent(
    tool="files.list",
    group="files",
    match_clause=_match_list,
    describe_result=_describe_listing,
    describe_call=lambda call: f"list the files in {_path_of(call)}",
    risk=Risk.LOW,
    resource="files",
)
