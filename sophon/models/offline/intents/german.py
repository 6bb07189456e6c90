"""Intents in German: time, arithmetic, memory, files, a web page and a command; the answers are in German too."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.intents.arithmetic import ARITHMETIC, expression_of, extract_expression
from sophon.models.offline.intents.date_time import DATE_TIME, EARLIEST, LATEST, read_moment
from sophon.models.offline.intents.files import LIST_FILES, PATH, READ_FILE, WRITE_FILE, format_listing
from sophon.models.offline.intents.memory import (
    FIND_ENTRY_TO_FORGET,
    FORGET_ENTRY,
    RECALL,
    REMEMBER,
    filter_matching_hits,
)
from sophon.models.offline.intents.shell import NO_OUTPUT, SHELL, SUCCESS_PREFIX
from sophon.models.offline.intents.web import FETCH, extract_url
from sophon.models.offline.language.english import capitalise, strip_quotes
from sophon.models.offline.language.german import ORDER, extract_german_query, to_main_clause
from sophon.models.offline.tool_results import format_block

_ORDER_BEHIND_VERB = re.compile(
    rf"(\w{{1,20}})(?: (?:{ORDER}|bitte|zuerst|zunächst|erst|mal|mir|uns)\b){{1,4}},? ", re.IGNORECASE
)
_RUN = re.compile(
    r"(?:führe?|starte)(?: (?:den|diesen|folgenden)){0,2}(?: (?:Befehl|Kommando|Shell-Befehl))?"
    r"(?:(?: aus)?: (?P<command>.+)| (?P<quoted>\"[^\"\n]+\"|`[^`\n]+`|'[^'\n]+'|„[^“\n]+“)(?: aus)?)",
    re.IGNORECASE | re.DOTALL,
)
_WRITE = re.compile(
    rf"(?:schreibe?|speichere?) (?P<text>.+) (?:in|nach|unter|als) (?:die |eine )?(?:neue )?(?:Datei )?{PATH}",
    re.IGNORECASE | re.DOTALL,
)
_REFERENCE = re.compile(r"(?:es|das|beides|alles|(?:das|die) (?:Ergebnisse?|Zusammenfassung))", re.IGNORECASE)
_READ = re.compile(
    r"(?:lies|öffne|zeige?|was (?:steht|ist) in)(?: (?:die|der|den))?(?: (?:Datei|Inhalt von))? "
    rf"{PATH}(?: (?:vor|an))?",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"(?:liste|zeige?|nenne?|welche)\b[^.\n]{0,30}?\b(?:Dateien|Ordner|Verzeichnis)\b"
    r"(?:.{0,20}?\b(?:in|im|unter) (?:dem )?(?:Ordner |Verzeichnis )?(?P<path>[\w~.][\w./~-]*))?",
    re.IGNORECASE,
)
_NOT_A_FOLDER = frozenset({"dem", "den", "der", "diesem", "deinem", "meinem", "ordner", "verzeichnis"})
_FETCH = re.compile(r"(?:rufe?|hole?|lade|öffne|lies|besuche?|zeige?)\b", re.IGNORECASE)
_STORE = re.compile(
    r"(?:merke? dir|notiere?(?: dir)?|schreibe?(?: dir)? auf|vergiss nicht)[,:]?(?: (?P<that>dass)| (?:das|Folgendes))?"
    r"[,:]? (?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)
_RECALL = re.compile(
    r"was weißt du(?: noch| alles){0,2} (?:über|von|zu) (?P<asked>.+)"
    r"|(?:sieh|schaue?|suche?|sage?|erzähle?)(?: (?:in )?(?:dein|dem)\w{0,2} (?:Gedächtnis|Notizen))?(?: nach)?,? "
    r"was du(?: noch| alles){0,2} (?:über|von|zu) (?P<known>.+) weißt"
    r"|suche?(?: in dein\w{0,2} (?:Gedächtnis|Notizen))? nach (?P<sought>.+)",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION_ABOUT_USER = re.compile(
    r"(?:was|wie|wer|wo|wann|welche[mnrs]?)\b.*\b(?:mein(?:e[mnrs]?)?|ich|mich|mir|unsere?)\b",
    re.IGNORECASE | re.DOTALL,
)
_FORGET = re.compile(r"vergiss,?(?: dass| was du über)? (?P<topic>.+)", re.IGNORECASE | re.DOTALL)
_CALCULATION = re.compile(
    r"(?:was (?:ist|sind|macht|ergibt)|wie ?viel (?:ist|sind|macht|ergibt)|rechne|berechne) (?P<expression>.+)",
    re.IGNORECASE,
)
_ARITHMETIC_WORDS = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"(?<=\d)\.(?=\d{3}\b)", ""),
        (r"(?<=\d),(?=\d)", "."),
        (r"\bmal\b", "times"),
        (r"\bgeteilt durch\b", "divided by"),
        (r"\bhoch\b", "to the power of"),
        (r"\b(?:die )?(?:Quadratw|W)urzel (?:aus|von)\b", "square root of"),
        (r"\bProzent von\b|(?<=%) von\b", "percent of"),
        (r"% percent of", "% of"),
    )
)
_TIME_QUESTION = re.compile(
    r"\bwie ?(?:spät|viel Uhr) ist es\b|\bwelche[nrs]? (?:Tag|Datum|Wochentag|Uhrzeit|Monat|Jahr)\b.{0,12}"
    r"\b(?:ist|haben|hat|war)\b|\b(?:sage?|nenne?|zeige?) .{0,12}\b(?:Uhrzeit|Datum|Wochentag)\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\b(?:spät|Uhr|Uhrzeit)\b", re.IGNORECASE)
_PLACE = re.compile(r"\bin (?!der\b|dem\b|diese[mr]\b)([^\W\d_][\w./'+-]*(?: [A-Z][\w.'-]*){0,3})")
_CITIES = {
    "Athen": "Athens",
    "Brüssel": "Brussels",
    "Genf": "Geneva",
    "Kairo": "Cairo",
    "Kopenhagen": "Copenhagen",
    "Lissabon": "Lisbon",
    "Mailand": "Milan",
    "Moskau": "Moscow",
    "Neapel": "Naples",
    "Peking": "Beijing",
    "Prag": "Prague",
    "Rom": "Rome",
    "Singapur": "Singapore",
    "Tokio": "Tokyo",
    "Venedig": "Venice",
    "Warschau": "Warsaw",
    "Wien": "Vienna",
    "Zürich": "Zurich",
}
"""Cities by the names that the tool knows."""
_DAY_OFFSETS = (("übermorgen", 2), ("morgen", 1), ("gestern", -1))
_DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
_MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)


def _plain(intent_input: IntentInput) -> str:
    """Return a clause without its end mark, and without "bitte", "mir" and words of order behind the verb."""
    return _ORDER_BEHIND_VERB.sub(r"\1 ", intent_input.clause.rstrip(".!? "), count=1)


def _match_run(intent_input: IntentInput) -> PlannedCall | None:
    found = _RUN.fullmatch(intent_input.clause)
    if found is None:
        return None
    command = strip_quotes(found["command"] or found["quoted"]).strip("„“")
    return PlannedCall("system.execute", {"command": command}) if command.strip() else None


def _describe_run(result: CallResult) -> str:
    sentence = f"Ich habe `{_argument(result.call, 'command')}` ausgeführt"
    if NO_OUTPUT.fullmatch(result.text):
        return f"{sentence}; es kam keine Ausgabe."
    return f"{sentence}. Die Ausgabe:\n{format_block(result.text.removeprefix(SUCCESS_PREFIX))}"


def _match_write(intent_input: IntentInput) -> PlannedCall | None:
    found = _WRITE.fullmatch(_plain(intent_input))
    if found is None:
        return None
    is_reference = _REFERENCE.fullmatch(found["text"]) and intent_input.previous_results
    content = intent_input.previous_results if is_reference else strip_quotes(found["text"]).strip("„“")
    return PlannedCall("files.write", {"path": strip_quotes(found["path"]), "content": content})


def _match_read(intent_input: IntentInput) -> PlannedCall | None:
    found = _READ.fullmatch(_plain(intent_input))
    return PlannedCall("files.read", {"path": strip_quotes(found["path"])}) if found is not None else None


def _match_list(intent_input: IntentInput) -> PlannedCall | None:
    found = _LIST.match(_plain(intent_input))
    if found is None:
        return None
    path = found["path"] or ""
    return PlannedCall("files.list", {"path": path} if path and path.lower() not in _NOT_A_FOLDER else {})


def _describe_listing(result: CallResult) -> str:
    folder = _argument(result.call, "path", ".")
    where = "Der Ordner" if folder == "." else folder
    return f"{where} enthält:\n{format_block(format_listing(result.text))}"


def _match_fetch(intent_input: IntentInput) -> PlannedCall | None:
    clause = _plain(intent_input)
    url = extract_url(clause) if _FETCH.match(clause) and "://" in clause else None
    return PlannedCall("http.request", {"url": url}) if url is not None else None


def _match_store(intent_input: IntentInput) -> PlannedCall | None:
    found = _STORE.fullmatch(_plain(intent_input))
    if found is None or intent_input.clause.endswith("?"):
        return None
    text = to_main_clause(found["text"]) if found["that"] else strip_quotes(found["text"]).strip("„“")
    if text.lower() in ("das", "es"):
        text = intent_input.previous_results
    return PlannedCall("memory.write", {"text": capitalise(text), "category": "fact"}) if text.strip() else None


def _match_recall(intent_input: IntentInput) -> PlannedCall | None:
    clause = _plain(intent_input)
    found = _RECALL.fullmatch(clause)
    if found is None and not (_QUESTION_ABOUT_USER.match(clause) and intent_input.clause.endswith("?")):
        return None
    topic = clause if found is None else found["asked"] or found["known"] or found["sought"]
    return PlannedCall("memory.search", {"query": extract_german_query(topic)})


def _describe_recalled(result: CallResult) -> str:
    found = filter_matching_hits(result)
    if not found:
        return "Dazu steht nichts in meinem Gedächtnis."
    if len(found) == 1:
        return f"In meinem Gedächtnis steht: „{found[0].text}“."
    return "In meinem Gedächtnis steht:\n" + "\n".join(f"- „{entry.text}“" for entry in found)


def _match_forget(intent_input: IntentInput) -> PlannedCall | None:
    found = _FORGET.fullmatch(_plain(intent_input))
    query = extract_german_query(found["topic"]) if found is not None else ""
    return PlannedCall("memory.search", {"query": query}) if query else None


def _match_calculation(intent_input: IntentInput) -> PlannedCall | None:
    found = _CALCULATION.fullmatch(_plain(intent_input))
    if found is None:
        return None
    text = found["expression"]
    for pattern, replacement in _ARITHMETIC_WORDS:
        text = pattern.sub(replacement, text)
    expression = extract_expression(f"what is {text}")
    return PlannedCall("calculator", {"expression": expression}) if expression else None


def _match_time(intent_input: IntentInput) -> PlannedCall | None:
    clause = _plain(intent_input)
    if not _TIME_QUESTION.search(clause):
        return None
    place = _PLACE.search(clause)
    return PlannedCall("datetime.now", {"timezone": _CITIES.get(place[1], place[1])} if place else {})


def _describe_time(result: CallResult) -> str:
    moment = read_moment(result.text)
    if moment is None:
        return f"Die Uhr sagt: {result.text.strip()}."
    zone = _argument(result.call, "timezone", "UTC")
    for word, days in _DAY_OFFSETS:
        if word in result.clause.lower() and EARLIEST <= moment <= LATEST:
            verb = "war" if days < 0 else "ist"
            return f"{capitalise(word)} {verb} {_format_day(moment + timedelta(days=days))} ({zone})."
    if _CLOCK.search(result.clause):
        return f"Es ist {moment:%H:%M} Uhr; heute ist {_format_day(moment)} ({zone})."
    return f"Heute ist {_format_day(moment)}, {moment:%H:%M} Uhr ({zone})."


def _format_day(moment: datetime) -> str:
    return f"{_DAYS[moment.weekday()]}, der {moment.day}. {_MONTHS[moment.month - 1]} {moment.year}"


def _argument(call: PlannedCall, name: str, default: str = "") -> str:
    return str(call.arguments.get(name, default))


def _in_german(
    intent: Intent,
    match_clause: Callable[[IntentInput], PlannedCall | None],
    describe_result: Callable[[CallResult], str],
    describe_call: Callable[[PlannedCall], str],
) -> Intent:
    """Return the intent of the same tool for clauses in German."""
    return replace(
        intent, match_clause=match_clause, describe_result=describe_result, describe_call=describe_call, language="de"
    )


_RUN_COMMAND = _in_german(
    SHELL, _match_run, _describe_run, lambda call: f"den Befehl `{_argument(call, 'command')}` ausführen"
)
_WRITE_FILE = _in_german(
    WRITE_FILE,
    _match_write,
    lambda result: (
        f"Ich habe {len(_argument(result.call, 'content'))} Zeichen in {_argument(result.call, 'path')} geschrieben."
    ),
    lambda call: f"{_argument(call, 'path')} schreiben",
)
_REMEMBER = _in_german(
    REMEMBER,
    _match_store,
    lambda result: f"Ich habe notiert: „{_argument(result.call, 'text')}“.",
    lambda call: f"„{_argument(call, 'text')}“ notieren",
)
_FIND_ENTRY_TO_FORGET = _in_german(
    FIND_ENTRY_TO_FORGET,
    _match_forget,
    lambda _: "Es gibt nichts zu vergessen: dazu steht nichts in meinem Gedächtnis.",
    lambda call: f"„{_argument(call, 'query')}“ in meinem Gedächtnis suchen",
)
_FORGET_ENTRY = _in_german(
    FORGET_ENTRY,
    lambda _: None,
    lambda _: "Ich habe es vergessen.",
    lambda call: f"den Eintrag {_argument(call, 'id')} vergessen",
)
_FETCH_PAGE = _in_german(
    FETCH,
    _match_fetch,
    lambda result: f"{_argument(result.call, 'url')} hat geantwortet:\n{format_block(result.text)}",
    lambda call: f"{_argument(call, 'url')} abrufen",
)
_LIST_FILES = _in_german(
    LIST_FILES, _match_list, _describe_listing, lambda call: f"die Dateien in {_argument(call, 'path', '.')} auflisten"
)
_READ_FILE = _in_german(
    READ_FILE,
    _match_read,
    lambda result: f"In {_argument(result.call, 'path')} steht:\n{format_block(result.text)}",
    lambda call: f"{_argument(call, 'path')} lesen",
)
_ARITHMETIC = _in_german(
    ARITHMETIC,
    _match_calculation,
    lambda result: f"{expression_of(result.call)} = {result.text.strip()}.",
    lambda call: f"{expression_of(call)} berechnen",
)
_DATE_TIME = _in_german(DATE_TIME, _match_time, _describe_time, lambda _: "nach der Zeit fragen")
_RECALL_ENTRIES = _in_german(
    RECALL, _match_recall, _describe_recalled, lambda call: f"„{_argument(call, 'query')}“ in meinem Gedächtnis suchen"
)
GERMAN_INTENTS = (
    *(_RUN_COMMAND, _WRITE_FILE, _REMEMBER, _FIND_ENTRY_TO_FORGET, _FETCH_PAGE, _LIST_FILES, _READ_FILE),
    *(_ARITHMETIC, _DATE_TIME, _RECALL_ENTRIES),
)
GERMAN_BY_TOOL = {each.tool: each for each in (*GERMAN_INTENTS, _FORGET_ENTRY) if each is not _FIND_ENTRY_TO_FORGET}
