"""Booster of simple transforms: `var` to `const`, and JSON formatted or made compact, without a model.

It answers only where the result is certain, and leaves every other message to a model: code whose meaning could change
(a `var` in a block or a loop, used before its declaration, declared twice, in a list or a pattern), and what it cannot
read as code for sure (a slash may begin a regular expression). Source of the two tasks: clawft, IntelligentRouter and
its document; the third one there, types, needs inference.
"""

import re
from collections.abc import Sequence
from typing import Final

import orjson

MAX_CHARACTERS: Final = 20_000
"""Longest message that is looked at."""

_POLITE: Final = r"\s*(?:please[,\s]+)?(?:can you |could you )?(?:please )?"
_BODY: Final = r"(?P<rest>[^\n]{0,60}?)[:\n]\s*(?:```\w*\n(?P<fenced>.*?)\n?```\s*|(?P<plain>.+))\Z"
_CONST: Final = re.compile(
    _POLITE + r"(?:convert|change|replace|turn|rewrite|make)\s+(?:all |every |each |the )*`?vars?`?(?: declarations?)?"
    r"\s+(?:to|into|with|by|as)\s+`?const`?s?" + _BODY,
    re.IGNORECASE | re.DOTALL,
)
_JSON: Final = re.compile(
    _POLITE + r"(?P<verb>format|pretty-?\s?print|prettify|indent|beautify|minify|compact|compress)\s+(?:this |the )?"
    r"(?:following )?json" + _BODY,
    re.IGNORECASE | re.DOTALL,
)
_JSON_SPACE: Final = re.compile(r"(\"(?:\\.|[^\"\\])*\")|\s+")
_COMPACT: Final = frozenset(("minify", "compact", "compress"))
_TEXTS: Final = re.compile(r"\"(?:\\.|[^\"\\\n])*(\"?)|'(?:\\.|[^'\\\n])*('?)|(//)[^\n]*|/\*(?:.*?(\*/)|.*)", re.DOTALL)
"""Strings and comments; of one that does not end there is no group, and none is looked for from its middle."""
_UNSURE: Final = re.compile(r"[/`\"']|[\]}]\s*=(?![=>])")
"""What is left of strings and comments: a template, a regular expression, a string that does not end; or a pattern."""
_NAME: Final = r"[A-Za-z_$][\w$]*"
_DECLARATION: Final = re.compile(rf"(?<![\w$.])var\s+({_NAME})[ \t]*(=(?!=)|;|\n|\Z)")
_ANY_VAR: Final = re.compile(r"(?<![\w$.])var(?![\w$])")
_USE: Final = re.compile(rf"(?<![\w$.]){_NAME}")
_OPERATOR: Final = r"(?:[-+*%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)?=(?![=>])"
_ASSIGNED: Final = re.compile(
    rf"(?<![\w$.])({_NAME})(?![\w$])(?=\s*(?:{_OPERATOR}|\+\+|--)|\s+(?:in|of)\b)|(?:\+\+|--)\s*({_NAME})"
)
_FUNCTION: Final = re.compile(r"(?<![\w$.])function\b")
_OPENING: Final = {")": "(", "]": "[", "}": "{"}
_SIGN: Final = re.compile(r"[(\[{)\]},;\n]")


def answer_transform(text: str) -> str | None:
    """Return the transformed code or JSON in a fence, None for any other message."""
    if len(text) > MAX_CHARACTERS:
        return None
    if (found := _CONST.match(text)) is not None and _is_plain(found["rest"]):
        code = found["fenced"] if found["fenced"] is not None else found["plain"]
        changed = convert_vars(code)
        return None if changed is None else f"```js\n{changed.rstrip()}\n```"
    if (found := _JSON.match(text)) is not None and _is_plain(found["rest"]):
        content = found["fenced"] if found["fenced"] is not None else found["plain"]
        return _format_json(content, is_compact=found["verb"].lower() in _COMPACT)
    return None


def convert_vars(code: str) -> str | None:
    """Return JavaScript with `const` for each `var`, `let` where it is assigned again; None if that is not certain."""
    masked = _TEXTS.sub(lambda found: " " * len(found[0]) if any(found.groups()) else found[0], code)
    declarations = list(_DECLARATION.finditer(masked))
    names = [found[1] for found in declarations]
    if _UNSURE.search(masked) or not names or len(set(names)) != len(names):
        return None
    if len(_ANY_VAR.findall(masked)) != len(declarations) or not _stand_alone(masked, declarations):
        return None
    # One pass over the code for all names: a message of many declarations must not take the square of its length.
    first_use: dict[str, int] = {}
    for use in _USE.finditer(masked):
        first_use.setdefault(use[0], use.start())
    last_assignment = {use[1] or use[2]: use.start() for use in _ASSIGNED.finditer(masked)}
    pieces: list[str] = []
    done = 0
    for found in declarations:
        if first_use[found[1]] != found.start(1):  # used before: a `const` may not be
            return None
        keyword = "let" if found[2] != "=" or last_assignment.get(found[1], 0) >= found.end() else "const"
        pieces += [code[done : found.start()], keyword]
        done = found.start() + len("var")
    return "".join([*pieces, code[done:]])


def _is_plain(rest: str) -> bool:
    """Return whether nothing else is asked for beside the transform."""
    return (
        not rest.strip(" .,`")
        or re.fullmatch(r"\s*(?:in |for )?(?:this|the)(?: following)?(?: code| snippet)?\s*", rest) is not None
    )


def _stand_alone(masked: str, declarations: Sequence[re.Match[str]]) -> bool:
    """Return whether each declaration stands outside of brackets or in a function, and declares one variable."""
    signs = [(found.start(), found[0]) for found in _SIGN.finditer(masked)]
    scopes = _Scopes(masked)
    return all(scopes.read(at, sign) for at, sign in sorted([*signs, *((found.end(), "") for found in declarations)]))


class _Scopes:
    """Open brackets and unfinished declarations of code, of which the signs are read one after the other."""

    __slots__ = ("_code", "_declared", "_functions", "_opened")

    def __init__(self, code: str) -> None:
        self._code = code
        self._opened: list[int] = []
        self._declared: list[int] = []
        """Numbers of the brackets around each declaration whose statement has not ended."""
        self._functions: dict[int, bool] = {}

    def read(self, at: int, sign: str) -> bool:
        """Take a sign, or "" for the end of a declaration; return False where the code is not certain."""
        is_own = bool(self._declared) and self._declared[-1] == len(self._opened)
        if not sign:
            return not is_own and self._declare(at)
        if sign in "([{":
            self._opened.append(at)
            return True
        if is_own:
            self._declared.pop()
        if sign in ")]}":
            return bool(self._opened) and self._code[self._opened.pop()] == _OPENING[sign]
        return not is_own or sign != ","  # it would begin a second name

    def _declare(self, at: int) -> bool:
        if self._code[at - 1] not in ";\n":
            self._declared.append(len(self._opened))
        if not self._opened:
            return True
        brace = self._opened[-1]
        if brace not in self._functions:
            self._functions[brace] = self._code[brace] == "{" and _is_function_head(self._code[:brace])
        return self._functions[brace]


def _is_function_head(before: str) -> bool:
    """Return whether the text in front of a brace is the head of a function or an arrow."""
    before = before.rstrip()
    if before.endswith("=>"):
        return True
    opening = before.rfind("(")
    if not before.endswith(")") or ")" in before[opening + 1 : -1]:
        return False
    return _FUNCTION.search(before, max(before.rfind(sign, 0, opening) for sign in "(){}") + 1, opening) is not None


def _format_json(content: str, *, is_compact: bool) -> str | None:
    try:
        value = orjson.loads(content)
        plain = orjson.dumps(value).decode()
    except (ValueError, orjson.JSONEncodeError):  # the second for what is nested too deep
        return None
    if plain != _JSON_SPACE.sub(r"\1", content):  # a number or a name that would change
        return None
    written = orjson.dumps(value, option=0 if is_compact else orjson.OPT_INDENT_2).decode()
    return f"```json\n{written}\n```"
