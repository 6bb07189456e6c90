"""Evaluation of an action by all heuristic rules."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, Final

from sophon.security.action_types import PATH_ARGUMENTS
from sophon.security.heuristics.payload_texts import (
    COMMAND_ARGUMENTS,
    URL_ARGUMENTS,
    TooManyValues,
    find_command_texts,
    find_path_texts,
    find_texts,
    find_url_texts,
    parse_command,
)
from sophon.security.heuristics.rule import CONFIDENCE, NOTHING_FOUND, Finding, HeuristicRule, Scope, combine_matches
from sophon.security.heuristics.rules import RULES
from sophon.security.heuristics.text_normalization import decode_forms, fold
from sophon.security.linear_patterns import LinearPattern, compile_linear, make_encodable

log = logging.getLogger("sophon.guards")

MAX_CHARACTERS: Final = 400_000
"""Characters of the arguments that are read; longer ones go to a person, because the rest is not read."""

TOO_LARGE: Final = Finding("escalate", CONFIDENCE["high"], ("obfuscation.oversized_arguments",))
FAILED: Final = Finding("block", CONFIDENCE["low"], ("heuristics.failed",))
"""Finding when the evaluation itself fails: nothing fails open."""


def evaluate_heuristics(action_type: str, payload: Mapping[str, Any]) -> Finding:
    """Return what the rules find in an action: block over escalate over allow, equal ones by confidence; never raises.

    Texts are compared in NFKC, without invisible characters and with look-alikes as ASCII, and decoded where they
    hold percent signs, hexadecimal escapes or Base64. Commands are compared as they are written and as the shell
    parses them.
    """
    try:
        return _evaluate(action_type, payload)
    except TooManyValues:
        return TOO_LARGE
    except Exception:
        log.exception("the heuristics failed on a call of the type %.80s, which is blocked", action_type)
        return FAILED


def _evaluate(action_type: str, payload: Mapping[str, Any]) -> Finding:
    texts = list(map(make_encodable, find_texts(payload)))
    if sum(map(len, texts)) > MAX_CHARACTERS:
        return TOO_LARGE
    # One search for most texts; the names of arguments are the same in every call.
    may_match = any(_name_may_match(text) if text.isidentifier() else _text_may_match(text) for text in texts)
    is_plain = action_type != "execute_command" and _SCOPED_ARGUMENTS.isdisjoint(payload)
    if not may_match and is_plain:
        return NOTHING_FOUND
    matches: list[HeuristicRule] = []
    if may_match:
        matches = [*_match("raw", texts, action_type), *_match("text", _forms(texts), action_type)]
    commands = list(_forms(map(make_encodable, find_command_texts(action_type, payload))))
    if commands:
        parsed = [form for command in commands for form in parse_command(command)]
        matches += _match("command", [*commands, *parsed], action_type)
    paths = list(find_path_texts(payload))
    if paths:
        matches += _match("path", _forms(map(make_encodable, paths), keeps_raw=True), action_type)
    urls = list(find_url_texts(payload))
    if urls:
        matches += _match("url", _forms(map(make_encodable, urls)), action_type)
    return combine_matches(matches)


_SCOPED_ARGUMENTS: Final = frozenset({*COMMAND_ARGUMENTS, *PATH_ARGUMENTS, *URL_ARGUMENTS})
"""Arguments to which more rules apply than to every text."""


def _text_may_match(text: str) -> bool:
    """Return whether a rule about texts, as they are written or in any form, matches."""
    any_rule = _compile_screen()
    if any_rule.search(text) is not None:
        return True
    folded = fold(text)
    if folded is not text and any_rule.search(folded) is not None:
        return True
    return any(any_rule.search(form) is not None for form in decode_forms(folded))


_name_may_match = lru_cache(maxsize=1024)(_text_may_match)


def _forms(texts: Iterable[str], *, keeps_raw: bool = False) -> Iterator[str]:
    for text in texts:
        folded = fold(text)
        if keeps_raw and folded != text:
            yield text
        yield folded
        yield from decode_forms(folded)


def _match(scope: Scope, texts: Iterable[str], action_type: str) -> Iterator[HeuristicRule]:
    """Yield the rules of a scope that match. One expression of all rules comes first: most texts match none."""
    any_rule = _compile_scope(scope)
    for text in texts:
        if any_rule.search(text) is None:
            continue
        for rule, pattern in _compile_rules(scope):
            is_about = rule.action_types is None or action_type in rule.action_types
            if is_about and pattern.search(text) is not None:
                yield rule


@cache
def _compile_rules(scope: Scope) -> list[tuple[HeuristicRule, LinearPattern]]:
    return [(rule, compile_linear(rule.pattern, ignore_case=True)) for rule in RULES if scope in rule.scopes]


@cache
def _compile_screen() -> LinearPattern:
    rules = (rule for scope in ("raw", "text") for rule, _ in _compile_rules(scope))
    return compile_linear("|".join(f"(?:{rule.pattern})" for rule in rules), ignore_case=True)


@cache
def _compile_scope(scope: Scope) -> LinearPattern:
    return compile_linear("|".join(f"(?:{rule.pattern})" for rule, _ in _compile_rules(scope)), ignore_case=True)
