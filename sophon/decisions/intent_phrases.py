"""Intent phrases: with which words people ask for a call that has effects. English and Spanish.

Source: reference/wasp.md 4.14, Intent gate. A family is what a tool does, found by its name.
"""

import re
from collections.abc import Mapping
from typing import Final

from sophon.lazy_dataclass import dataclass
from sophon.lazy_pattern import lazy_pattern


@dataclass(frozen=True, slots=True)
class IntentFamily:
    """Tools of one kind by their names, and the words with which people ask for what they do."""

    tools: tuple[str, ...]
    phrases: re.Pattern[str]


def _phrases(*expressions: str) -> re.Pattern[str]:
    return lazy_pattern(rf"\b(?:{'|'.join(expressions)})\b", re.IGNORECASE)


FAMILIES: Final[Mapping[str, IntentFamily]] = {
    "mail": IntentFamily(
        ("mail.*", "gmail*", "email*", "*.send_mail", "*.send_email", "send_email"),
        _phrases(
            r"(?:send|write|reply|answer|forward|mail|e-?mail|respond|notify|tell)",
            r"(?:env[ií]a\w*|manda\w*|escr[ií]be\w*|responde\w*|reenv[ií]a\w*|avisa\w*)",
        ),
    ),
    "schedule": IntentFamily(
        ("schedules.*", "task_manager*", "tasks.*", "reminders.*", "calendar.*"),
        _phrases(
            r"(?:remind|schedule|every|each|daily|weekly|hourly|monthly|tomorrow|alarm|reminder|timer|appointment|event)",
            r"(?:cancel|remove|delete|stop|change|move) (?:the |my |all )?(?:\w+ ){0,3}(?:reminders?|schedules?|tasks?"
            r"|alarms?)",
            r"(?:recu[eé]rda\w*|programa\w*|agenda\w*|cada|todos los|todas las|mañana|alarma|recordatorio|cita)",
            r"(?:monitor|watch|alert me|notify me|let me know|vigila|av[ií]same)",
        ),
    ),
    "agent": IntentFamily(
        ("agents.*", "agent_manager*"),
        _phrases(
            r"(?:agents?|sub-?agents?|bots?|assistants?|delegate|hand (?:it|this|that) (?:over|off)|in the background)",
            r"(?:agentes?|asistentes?|delega\w*|en segundo plano|continuously|continuamente)",
        ),
    ),
    "goal": IntentFamily(
        ("goals.*",),
        _phrases(
            r"(?:goals?|projects?|plan|work on|achieve|objectives?|report|research|then|after that|step by step)",
            r"(?:objetivos?|proyectos?|metas?|investiga\w*|informe|luego|después)",
        ),
    ),
    "file": IntentFamily(
        ("files.*", "write_file", "delete_file", "move_file"),
        _phrases(
            r"(?:write|save|create|store|put|make|edit|update|change|append|add|rename|move|copy|delete|remove|fix|generate)",
            r"(?:escr[ií]be\w*|guarda\w*|crea\w*|edita\w*|cambia\w*|añade\w*|mueve\w*|copia\w*|borra\w*|elimina\w*|corrige\w*)",
        ),
    ),
    "command": IntentFamily(
        ("system.execute", "shell*", "bash*", "python_exec*", "code.*"),
        _phrases(
            r"(?:run|execute|start|install|build|compile|test|script|command|program|restart|deploy|calculate|compute)",
            r"(?:ejecuta\w*|corre|instala\w*|compila\w*|prueba\w*|script|comando|programa|reinicia\w*|calcula\w*)",
        ),
    ),
    "web": IntentFamily(
        ("http.send", "http_request", "web_request"),
        _phrases(
            r"(?:post|send|submit|upload|call|publish|update|delete|put|patch|request|webhook|api|endpoint)",
            r"(?:env[ií]a\w*|publica\w*|sube\w*|llama\w*|actualiza\w*|borra\w*|petición)",
        ),
    ),
    "memory": IntentFamily(
        ("memory.forget*",),
        _phrases(r"(?:forget|delete|remove|erase|wipe)", r"(?:olvida\w*|borra\w*|elimina\w*)"),
    ),
}
"""The families of tools with effects. A tool of none is asked for by the words of its own name."""

REFERENCE: Final = _phrases(
    r"(?:do (?:it|that|this|the same)|again|once more|same (?:thing|as before)|repeat|one more time|another one)",
    r"(?:hazlo|otra vez|de nuevo|lo mismo|repite\w*|uno más|otra más)",
)
"""Reference to an earlier action."""

NEGATION: Final = lazy_pattern(
    r"\b(?:don['’]?t|do not|never|without|not to|no need to|instead of|sin|nunca|no|en vez de)\s+"
    r"(?!forget|hesitate|olvides)(?:\w+\s+){0,2}\Z",
    re.IGNORECASE,
)
"""What stands in front of a phrase that is meant the other way round."""
