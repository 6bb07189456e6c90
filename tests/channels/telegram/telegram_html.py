"""A strict reader of the Bot API's HTML: what Telegram would refuse, it refuses (Bot API 10.3, HTML style)."""

import re

TOKEN = re.compile(
    r"<(?P<close>/?)(?P<name>[a-z]+)(?P<attributes>[^<>]*)>|&(?P<entity>lt|gt|amp|quot);|(?P<text>[^<>&])"
)
ATTRIBUTES = {
    "a": re.compile(r' href="(?:https?|tg)://[^"<>]+"'),
    "code": re.compile(r'(?: class="language-[^"<>\s]+")?'),
}
STYLES = {"b", "i", "s"}
ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}


class Unreadable(Exception):
    """Telegram's "can't parse entities"."""


def read(html: str) -> str:
    """The text without tags; raises Unreadable."""
    text: list[str] = []
    is_open: list[str] = []
    position = 0
    while position < len(html):
        token = TOKEN.match(html, position)
        if token is None:
            raise Unreadable(f"{html[position : position + 20]!r} at {position}")
        position = token.end()
        if name := token["name"]:
            _tag(name, token["close"], token["attributes"], is_open)
        else:
            text.append(token["text"] or ENTITIES[token["entity"]])
    if is_open:
        raise Unreadable(f"never closed: {is_open}")
    return "".join(text)


def _tag(name: str, close: str, attributes: str, is_open: list[str]) -> None:
    if close:
        if not is_open or is_open.pop() != name or attributes:
            raise Unreadable(f"</{name}> closes nothing")
        return
    if name not in STYLES | {"a", "code", "pre", "blockquote"}:
        raise Unreadable(f"<{name}> is no tag")
    if not ATTRIBUTES.get(name, re.compile("")).fullmatch(attributes):
        raise Unreadable(f"attributes of <{name}>: {attributes!r}")
    inside = {tag for tag in is_open if tag != "blockquote"}
    if name in inside or (name == "blockquote" and is_open) or "code" in is_open:
        raise Unreadable(f"<{name}> inside {is_open}")
    if (name == "pre" and inside) or (name == "code" and inside - {"pre"}) or (name != "code" and "pre" in is_open):
        raise Unreadable(f"<{name}> inside {is_open}")
    is_open.append(name)
