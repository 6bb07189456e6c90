"""The thirteen families of fast paths: the tool that answers, its arguments, and what vetoes; patterns in `grammars`.

A pattern covers the whole message: what asks for more than one thing is for a model. Source: WASP, fast paths.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.fast_paths.arguments import (
    Arguments,
    mail,
    no_arguments,
    page,
    reminder_after,
    reminder_at,
    reminder_on_day,
    take_parts,
    time_zone,
    weather,
)
from sophon.decisions.grammars import GRAMMARS
from sophon.decisions.message_patterns import MessageForms


class MessagePattern(Protocol):
    """A pattern of whole messages."""

    def fullmatch(self, text: str, /) -> Mapping[str, str] | None:
        """Return the named parts of the text if it matches as a whole, otherwise None."""
        ...


SECOND_REQUEST = lazy_pattern(
    r"\b(?:and|,) (?:then|also|after that|tell|send|summari[sz]e|explain|compare|write|save)\b"
    r"|\b(?:y|,) (?:luego|después|despues|también|dime|envía|resume|explica|compara|guarda)\b",
    re.IGNORECASE,
)
"""A message that asks for a second thing."""

COMPLEX_TASK = lazy_pattern(
    r"\b(?:report|research|attach(?:ed|ment)?|every|each|daily|weekly|all (?:my|the)|informe|investiga|adjunt[oa]"
    r"|cada)\b",
    re.IGNORECASE,
)
"""A message that asks for work before its one call, such as a mail with a report."""


NOT_IN_THE_WEB = lazy_pattern(
    r"\b(?:my|our|this|these|here|mis?|nuestr[oa]s?|est[eao]s?|aquí|files?|folders?|notes|archivos?|carpetas?|notas)\b"
    r"|\b(?:divided|times|plus|minus|percent|weather|e-?mails?|correos?|tiempo en|por ciento|dividido)\b"
    r"|\d\s*[-+*/^=]\s*\w|\w\s*[*/^=]\s*\d",
    re.IGNORECASE,
)
"""A search among what the person has, a sum, or a question of another family."""


@dataclass(frozen=True, slots=True)
class FastPathFamily:
    """Messages of one kind: the tool that answers them, how its arguments are made, what vetoes.

    Their patterns are the section of that name in the grammars of all languages, or `own` ones. With a `tag`, any tool
    that has it and takes the arguments named in `example` answers where `tool` is absent.
    """

    name: str
    tool: str
    arguments: Arguments
    vetoes: Sequence[re.Pattern[str]] = (SECOND_REQUEST,)
    tag: str = ""
    example: tuple[str, ...] = ()
    own: Sequence[MessagePattern] = ()

    @property
    def patterns(self) -> Sequence[MessagePattern]:
        """The patterns of whole messages."""
        return self.own or read_forms(self.name)

    def find_arguments(self, text: str) -> Mapping[str, Any] | None:
        """Return the arguments for a message, None if it is none of the family."""
        for pattern in self.patterns:
            match = pattern.fullmatch(text)
            if match is not None and (arguments := self.arguments(match)) is not None:
                return None if any(veto.search(text) for veto in self.vetoes) else arguments
        return None


@lru_cache(maxsize=64)
def read_forms(section: str) -> Sequence[MessageForms]:
    """Return the patterns of a section in the grammars of all languages."""
    return tuple(MessageForms(found, each) for each in GRAMMARS.values() if (found := each.sections.get(section)))


FAMILIES: Final[tuple[FastPathFamily, ...]] = (
    FastPathFamily("reminder on a day", "schedules.add", reminder_on_day),
    FastPathFamily("reminder at a time", "schedules.add", reminder_at),
    FastPathFamily("reminder after a time", "schedules.add", reminder_after),
    FastPathFamily("list of schedules", "schedules.list", no_arguments),
    FastPathFamily("removal of a schedule", "schedules.remove", take_parts("name")),
    FastPathFamily(
        "mail to send", "mail.send", mail, (SECOND_REQUEST, COMPLEX_TASK), "mail_send", ("to", "subject", "body")
    ),
    FastPathFamily("search in mail", "mail.search", take_parts("query"), tag="mail_search", example=("query",)),
    FastPathFamily("inbox", "mail.inbox", lambda parts: {"count": 10}, tag="mail_inbox", example=("count",)),
    FastPathFamily("list of skills", "skills.list", no_arguments),
    FastPathFamily("date and time", "datetime.now", time_zone),
    FastPathFamily("weather", "weather.now", weather, tag="weather", example=("place",)),
    FastPathFamily("page", "http.request", page),
    FastPathFamily(
        "search in the web",
        "web.search",
        take_parts("query"),
        (SECOND_REQUEST, NOT_IN_THE_WEB),
        "web_search",
        ("query",),
    ),
)
"""The families, in the order in which they are tried."""
