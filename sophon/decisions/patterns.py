"""Patterns of the decision layer, in English and Spanish: what kind of work the words of a message ask for.

Source: reference/wasp.md 4.8. Each family has several patterns, so that the number of those that match says how clear a
case is. All of them are searched in at most `sophon.decisions.compaction.MAX_CHARACTERS`, in any case.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

from sophon.lazy_pattern import lazy_pattern

Family = Literal["schedule", "continuous", "agent", "script", "chain", "report", "research"]
"""Family of patterns. `continuous` needs a verb and a target, the others any one of their patterns."""

_PATTERNS: Final[Mapping[Family, tuple[str, ...]]] = {
    "schedule": (
        # English
        r"\bevery (?:\d{1,4} )?(?:second|minute|hour|day|week|month|year)s?\b",
        r"\b(?:every|each) (?:other )?(?:morning|noon|afternoon|evening|night|weekday|weekend)s?\b",
        r"\b(?:every|each) (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b",
        r"\b(?:hourly|daily|nightly|weekly|monthly)\b",
        r"\b(?:schedule|remind me|set (?:up )?(?:a|an) (?:reminder|alarm|timer))\b",
        r"\bonce (?:a|an|per|every) (?:hour|day|week|month)\b",
        # Spanish
        r"\bcada (?:\d{1,4} )?(?:segundo|minuto|hora|día|dia|semana|mes|año)e?s?\b",
        r"\b(?:cada|todas las|todos los) (?:mañanas?|tardes?|noches?|días|dias|semanas|lunes|martes|miércoles|jueves"
        r"|viernes|sábados?|domingos?)\b",
        r"\b(?:diariamente|semanalmente|mensualmente|a diario)\b",
        r"\b(?:programa|agenda|recuérdame|recuerdame|pon(?:me)? (?:un|una) (?:recordatorio|alarma))\b",
    ),
    "agent": (
        r"\b(?:create|make|build|start|launch|spawn|deploy|set up) (?:me )?(?:a |an |another )?(?:new )?(?:\w+ ){0,2}"
        r"(?:sub-?)?(?:agent|bot|assistant)s?\b",
        r"\b(?:continuously|constantly|permanently|around the clock|24/7|non-?stop|in the background)\b",
        r"\bkeep (?:an eye on|watching|monitoring|tracking|checking)\b",
        r"\b(?:crea|créame|haz|lanza|inicia|despliega|configura) (?:un |una |otro )?(?:nuevo )?(?:\w+ ){0,2}"
        r"(?:sub-?)?(?:agente|bot|asistente)s?\b",
        r"\b(?:continuamente|constantemente|permanentemente|sin parar|las 24 horas|en segundo plano)\b",
        r"\b(?:mantente|estate|sigue) (?:atento|vigilando|pendiente|monitorizando)\b",
    ),
    "script": (
        r"\b(?:write|create|make|build|run) (?:me )?(?:a |an )?(?:\w+ ){0,2}(?:script|program|crawler|scraper"
        r"|parser)\b",
        r"\bpoll(?:s|ing)? (?:an?|the|this|that)? ?(?:\w+ ){0,2}(?:api|endpoint|url)\b",
        r"\b(?:extract|pull) (?:the |all )?(?:\w+ ){0,2}(?:data|table|rows|fields|links)\b",
        r"\b(?:data|etl|processing) pipeline\b|\bpipeline (?:that|to|for|which)\b",
        r"\b(?:scrape|scraping|crawl|crawling)\b",
        r"\bpars(?:e|es|ing) (?:the |this |that |a |an )?(?:\w+ ){0,2}(?:json|xml|csv|html|yaml|logs?)\b",
        r"\b(?:escribe|crea|haz|programa) (?:un |una )?(?:\w+ ){0,2}(?:script|programa|rastreador)\b",
        r"\b(?:extrae|extraer|saca) (?:los |las |todos los )?(?:\w+ ){0,2}(?:datos|tablas?|enlaces)\b",
        r"\b(?:analiza|parsea) (?:el |este |un )?(?:\w+ ){0,2}(?:json|xml|csv|html)\b",
    ),
    "chain": (
        r"\b(?:and|,) (?:then|after that|afterwards|finally)\b",
        r"\bfirst\b.{1,200}\b(?:then|second|next|after that|finally)\b",
        r"\bstep by step\b.{0,200}\b(?:and|then)\b",
        r"\b(?:y|,) (?:luego|después|despues|finalmente|por último)\b",
        r"\bprimero\b.{1,200}\b(?:luego|después|despues|segundo|finalmente)\b",
    ),
    "report": (
        r"\b(?:write|create|prepare|generate|compile|produce|draft|make|build) (?:me )?(?:a |an |the )?(?:\w+ ){0,4}"
        r"(?:report|briefing|dossier|presentation|comparison|business plan)\b",
        r"\b(?:report|briefing) (?:on|about)\b",
        r"\b(?:escribe|crea|prepara|genera|elabora|haz) (?:un |una |el )?(?:\w+ ){0,4}(?:informe|reporte"
        r"|resumen ejecutivo|presentación|comparativa)\b",
    ),
    "research": (
        r"\b(?:research|investigate|find out|look into|gather|collect|analy[sz]e)\b.{1,200}\b(?:and|then)\b.{0,60}"
        r"\b(?:send|e-?mail|write|save|summari[sz]e|report|present|publish|post|deliver|compare|tell)\b",
        r"\b(?:investiga|busca|recopila|reúne|analiza)\b.{1,200}\by\b.{0,60}"
        r"\b(?:envía|envia|manda|escribe|guarda|resume|publica|entrega|compara|dime)\w*\b",
    ),
    "continuous": (
        r"\b(?:monitor|watch|track|follow|check on|keep track of|alert me|notify me|let me know (?:if|when))\b",
        r"\b(?:monitoriza|monitorea|vigila|rastrea|sigue|avísame|avisame|notifícame)\b",
    ),
}

_TARGET: Final = (
    r"https?://\S+|\b(?:www\.)?[a-z0-9-]{1,63}\.(?:com|org|net|io|dev|es|de|co|ai|gov|edu)\b",
    r"\b(?:bitcoin|btc|ethereum|eth|solana|sol|dogecoin|crypto\w*|stocks?|shares|euro|dollar|gold|oil|index|nasdaq)\b",
    r"\b(?:prices?|website|web ?page|site|server|feed|news|weather|exchange rate|inbox|repository|repo|build|ticket)\b",
    r"\b(?:precios?|página|pagina|sitio|servidor|noticias|tiempo|acciones|dólar|oro|correo|repositorio)\b",
)


def _compile(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(lazy_pattern(pattern, re.IGNORECASE) for pattern in patterns)


PATTERNS: Final[Mapping[Family, tuple[re.Pattern[str], ...]]] = {
    family: _compile(patterns) for family, patterns in _PATTERNS.items()
}
TARGETS: Final = _compile(_TARGET)
"""What a continuous action can be about: an address, an asset, a thing that changes."""

QUESTION: Final = lazy_pattern(r"^\s*¿|\?\s*$|^\s*(?:what|when|how|qué|cuándo|cómo)\b.*\?", re.IGNORECASE | re.DOTALL)
CONFIRMATION: Final = lazy_pattern(
    r"\s*(?:(?:yes|yep|yeah|ok|okay|sure|no|sí|si|vale|claro|please|go ahead|do it|try again|retry|again|once more"
    r"|inténtalo de nuevo|otra vez|adelante|hazlo|de acuerdo)[\s,.!]*){1,4}\Z",
    re.IGNORECASE,
)
"""A confirmation, or the wish to try again: it belongs to what was said before."""

INTERNAL_PREFIXES: Final = ("[SCHEDULED TASK:", "[TAREA PROGRAMADA:", "[AUTO-DETECTED:")
"""How texts begin that the program itself wrote; no rule acts on them again."""


def count_hits(text: str) -> dict[Family, int]:
    """Return for each family how many of its patterns occur in a text; families without any are left out."""
    counts: dict[Family, int] = {}
    for family, patterns in PATTERNS.items():
        hits = sum(pattern.search(text) is not None for pattern in patterns)
        if family == "continuous" and hits and not any(target.search(text) for target in TARGETS):
            hits = 0
        if hits:
            counts[family] = hits
    return counts
