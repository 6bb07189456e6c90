"""Placeholders: values such as `todo` or `your-api-key` that a model wrote in place of one that it does not know.

The published list is that of WASP (plans and arguments): todo, tbd, `<value>`, /path/to/, your-api-key,
example.com. A text counts as a placeholder as a whole, so that a document may contain each of them; only the words of a
command and of a plan are looked at one by one.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from sophon._python.lazy_pattern import lazy_pattern
from sophon.tools.argument_variables import is_list, is_mapping

PLACEHOLDER_WORDS: Final = frozenset(
    {
        *("todo", "tbd", "tba", "fixme", "placeholder", "changeme", "change-me", "change_me", "xxx", "lorem ipsum"),
        *("to be determined", "to be defined", "to be decided", "your text here", "insert text here"),
    }
)
"""Texts that are placeholders if they are the whole value, in any case."""

PLACEHOLDER_DOMAINS: Final = ("example.com", "example.org", "example.net")
"""Domains that RFC 2606 reserves for examples; names below one do not count."""

COMMAND_ARGUMENT: Final = "command"
"""Argument whose words are looked at one by one."""

MAX_VALUE_CHARACTERS: Final = 2000
"""A longer value is a text and no placeholder."""

MAX_COMMAND_CHARACTERS: Final = 10_000

_STEMS: Final = (
    "your|value|insert|placeholder|todo|tbd|enter|replace|path|api[ _-]?key|token|password|name|email|url|id"
)
_BRACKETED = lazy_pattern(rf"(?:<[a-z0-9 _-]*(?:{_STEMS})[a-z0-9 _-]*>|\[(?:your|insert|enter|replace)\b[^\]]*\])")
_CREDENTIAL = lazy_pattern(
    r"(?:your|my|insert|enter)[ _-](?:[a-z]+[ _-])?(?:api[ _-]?key|key|token|password|secret"
    r"|e?mail|domain|url|username)(?:[ _-]here)?"
)
_PATH = lazy_pattern(r"(?:^|/)path/to/")
_DOMAIN = lazy_pattern(r"(?:^|[/@]|\bwww\.)(example\.(?:com|org|net))(?=$|[/:?#])")
_WORD = lazy_pattern(r"<[^<>\s][^<>\n]{0,60}>|[^\s\"'`,;()|]+")


class PlaceholderFound(NamedTuple):
    """A placeholder: the path of the argument that holds it, such as `to.0`, and the text that is one."""

    argument: str
    text: str


def find_placeholder(value: str) -> str:
    """Return the part of a value that makes it a placeholder; "" if it is none."""
    text = value.strip().casefold()
    if not text or len(text) > MAX_VALUE_CHARACTERS:
        return ""
    if text in PLACEHOLDER_WORDS or _BRACKETED.fullmatch(text) or _CREDENTIAL.fullmatch(text):
        return text
    return _find_target(text)


def find_placeholder_argument(
    arguments: Mapping[str, Any], schema: Mapping[str, Any], *, named_in: Iterable[str] = ()
) -> PlaceholderFound | None:
    """Return the first placeholder among the arguments of a call, or None.

    What a person wrote (`named_in`), and what an `enum` of the tool's schema lists, is no placeholder. Names
    of arguments are not looked at.
    """
    known = schema.get("properties")
    properties: Mapping[str, Any] = known if is_mapping(known) else {}
    for path, value in _list_texts(arguments):
        name = path.partition(".")[0]
        rules = properties.get(name)
        if is_mapping(rules) and value in (rules.get("enum") or ()):
            continue
        is_command = name == COMMAND_ARGUMENT and "." not in path
        found = find_placeholder_word(value, has_domains=False) if is_command else find_placeholder(value)
        if found and not any(found in text.casefold() for text in named_in):
            return PlaceholderFound(path, found)
    return None


def find_placeholder_word(text: str, *, has_domains: bool = True) -> str:
    """Return the first path, domain, credential or bracketed word of a command or a sentence that is a placeholder.

    Domains in commands do not count: a command is shown to a person, and may well read such a page.
    """
    lowered = text[:MAX_COMMAND_CHARACTERS].casefold()
    for match in _WORD.finditer(lowered):
        word = match[0].rstrip(".:!?")
        if _BRACKETED.fullmatch(word) or _CREDENTIAL.fullmatch(word) or _CREDENTIAL.fullmatch(word.rpartition("=")[2]):
            return word
        found = _find_target(word)
        if found and (has_domains or found not in PLACEHOLDER_DOMAINS):
            return found
    return ""


def describe_placeholder(tool: str, found: PlaceholderFound) -> str:
    """Return the error that the model reads."""
    return (
        f"the argument {found.argument} of {tool} holds the placeholder {found.text[:80]!r} and not a real value;"
        " nothing was run. Call it with the real value, or ask the user for it"
    )


def _find_target(text: str) -> str:
    if any(character.isspace() for character in text):
        return ""
    if found := _PATH.search(text):
        return found[0]
    domain = _DOMAIN.search(text)
    return domain[1] if domain else ""


def _list_texts(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each text in the arguments, in their order, without recursion."""
    stack: list[tuple[str, object]] = [(name, value) for name, value in reversed([*arguments.items()])]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            yield path, value
        elif is_mapping(value):
            stack += [(f"{path}.{name}", each) for name, each in reversed([*value.items()])]
        elif is_list(value):
            stack += [(f"{path}.{index}", value[index]) for index in reversed(range(len(value)))]
