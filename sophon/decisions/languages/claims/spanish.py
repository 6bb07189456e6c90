"""Spanish grammar of claims."""

from typing import Final

from sophon.decisions.languages.claims.claim_grammar import FILES, SYSTEM, WEB, ClaimGrammar

_ADVERBS = r"(?:(?:ya|también|además|correctamente|automáticamente|ahora|recién|sido)\s+){0,3}"
_PRONOUNS = r"(?:(?:me|te|se|le|les|lo|la|los|las|nos)\s+){0,2}"


def _ar(stems: str) -> str:
    """Return participle, infinitive and first person of the past of verbs in -ar."""
    return rf"(?:{'|'.join(stems.split())})(?:ad[oa]s?|ar(?:l[oae]s?)?|é)"


def _past(stems: str) -> str:
    """Return the reflexive passive of verbs in -ar (`se guardó`)."""
    return rf"(?:{'|'.join(stems.split())})(?:ó|aron)"


_CHANGES = (
    "guard apunt anot cre añad agreg borr elimin renombr edit cambi copi actualiz export gener insert "
    "modific coloc dej quit cancel"
    " program configur recarg activ desactiv par anul limpi arregl registr almacen archiv orden sac"
)
_STRONG_COMMAND = "ejecut instal desinstal compil clon descarg despleg arranc"
_SENT = "envi mand reenvi notific"
_PUBLISHED = "public reserv carg"

SPANISH_CLAIMS: Final = ClaimGrammar(
    active=(
        rf"(?:(?<!no )\b(?:he|hemos)\s+{_ADVERBS}|(?<!no )\bacabo de\s+"
        rf"|(?:^|[,;:.!¡]\s?|\by\s+|\bya\s+|\byo\s+){_PRONOUNS}(?=\w+(?:é|í|uve|ije|use|ice)\b))"
    ),
    passive=(
        rf"(?<!no )\b(?:(?:se )?(?:ha|han)\s+(?:sido\s+)?|fue(?:ron)?\s+|qued(?:ó|aron|a|an)\s+|está[ns]?\s+"
        rf"|se\s+(?=\w+(?:ó|aron|ieron)\b)){_ADVERBS}"
    ),
    changes=(
        rf"{_ar(_CHANGES)}|{_past(_CHANGES)}|escrito|escribí|escribir|puesto|puse|poner|hecho|hice|movid[oa]s?"
        rf"|moví|mover|corregid[oa]s?|corregí"
        r"|corregir|convertid[oa]s?|convertí|convertir|metid[oa]s?|metí|meter|detenid[oa]s?|detuve|detener"
        r"|inici(?:ad[oa]s?|é|ar)|lanz(?:ad[oa]s?)|lancé"
        r"|apagu?(?:ad[oa]s?|é|ar)|reemplac?z?(?:ad[oa]s?|é|ar)|escrit[oa]s?"
    ),
    strong={
        "mail": rf"{_ar(_SENT)}|{_past(_SENT)}|respond(?:ido|í|er)|avisad[oa]s?|avisé",
        "schedule": r"agendad[oa]s?|agendé|agendar|programad[oa]s?|programé",
        "agent": r"delegad[oa]s?|delegué",
        "command": (
            rf"{_ar(_STRONG_COMMAND)}|{_past(_STRONG_COMMAND)}|reinici(?:ad[oa]s?|é|ar|ó)"
            rf"|descomprimid[oa]s?|descomprimí|comprimid[oa]s?|comprimí"
        ),
        "web": (
            rf"{_ar(_PUBLISHED)}|{_past(_PUBLISHED)}|publiqué|subid[oa]s?|subí|subir|subió|subieron"
            rf"|comprad[oa]s?|compré|pedid[oa]s?|inscrit[oa]s?"
        ),
        "memory": r"olvidad[oa]s?|olvidé|memorizad[oa]s?|memoricé|recordad[oa]s?",
    },
    nouns={
        "mail": r"correos?|e-?mails?|mails?|mensajes?|notificaci(?:ón|ones)|fotos?|respuesta",
        "schedule": (
            r"recordatorios?|alarmas?|citas?|temporizador(?:es)?|tareas? (?:diarias?|programadas?"
            r"|semanal(?:es)?)|tareas?|calendario"
        ),
        "agent": r"agentes?|bots?",
        "goal": r"objetivos?",
        "file": rf"{FILES}|archivos?|ficheros?|carpetas?|directorios?|configuración|ajustes",
        "command": (
            rf"{SYSTEM}|servidor(?:es)?|servicios?|paquetes?|comandos?|scripts?|pruebas|tests?|programa"
            rf"|procesos?|base de datos|repositorio|copias? de seguridad|luz|luces|calefacción|tele|puertas?"
        ),
        "memory": r"(?:mi|en la|de la) memoria|mis recuerdos",
        "web": rf"{WEB}|formulario|pedido|reserva|cuenta",
    },
    lookups=(
        r"busc(?:ado|ar|ué)|busqué|buscarlo|comprob(?:ado|ar|arlo|é)|consult(?:ado|ar|arlo|é)|verific(?:ado"
        r"|ar)|verifiqué|mirado|miré|revis(?:ado|é)"
        r"|ejecut(?:ado|é)|medido|medí"
    ),
    sources=(
        rf"{SYSTEM}|{WEB}|internet|web|red|google|disco|cpu|ram|pruebas|comandos?|scripts?|base de datos"
        rf"|procesos?|sitio|página web|calendario"
    ),
    states=(
        r"(?:está|están|queda|quedan)\s+(?:ya\s+|ahora\s+)?(?:activ[oa]s?|list[oa]s?|en marcha"
        r"|borrad[oa]s?)|ya no existe|salió|salieron|está en camino"
    ),
    located=r"(?:está|están|queda|quedan)\s+(?:ya\s+|ahora\s+)?(?:guardad[oa]s?\s+)?(?:en|como|bajo)\s",
    promises=(
        r"te\s+(?:aviso|avisaré|recuerdo|recordaré|despierto|despertaré|escribiré"
        r"|mandaré)\b.{0,60}?\b(?:mañana|cada|todos los|a las|en \w+ (?:minutos?|horas?|días?))|(?:mañana"
        r"|cada|a las)\b.{0,40}?\bte\s+(?:aviso|avisaré|recuerdo|recordaré)"
    ),
    done=r"listo|hecho|ya está|terminado|completado|con éxito|todo listo",
    agreed=r"perfecto|claro|vale|de acuerdo|muy bien|ok|por supuesto|genial",
    now=r"ahora|ya",
    text_work=r"abajo|arriba|aquí|siguiente|a continuación|(?:este|tu) (?:mensaje|texto|párrafo|borrador|código)",
    hypothetical=r"si|cuando|una vez|después de|a menos que|en cuanto|antes de|hasta que|asegúrate",
    earlier=r"ayer|antes|la última vez|anteriormente|la semana pasada|dijiste|dijo|me pediste|mencionaste|en \d{4}",
    agents=r"por\s+(?!mí\b|correo|e-?mail|mail)",
)
