"""Variables of a shell script: every value that it may give to each, and what `${name...}` makes of them.

The order of assignments is not followed: a value counts wherever the variable is used, so that no branch, loop or
function hides one.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import Final

from sophon.security.commands.evaluation.possible_texts import Texts, unite

MAX_VALUES: Final = 32
"""Values of one variable; one with more may have any."""

MAX_VALUE_CHARACTERS: Final = 2000
"""Length up to which a pattern is removed from a value or replaced in it."""

HOME: Final = "~"

_ENVIRONMENT: Final[Mapping[str, tuple[str, ...]]] = {
    "HOME": (HOME,),
    "IFS": (" \t\n",),
    "SHELL": ("/bin/sh",),
    "BASH": ("/bin/bash",),
    "0": ("sh",),
    "#": ("0",),
    "?": ("0",),
}
"""Variables that have a known value in every shell."""

_PATH_BEGINNING: Final = re.compile(r"\$\{(?:PATH|HOME|PWD|OLDPWD|SHELL|BASH|_)(?:::1|:0:1|%%\[!/\]\*|%%[a-z]\*)\}")
"""Expressions for a slash: the first character of a path."""

_PARAMETER: Final = re.compile(r"\$\{([!#]?)(\w+|[@*#?$!-])(\[[^\[\]$`]*\])?(.*)\}", re.DOTALL)
_DEFAULT: Final = re.compile(r":?([-=+?])(.*)", re.DOTALL)
_SUBSTRING: Final = re.compile(r":\s*(\(?-?\d+\)?)\s*(?::\s*(-?\d+))?")
_AFFIX: Final = re.compile(r"(##?|%%?)(.*)", re.DOTALL)
_REPLACEMENT: Final = re.compile(r"/([/#%]?)((?:[^/\\]|\\.)+)(?:/(.*))?", re.DOTALL)
_CASES: Final[Mapping[str, Callable[[str], str]]] = {
    "^^": str.upper,
    ",,": str.lower,
    "^": lambda text: text[:1].upper() + text[1:],
    ",": lambda text: text[:1].lower() + text[1:],
    "~~": str.swapcase,
    "@U": str.upper,
    "@L": str.lower,
    "@u": lambda text: text[:1].upper() + text[1:],
    "@Q": lambda text: text,
    "": lambda text: text,
}


class Variables:
    """The values of the variables, arrays and arguments of one script, and of the scripts in it."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, None] | None] = {}
        self._arrays: dict[str, dict[tuple[str, ...], None] | None] = {}
        self._arguments: dict[tuple[str, ...], None] = {}
        self.files: dict[str, Texts] = {}
        self.unknown_files: set[str] = set()
        """Files that got a text which is not known."""

        self.built_files: set[str] = set()
        """Those of `files` that an option named and nobody has made executable, such as the result of a compiler."""

        self.is_shifted = False
        self.expansions = 0
        """Words that were expanded, to bound them."""

    @property
    def size(self) -> int:
        """A number that grows with each value that is not known yet, or by which less is known."""
        unknown = sum(MAX_VALUES + 1 for values in self._values.values() if values is None)
        known = sum(len(values) for values in self._values.values() if values is not None)
        arrays = sum(MAX_VALUES + 1 if each is None else len(each) for each in self._arrays.values())
        files = len(self.files) + len(self.unknown_files)
        return unknown + known + arrays + len(self._arguments) + files

    def add(self, name: str, texts: Texts, *, appends: bool = False) -> None:
        """Note an assignment."""
        values = self._values.setdefault(name, {})
        if values is None:
            return
        if texts is not None and appends:
            texts = tuple(f"{old}{new}" for old in (*values, "") for new in texts)
        if texts is None or len(values) + len(texts) > MAX_VALUES:
            self._values[name] = None
        else:
            values.update(dict.fromkeys(texts))

    def add_elements(self, name: str, texts: Iterable[str] | None, *, appends: bool = False) -> None:
        """Note the elements of an array; appended ones also behind those that it may have."""
        arrays = self._arrays.setdefault(name, {})
        if texts is None or arrays is None or len(arrays) > MAX_VALUES:
            self._arrays[name] = None
            return
        elements = tuple(texts)
        longer = [each + elements for each in arrays if appends and each[-len(elements) :] != elements]
        arrays.update(dict.fromkeys((elements, *longer)))

    def add_arguments(self, arguments: tuple[str, ...]) -> None:
        """Note what a function is called with, or `set --` sets."""
        if len(self._arguments) < MAX_VALUES:
            self._arguments[arguments] = None

    def get(self, name: str) -> Texts:
        """Return the values of a variable. `$@` has one text for all arguments, with spaces."""
        if name == "@":
            return ("", *(" ".join(each) for each in self._arguments))
        if name == "*":
            return None if (joints := self._joints) is None else ("", *_join_all(self._arguments, joints))
        if name.isdigit() and name != "0":
            index = int(name) - 1
            found = (each[index:] if self.is_shifted else each[index : index + 1] for each in self._arguments)
            return ("", *(text for each in found for text in each))
        if name in self._values:
            values = self._values[name]
            return None if values is None else (*values,)
        return self._get_element(name, "0") if name in self._arrays else _ENVIRONMENT.get(name)

    @property
    def _joints(self) -> Texts:
        """What may stand between the parts of `$*`: the first character of `IFS`."""
        texts = self.get("IFS")
        return None if texts is None else tuple(dict.fromkeys((" ", *(each.partition("\0")[0][:1] for each in texts))))

    @property
    def separators(self) -> str:
        """The characters at which fields are split."""
        return "".join(self.get("IFS") or ()) + " \t\n"

    def split(self, line: str) -> list[str]:
        """Return the fields of a line."""
        return re.split(f"[{re.escape(self.separators)}]+", line.strip(self.separators))

    def expand(self, text: str) -> Texts:
        """Return what `${...}` may be. Of an expression in which others are nested, or that is not read, None."""
        if _PATH_BEGINNING.fullmatch(text):
            return ("/",)
        match = _PARAMETER.fullmatch(text)
        if match is None or "$" in match[4] or "`" in match[4]:
            return None
        sign, name, index, operation = match[1], match[2], match[3], match[4]
        texts = self._get_element(name, index[1:-1]) if index else self.get(name)
        if sign == "#":
            return None if texts is None else tuple(str(len(each)) for each in texts)
        if sign == "!":
            texts = unite(map(self.get, texts)) if texts is not None and not index else None
        if default := _DEFAULT.fullmatch(operation):
            return _with_default(texts, default[1], _unquote(default[2]), is_set=name in self._values)
        return None if texts is None else unite(_transform(each, operation) for each in texts)

    def _get_element(self, name: str, index: str) -> Texts:
        arrays = self._arrays.get(name)
        if arrays is None:
            return None
        if index == "@":
            return tuple(" ".join(each) for each in arrays)
        if index == "*":
            return None if (joints := self._joints) is None else _join_all(arrays, joints)
        chosen = [*arrays]
        if index.lstrip("-").isdigit():
            number = int(index)
            chosen = [each[number : number + 1 or None] for each in arrays]
        return tuple(dict.fromkeys(text for each in chosen for text in each)) or ("",)


def _join_all(all_parts: Iterable[tuple[str, ...]], joints: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(joint.join(each) for each in all_parts for joint in joints))


def _with_default(texts: Texts, sign: str, default: str, *, is_set: bool) -> Texts:
    if sign == "?":
        return texts
    if sign == "+":
        return ("", default)
    return (default,) if texts is None and not is_set else None if texts is None else (*texts, default)


def _transform(text: str, operation: str) -> Texts:
    """Return what an operation makes of one value."""
    if operation in _CASES:
        return (_CASES[operation](text),)
    if len(text) > MAX_VALUE_CHARACTERS:
        return None
    if found := _SUBSTRING.fullmatch(operation):
        start = int(found[1].strip("()"))
        length = None if found[2] is None else int(found[2])
        rest = text[start:] if start >= 0 or -start <= len(text) else ""
        return (rest if length is None else rest[:length],)
    if found := _AFFIX.fullmatch(operation):
        return _remove(text, found[1], _unquote(found[2]))
    if found := _REPLACEMENT.fullmatch(operation):
        return _replace(text, found[1], _unquote(found[2]), _unquote(found[3] or ""))
    return None


def _remove(text: str, sign: str, pattern: str) -> Texts:
    """Return the text without the shortest or longest beginning or end that matches."""
    matches = _compile(pattern)
    if matches is None:
        return None
    cuts = range(len(text) + 1) if sign in ("#", "%%") else range(len(text), -1, -1)
    for cut in cuts:
        part, rest = (text[:cut], text[cut:]) if sign[0] == "#" else (text[cut:], text[:cut])
        if matches(part):
            return (rest,)
    return (text,)


def _replace(text: str, sign: str, pattern: str, new: str) -> Texts:
    if re.search(r"[*?\[]", pattern):
        expression = re.compile(translate(pattern).removesuffix(r"\Z").removesuffix(r"\z"))
        if pattern.count("*") > 1:
            return None
        return (expression.sub(lambda _: new, text, count=0 if sign == "/" else 1),)
    if sign == "#":
        return (new + text[len(pattern) :] if text.startswith(pattern) else text,)
    if sign == "%":
        return (text[: len(text) - len(pattern)] + new if text.endswith(pattern) else text,)
    return (text.replace(pattern, new, -1 if sign == "/" else 1),)


def _compile(pattern: str) -> Callable[[str], object] | None:
    """Return the test of a pattern of the shell; None for one that could take long."""
    return re.compile(translate(pattern)).match if pattern.count("*") <= 2 else None


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)|[\"']", r"\1", text)
