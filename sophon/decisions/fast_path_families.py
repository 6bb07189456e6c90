"""The thirteen families of fast paths as data: patterns, the tool that answers, its arguments, and what vetoes.

A pattern covers the whole message: what asks for more than one thing is for a model. Source: reference/wasp.md 4.9.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from sophon.decisions.fast_path_arguments import (
    Arguments,
    mail,
    no_arguments,
    reminder_after,
    reminder_at,
    reminder_on_day,
    take_groups,
    time_zone,
)
from sophon.lazy_dataclass import dataclass
from sophon.lazy_pattern import lazy_pattern


class MessagePattern(Protocol):
    """A compiled pattern of whole messages, of `re` or of RE2."""

    def fullmatch(self, text: str, /) -> Any:
        """Return the match of the whole text, or None."""
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


@dataclass(frozen=True, slots=True)
class FastPathFamily:
    """Messages of one kind: their patterns, the tool that answers them, how its arguments are made, what vetoes."""

    name: str
    tool: str
    patterns: Sequence[MessagePattern]
    arguments: Arguments
    vetoes: Sequence[re.Pattern[str]] = (SECOND_REQUEST,)

    def find_arguments(self, text: str) -> Mapping[str, Any] | None:
        """Return the arguments for a message, None if it is none of the family."""
        for pattern in self.patterns:
            match = pattern.fullmatch(text)
            if match is not None and (arguments := self.arguments(match)) is not None:
                return None if any(veto.search(text) for veto in self.vetoes) else arguments
        return None


_PLEASE = r"(?:please |can you |could you |por favor |puedes )?"
_END = r"(?:,? please|,? por favor)?\s*[.!?]*\Z"
_TIME = r"(?P<hour>\d{1,2})(?:[:.h](?P<minute>[0-5]\d))?\s*(?P<half>[ap]\.?m\.?)?"
_WHAT = r"(?:to |that |about |of |de |que )?(?P<text>\S.{0,200}?)"
_UNIT = r"(?P<unit>minute|min|hour|day|minuto|hora|día|dia)s?"
_NUMBER = (
    r"(?P<number>\d{1,4}|half an|an?|one|two|three|four|five|ten|fifteen|twenty|thirty|media|una?|dos|tres|cinco|diez)"
)
_DAY = (
    r"(?P<day>today|tomorrow|(?:on |next )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|hoy|mañana|pasado mañana"
    r"|(?:el )?(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo))"
)
_URL = r"(?P<url>https?://[^\s<>\"']{1,250}?)"


def _patterns(*bodies: str) -> tuple[re.Pattern[str], ...]:
    return tuple(lazy_pattern(rf"{_PLEASE}{body}{_END}", re.IGNORECASE) for body in bodies)


_REMIND = r"(?:remind me|set (?:me )?a reminder|recu[eé]rdame)"

FAMILIES: Final[tuple[FastPathFamily, ...]] = (
    FastPathFamily(
        "reminder on a day",
        "schedules.add",
        _patterns(
            rf"{_REMIND} {_DAY} (?:at|a las?) {_TIME} {_WHAT}",
            rf"{_REMIND} (?:at|a las?) {_TIME} {_DAY} {_WHAT}",
            rf"{_REMIND} {_WHAT} {_DAY} (?:at|a las?) {_TIME}",
        ),
        reminder_on_day,
    ),
    FastPathFamily(
        "reminder at a time",
        "schedules.add",
        _patterns(
            rf"{_REMIND} (?:at|a las?) {_TIME} {_WHAT}",
            rf"{_REMIND} {_WHAT} (?:at|a las?) {_TIME}",
        ),
        reminder_at,
    ),
    FastPathFamily(
        "reminder after a time",
        "schedules.add",
        _patterns(
            rf"{_REMIND} (?:in|en|dentro de) {_NUMBER} {_UNIT} {_WHAT}",
            rf"{_REMIND} {_WHAT} (?:in|en|dentro de) {_NUMBER} {_UNIT}",
            rf"(?:in|en|dentro de) {_NUMBER} {_UNIT},? {_REMIND} {_WHAT}",
        ),
        reminder_after,
    ),
    FastPathFamily(
        "list of schedules",
        "schedules.list",
        _patterns(
            r"(?:list|show|what are|which are)(?: me)?(?: all)?(?: of)?(?: my| the)?(?: scheduled| active)?"
            r" (?:reminders|schedules|scheduled tasks|tasks|monitors|alarms)",
            r"(?:lista|muestra|enseña|cuáles son)(?:me)?(?: todos| todas)?(?: mis| los| las)?"
            r" (?:recordatorios|tareas programadas|tareas|monitores|alarmas)",
        ),
        no_arguments,
    ),
    FastPathFamily(
        "removal of a schedule",
        "schedules.remove",
        _patterns(
            r"(?:delete|remove|cancel|borra|elimina|cancela) (?:the |my |el |la |mi )?"
            r"(?:reminder|schedule|scheduled task|monitor|alarm|recordatorio|tarea programada|alarma)"
            r" [#\"“']?(?P<name>[\w-]{1,64})[\"”']?",
        ),
        take_groups("name"),
    ),
    FastPathFamily(
        "mail to send",
        "mail.send",
        _patterns(
            r"(?:send|write) (?:an? )?(?:e-?mail|mail) to (?P<to>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})"
            r" (?:saying|with the text|that says|:) ?(?P<text>\S.{1,200}?)",
            r"(?:envía|envia|manda|escribe) (?:un )?(?:correo|e-?mail) a"
            r" (?P<to>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}) (?:diciendo|que diga|con el texto|:) ?"
            r"(?P<text>\S.{1,200}?)",
        ),
        mail,
        (SECOND_REQUEST, COMPLEX_TASK),
    ),
    FastPathFamily(
        "inbox",
        "mail.inbox",
        _patterns(
            r"(?:check|read|show|open)(?: me)? (?:my |the )?(?:inbox|e-?mails?|mails?|new (?:e-?mails?|mails?))",
            r"(?:do i have|any) (?:any )?(?:new |unread )(?:e-?mails?|mails?)",
            r"(?:lee|revisa|muestra|abre)(?:me)? (?:mi |mis |el |los )?(?:bandeja de entrada|correos?|e-?mails?)",
        ),
        lambda match: {"count": 10},
    ),
    FastPathFamily(
        "search in mail",
        "mail.search",
        _patterns(
            r"(?:search|find|look)(?: in| through| for)? (?:my )?(?:inbox|e-?mails?|mails?) (?:for|from|about)"
            r" (?P<query>\S.{0,120}?)",
            r"busca (?:en )?(?:mi |mis )?(?:bandeja de entrada|correos?) (?:de |sobre |por )?(?P<query>\S.{0,120}?)",
        ),
        take_groups("query"),
    ),
    FastPathFamily(
        "list of skills",
        "skills.list",
        _patterns(
            r"(?:list|show)(?: me)?(?: all)?(?: my| the| your)? (?:skills|abilities)",
            r"(?:what|which) skills (?:do you have|are there)",
            r"(?:lista|muestra)(?:me)? (?:tus|las|mis) (?:habilidades|skills)",
        ),
        no_arguments,
    ),
    FastPathFamily(
        "date and time",
        "datetime.now",
        _patterns(
            r"(?:what(?:'s| is) the |tell me the )?(?:current |exact )?(?:time|date|date and time|time and date)"
            r"(?: is it)?"
            r"(?: now| today| right now)?(?: in (?P<place>[^\W\d_][\w .'/-]{1,40}?))?(?: now| today| right now)?",
            r"(?:what time|what day|which day)(?: is it| is today)(?: now| today| right now)?"
            r"(?: in (?P<place>[^\W\d_][\w .'/-]{1,40}?))?(?: now| today| right now)?",
            r"what(?:'s| is) (?:today's date|the date today|today)",
            r"¿?qué (?:hora|día|fecha) es(?: hoy| ahora)?(?: en (?P<place>[^\W\d_][\w .'/-]{1,40}?))?",
        ),
        time_zone,
    ),
    FastPathFamily(
        "weather",
        "weather.now",
        _patterns(
            r"(?:what(?:'s| is) the |how(?:'s| is) the )?(?:current )?weather (?:like )?(?:in|for|at)"
            r" (?P<place>[^\W\d_][\w .'-]{1,60}?)(?: now| today| right now| like)?",
            r"¿?(?:qué tiempo hace|cómo está el tiempo|el tiempo) en (?P<place>[^\W\d_][\w .'-]{1,60}?)"
            r"(?: hoy| ahora)?",
        ),
        take_groups("place"),
    ),
    FastPathFamily(
        "page",
        "http.request",
        _patterns(
            rf"(?:fetch|open|get|load|download|read|visit|go to|show me|abre|lee|descarga|visita|ve a) {_URL}",
            _URL,
        ),
        take_groups("url"),
    ),
    FastPathFamily(
        "search in the web",
        "web.search",
        _patterns(
            r"(?:search (?:the (?:web|internet) |online )?for|google|look up|web search:?) (?P<query>\S.{0,200}?)",
            r"(?:what(?:'s| is) the (?:current )?price of|price of|how much is) (?P<query>\S.{0,80}?)(?: now| today)?",
            r"(?:busca en (?:internet|la web|google)|googlea) (?P<query>\S.{0,200}?)",
        ),
        take_groups("query"),
    ),
)
"""The families, in the order in which they are tried."""
