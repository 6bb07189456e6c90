"""German grammar of claims: the participle stands at the end."""

from typing import Final

from sophon.decisions.languages.claims.claim_grammar import FILES, SYSTEM, WEB, ClaimGrammar, gap

_GAP = gap("nicht", r"kein\w*", "nie", "nichts", "noch", "du", "er", "sie", most=10)

GERMAN_CLAIMS: Final = ClaimGrammar(
    active=rf"(?:\bich\s+habe?\s+|\bhabe?\s+ich\s+|^hab(?:e)?\s+|\bwir\s+haben\s+){_GAP}",
    passive=rf"\b(?:wurden?|ist|sind|worden)\s+{_GAP}",
    changes=(
        r"(?:ab|ein)?gespeichert|geschrieben|aufgeschrieben|angelegt|abgelegt|erstellt|erzeugt|geändert"
        r"|korrigiert|aktualisiert|ergänzt|hinzugefügt"
        r"|angehängt|eingetragen|notiert|gelöscht|entfernt|verschoben|umbenannt|kopiert|exportiert"
        r"|konvertiert|umgewandelt|generiert|ersetzt"
        r"|gelegt|gesetzt|gestellt|eingestellt|eingerichtet|konfiguriert|gestoppt|beendet|abgesagt|storniert"
        r"|gestartet|deaktiviert|aktiviert|aufgeräumt"
        r"|neu geladen|behoben|protokolliert|hinterlegt|gepackt|sortiert|festgehalten|abgeschaltet"
        r"|ausgeschaltet|eingeschaltet|bearbeitet|gebaut"
    ),
    strong={
        "mail": (
            r"(?:ab|zu|ver|raus)?geschickt|verschickt|versandt|(?:ver)?gesendet|versendet|weitergeleitet"
            r"|gemailt|geantwortet|benachrichtigt|rausgegangen"
        ),
        "schedule": r"eingeplant|geplant|terminiert",
        "agent": r"delegiert|beauftragt",
        "command": (
            r"ausgeführt|(?:de)?installiert|neu ?gestartet|kompiliert|geklont|heruntergeladen|entpackt"
            r"|komprimiert|laufen lassen|ausgerollt|hochgefahren"
        ),
        "web": (
            r"hochgeladen|veröffentlicht|gepostet|abgeschickt|bestellt|gebucht|reserviert|angemeldet"
            r"|registriert|gekauft|abonniert"
        ),
        "memory": r"gemerkt|vergessen",
    },
    nouns={
        "mail": r"e-?mails?|mails?|nachricht(?:en)?|antwort(?:en)?|benachrichtigung(?:en)?|fotos?|bild(?:er)?",
        "schedule": (
            r"erinnerung(?:en)?|wecker|alarm|termine?|zeitpl[aä]ne?|timer|kalender|(?:tägliche"
            r"|geplante|wöchentliche)\w* \w+"
        ),
        "agent": r"(?:sub-?)?agent(?:en)?|bots?",
        "goal": r"ziele?",
        "file": rf"{FILES}|\w{{0,20}}datei(?:en)?|ordner|verzeichnis(?:se)?|archiv|konfiguration|einstellungen",
        "command": (
            rf"{SYSTEM}|\w{{0,20}}server|\w{{0,20}}dienst|pakete?|befehle?|skripte?|tests?|programm"
            rf"|prozesse?|datenbank|zweig|sicherung|licht|lampen?|heizung|fernseher|tür"
        ),
        "memory": r"gedächtnis|speicher|mir gemerkt",
        "web": rf"{WEB}|formular|bestellung|buchung|konto",
    },
    lookups=(
        r"nachgesehen|nachgeschaut|geprüft|überprüft|gesucht|recherchiert|gegoogelt|abgefragt|gemessen"
        r"|abgerufen|nachgeschlagen|laufen lassen"
    ),
    sources=(
        rf"{SYSTEM}|{WEB}|netz|internet|web|google|online|\w{{0,20}}platte|cpu|ram|tests?|befehl|skript"
        rf"|datenbank|prozesse?|seite|kalender|postfach"
    ),
    states=(
        r"(?:ist|sind|läuft|laufen)\s+(?:jetzt\s+|nun\s+|schon\s+)?(?:weg|aktiv|scharf|live|fertig "
        r"eingerichtet|unterwegs)|ging raus|steht jetzt"
    ),
    located=r"(?:ist|sind|steht|stehen|liegt|liegen)\s+(?:jetzt\s+|nun\s+)?(?:in|unter|im|als|auf|bei)\s",
    promises=(
        r"(?:ich\s+(?:melde|erinnere|wecke|benachrichtige|schreibe)\s+(?:mich|dich|dir)\b|(?:melde"
        r"|erinnere|wecke)\s+ich\s+(?:mich|dich)\b).{0,60}?\b(?:morgen|jeden|um \d|in \w+ (?:minuten|stunden"
        r"|tagen)|täglich)"
    ),
    done=r"fertig|erledigt|gemacht|geschafft|abgeschlossen|erfolgreich|alles bereit",
    agreed=r"alles klar|klar(?: doch)?|ok(?:ay)?|gern(?:e)?|perfekt|prima|super|natürlich",
    now=r"jetzt|nun|ab sofort",
    text_work=(
        r"unten|oben|hier|folgend\w*|(?:diese[rnms]?|deine[rnms]?|dein) (?:nachricht|antwort|text"
        r"|absatz|entwurf|code)"
    ),
    hypothetical=r"wenn|sobald|falls|nachdem|bevor|bis|angenommen|stell sicher",
    earlier=(
        r"gestern|vorhin|früher|letztes mal|letzte woche|zuvor|du (?:hast|sagtest|meintest)|hast du|im "
        r"jahr \d{4}|bereits früher"
    ),
    agents=r"(?:von|durch)\s+(?!mir\b|mich\b)",
    bare_words=4,
)
