"""Files: write a text to a file, read one, list a folder."""

import re
from typing import cast

import orjson

from sophon.models.offline.display import block
from sophon.models.offline.skill import Ask, Finding, Skill, Wish
from sophon.models.offline.words import unquoted
from sophon.tools.tool import Risk

_PATH = (
    r"(?P<path>\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`|[\w~][\w./~-]*\.\w{1,8}|\.{0,2}/[\w./~-]+"
    r"|(?=[\w./-]{0,80}[^\W\d])[\w-]+/[\w./-]+)"
)
_FILE = r"(?:(?:the |a |my )?(?:new )?(?:text )?file )?(?:called |named )?"
_WRITE = (
    re.compile(
        rf"(?:write|save|put|store) (?P<text>.+) (?:to|into|in|as|under) {_FILE}{_PATH}", re.IGNORECASE | re.DOTALL
    ),
    re.compile(
        rf"(?:write|save|create|make|add)(?: to| into)? {_FILE}{_PATH}(?:,? (?:with|containing|that says|saying)"
        r"(?: the (?:text|contents?|words?|line))?:?|:) (?P<text>.+)",
        re.IGNORECASE | re.DOTALL,
    ),
)
_APPEND = re.compile(rf"(?:add|append) (?P<text>.+) to (?:the end of )?{_FILE}{_PATH}", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(r"(?:the (?:text|words?|line|sentence|contents?)|down)[: ] ?(?=\S)", re.IGNORECASE)
_BACK = re.compile(
    r"(?:it|that|this|both|them|everything|(?:all )?(?:of )?the (?:results?|answers?|outcome|output|summary|findings))",
    re.IGNORECASE,
)
_READ = re.compile(
    r"(?:read|open|show|print|cat|display|view|get|load|what(?:['’]?s| is| does| stands)(?: written)?(?: in)?"
    r"|tell me what is in)"
    rf"(?: me)?(?: the| my)?(?: contents?(?: of)?)?(?: the| my)? {_FILE}{_PATH}(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LIST = re.compile(
    r"(?:list|show|see|what|which|print|give me|tell me)\b[^.\n]{0,30}\b(?:files|documents|folder|directory|folders)\b"
    r"(?:.{0,30}?\b(?:in|of|under) (?:the )?(?:folder |directory )?(?P<path>\"[^\"\n]+\"|[\w~.][\w./~-]*))?",
    re.IGNORECASE,
)
_NO_FOLDER = frozenset({"the", "my", "your", "it", "there", "this", "here", "folder", "directory", "storage", "total"})


def _match_write(ask: Ask) -> Wish | None:
    clause = ask.clause.rstrip(".!? ")
    append = _APPEND.fullmatch(clause)
    if append is not None:
        added = "\n" + _content(append["text"], ask)
        return Wish("files.write", {"path": unquoted(append["path"]), "content": added, "append": True})
    for pattern in _WRITE:
        found = pattern.fullmatch(clause)
        if found is not None:
            return Wish("files.write", {"path": unquoted(found["path"]), "content": _content(found["text"], ask)})
    return None


def _content(text: str, ask: Ask) -> str:
    label = _LABEL.match(text)
    text = text[label.end() :] if label else text
    return ask.material if _BACK.fullmatch(text) and ask.material else unquoted(text)


def _match_read(ask: Ask) -> Wish | None:
    found = _READ.fullmatch(ask.clause.rstrip(".!? "))
    if found is None or "://" in ask.clause:
        return None
    return Wish("files.read", {"path": unquoted(found["path"])})


def _match_list(ask: Ask) -> Wish | None:
    found = _LIST.match(ask.clause.rstrip(".!? "))
    if found is None:
        return None
    path = unquoted(found["path"] or "")
    return Wish("files.list", {"path": path} if path and path.lower() not in _NO_FOLDER else {})


def _tell_list(finding: Finding) -> str:
    folder = str(finding.wish.arguments.get("path", "."))
    where = "The folder" if folder == "." else folder
    return f"{where} holds:\n{block(_listing(finding.text))}"


def _listing(text: str) -> str:
    """The entries of files.list, a line each; anything else as it is."""
    try:
        data: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(data, list):
        return text
    return "\n".join(_line(item) for item in cast("list[object]", data))


def _line(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    entry = cast("dict[str, object]", item)
    size = f" ({entry['bytes']} bytes)" if "bytes" in entry else ""
    return f"{entry.get('name', entry)}{'/' if entry.get('kind') == 'folder' else ''}{size}"


def _path(wish: Wish) -> str:
    return str(wish.arguments.get("path", "."))


WRITE_FILE = Skill(
    tool="files.write",
    group="files",
    match=_match_write,
    tell=lambda finding: (
        f"I wrote {len(str(finding.wish.arguments.get('content', '')))} characters to {_path(finding.wish)}."
    ),
    deed=lambda wish: f"write {_path(wish)}",
    risk=Risk.HIGH,
    store="files",
    writes=True,
)
READ_FILE = Skill(
    tool="files.read",
    group="files",
    match=_match_read,
    tell=lambda finding: f"{_path(finding.wish)} says:\n{block(finding.text)}",
    deed=lambda wish: f"read {_path(wish)}",
    risk=Risk.LOW,
    store="files",
)
LIST_FILES = Skill(
    tool="files.list",
    group="files",
    match=_match_list,
    tell=_tell_list,
    deed=lambda wish: f"list the files in {_path(wish)}",
    risk=Risk.LOW,
    store="files",
)
