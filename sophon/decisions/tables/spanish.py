"""Spanish patterns of the decision layer. Source: reference/wasp.md 4.8.

The first pattern of `agent` is the wish to create one.
"""

from collections.abc import Mapping
from typing import Final

PATTERNS: Final[Mapping[str, tuple[str, ...]]] = {
    "schedule": (
        r"\bcada (?:\d{1,4} )?(?:segundo|minuto|hora|día|dia|semana|mes|año)e?s?\b",
        r"\b(?:cada|todas las|todos los) (?:mañanas?|tardes?|noches?|días|dias|semanas|lunes|m"
        r"artes|miércoles|jueves|viernes|sábados?|domingos?)\b",
        r"\b(?:diariamente|semanalmente|mensualmente|a diario)\b",
        r"\b(?:programa|agenda|recuérdame|recuerdame|pon(?:me)? (?:un|una) (?:recordatorio|ala"
        r"rma))\b",
    ),
    "agent": (
        r"\b(?:crea|créame|haz|lanza|inicia|despliega|configura) (?:un |una |otro )?(?:nuevo )"
        r"?(?:\w+ ){0,2}(?:sub-?)?(?:agente|bot|asistente)s?\b",
        r"\b(?:continuamente|constantemente|permanentemente|sin parar|las 24 horas|en segundo "
        r"plano)\b",
        r"\b(?:mantente|estate|sigue) (?:atento|vigilando|pendiente|monitorizando)\b",
    ),
    "script": (
        r"\b(?:escribe|crea|haz|programa) (?:un |una )?(?:\w+ ){0,2}(?:script|programa|rastrea"
        r"dor)\b",
        r"\b(?:extrae|extraer|saca) (?:los |las |todos los )?(?:\w+ ){0,2}(?:datos|tablas?|enl"
        r"aces)\b",
        r"\b(?:analiza|parsea) (?:el |este |un )?(?:\w+ ){0,2}(?:json|xml|csv|html)\b",
    ),
    "chain": (
        r"\b(?:y|,) (?:luego|después|despues|finalmente|por último)\b",
        r"\bprimero\b.{1,200}\b(?:luego|después|despues|segundo|finalmente)\b",
    ),
    "report": (
        r"\b(?:escribe|crea|prepara|genera|elabora|haz) (?:un |una |el )?(?:\w+ ){0,4}(?:infor"
        r"me|reporte|resumen ejecutivo|presentación|comparativa)\b",
    ),
    "research": (
        r"\b(?:investiga|busca|recopila|reúne|analiza)\b.{1,200}\by\b.{0,60}\b(?:envía|envia|m"
        r"anda|escribe|guarda|resume|publica|entrega|compara|dime)\w*\b",
    ),
    "continuous": (r"\b(?:monitoriza|monitorea|vigila|rastrea|sigue|avísame|avisame|notifícame)\b",),
}

TARGETS: Final = (
    r"\b(?:precios?|página|pagina|sitio|servidor|noticias|tiempo|acciones|dólar|oro|correo"
    r"|repositorio)\b",
)
"""What changes, and can therefore be watched."""
