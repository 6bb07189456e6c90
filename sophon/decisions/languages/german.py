"""German grammar of requests; accents are folded: `ä` is `a`, `ß` is `ss`."""

from typing import Final

from sophon.decisions.languages.request_grammar import (
    ADDRESS,
    FILE_NAME,
    MACHINE,
    Grammar,
    RequestWords,
    join_forms,
    split_words,
)

_FILES = (
    rf"{FILE_NAME}|\w{{0,20}}datei(?:en)?|ordner|verzeichnis|csv|json|tabelle|dokument|\w{{0,20}}liste"
    rf"|notizen|skript|script"
)
_MACHINE = (
    rf"{MACHINE}|festplatten?|platte|speicher(?:platz)?|arbeitsspeicher|prozesse?|diens?te?|rechner|maschine"
    rf"|computer|kiste|tests?"
    r"|befehl|kommando|programm|pakete?|zweig|temporare\w*|cache|netzwerk|protokoll|\w{1,20}dienst|\w{0,20}server"
)
_REMINDERS = (
    r"erinnerung(?:en)?|wecker|alarm|termine?|zeitplane?|timer|meldung(?:en)?|besprechung|geplante "
    r"\w+|benachrichtigung(?:en)?"
)


def _weak(stems: str) -> str:
    return join_forms(stems, r"|e|en|n|t")


GERMAN: Final = Grammar(
    common=split_words(
        "der die das den dem des ein eine einen einem einer und oder ich du er sie es wir ihr ist sind "
        "war hat habe haben mir mich"
        " dir dich mein meine meinen meiner dein deine nicht kein keine was wie wer wo wann warum welche "
        "welcher welches zu zum"
        " zur in im auf aus an am bei mit von vom fur uber bitte kannst konntest wurdest mal noch jetzt "
        "danke hallo alle jeden"
        " jede jeder gerade so ja nein geht diese dieses diesen dass bin um ans"
    ),
    polite=(
        r"(?:kannst|konntest|wurdest|magst|willst|konnen|konnten|wurden) (?:du|sie|wir)|ich (?:brauche"
        r"|brauch|mochte|hatte gern\w*|will)"
        r"|ware es moglich|mir ware lieb|\w{2,20}st du (?:mir|uns|das|es|bitte|mal)"
    ),
    questions=(
        r"was|wie|wer|wen|wem|wessen|wo|wohin|woher|wann|warum|wieso|weshalb|welche[rsmn]?|ist|sind|hat"
        r"|haben|lauft|gibt|bist"
        r"|hast|kann|darf|wozu"
    ),
    definitions=(
        r"was (?:ist|sind) (?:eine? )?\w+\s*\??$|was (?:macht|bedeutet|heisst|tut)\b|wie "
        r"funktionier\w+|wozu dient"
    ),
    talk="|".join(
        [
            _weak("erklar erzahl ubersetz zeig sag nenn beschreib vergleich empfehl zahl pruf schau such analysier"),
            r"lies|lesen|lest|gib|geben|fass(?:e|en)?|zusammenfassen|sieh|empfiehl|hilf|beantworte|liste|schau",
        ]
    ),
    light="|".join(
        [
            _weak("mach leg stell brauch setz pack tu hol nutz"),
            r"mochte|will|gib|nimm|lass|lasse|hatte .{0,40}gern\w*|schieb",
        ]
    ),
    removals="|".join([_weak("losch entfern streich raum"), r"nimm|nehmen|schmeiss|wirf|leere"]),
    intervals=(
        r"jede[nrsm]?|taglich\w*|wochentlich\w*|stundlich\w*|monatlich\w*|morgen|ubermorgen|heute abend"
        r"|montags?|dienstags?"
        r"|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?|in \w+ (?:minuten?|stunden?|tagen?|wochen?)|um "
        r"\d{1,2}|\d{1,2} uhr"
    ),
    negations=r"nicht|nie|niemals|kein\w{0,2}|ohne|statt|anstatt",
    reminders=r"(?:vergiss|vergesst|vergessen sie) (?:bitte )?(?:nicht|nie)",
    no_longer=r"nicht mehr|keine? \w+ mehr|hor\w* auf|nie mehr|schluss mit",
    small_talk=r"hallo|hi|hey|danke\w*|super|toll|prima|gut|ok|okay|tschuss|moin|servus|guten \w+|alles klar",
    references=(
        r"(?:mach|tu) (?:es|das|dasselbe)(?: noch\s?mal| wieder)?|noch ?mals?|noch einmal|wiederhol\w*"
        r"|dasselbe|das gleiche|noch eine?[nsr]?"
    ),
    confirmations=(
        "ja|jep|ok|okay|klar|gern|gerne|bitte|mach das|mach es|tu das|nochmal|noch mal|noch einmal"
        "|einverstanden|genau|passt|nein"
    ),
    requests={
        "mail": RequestWords(
            "|".join(
                [
                    _weak("schick send schreib antwort mail verschick versend informier benachrichtig beantwort"),
                    r"leite|weiterleiten|gib \w+ bescheid|sag \w+ bescheid",
                ]
            ),
            r"e-?mails?|mails?|nachricht(?:en)?|antwort",
        ),
        "schedule": RequestWords(
            "|".join(
                [
                    _weak("erinner plan weck benachrichtig uberwach beobacht buch"),
                    r"meld dich|melde dich|bescheid|warn mich|behalt\w* .{1,40}im auge|wieder aufnehmen"
                    r"|setz\w* .{1,40}fort",
                ]
            ),
            _REMINDERS,
        ),
        "schedule_end": RequestWords(
            "|".join(
                [
                    _weak("stopp beend pausier deaktivier abbestell storniere stornier"),
                    r"brich|abbrechen|stell\w* .{1,40} ab|sag\w* .{1,40} ab",
                ]
            ),
            rf"{_REMINDERS}|aufgaben?|tagliche\w* \w+",
        ),
        "agent": RequestWords(r"(?:sub-?)?agent(?:en)?|bots?|assistent(?:en)?|delegier\w*|im hintergrund|dauerhaft"),
        "goal": RequestWords(
            r"ziele?|projekte?|arbeite an|recherchier\w*|bericht|danach|anschliessend|schritt fur schritt|plan"
        ),
        "file": RequestWords(
            "|".join(
                [
                    _weak(
                        "speicher schreib notier erstell erzeug ander korrigier aktualisier erganz kopier "
                        "losch entfern verschieb"
                        " benenn exportier konvertier generier verfass hang hang bearbeit ersetz sortier "
                        "protokollier verbesser"
                        " formatier formulier programmier dokumentier sicher leg trag"
                    ),
                    r"aufschreiben|anlegen|ablegen|hinzufugen|fug(?:e|t)?|anhangen|eintragen|abspeichern"
                    r"|umbenennen|umwandeln|wandle"
                    r"|merke? (?:in|unter)|halte? .{1,60} fest|festhalten|beheb\w*|abandern|schreib\w*",
                ]
            ),
            _FILES,
        ),
        "command": RequestWords(
            "|".join(
                [
                    _weak(
                        "start install installier deinstallier kompilier bau test berechn rechn klon "
                        "komprimier entpack stopp beend"
                        " mess aktualisier ping mount"
                    ),
                    r"fuhre? .{1,80} aus|ausfuhren|lass(?:e|en)? .{1,60} laufen|laufen lassen|packe? .{1,60} "
                    r"(?:zusammen|ein|aus)"
                    r"|lade? .{1,60} (?:herunter|runter)|herunterladen|neu ?starten|spiel\w* .{1,60} ein"
                    r"|fahr\w* .{1,60} (?:hoch|runter)"
                    r"|kille?|roll\w* .{1,40} aus|zippen?|packen",
                ]
            ),
            rf"{_MACHINE}|\w{{0,20}}datei(?:en)?|ordner|verzeichnis|{FILE_NAME}",
            rf"{_MACHINE}|lauft|(?:installiert|erreichbar|online)\s*\?*$|ordner|verzeichnis",
        ),
        "web": RequestWords(
            "|".join(
                [
                    _weak(
                        "schick send post veroffentlich ubermittl registrier bestell buch reservier kauf "
                        "abonnier aktualisier losch"
                    ),
                    r"lade? .{1,60} hoch|hochladen|trage? .{1,60} ein|eintragen|melde? .{1,60} an|anmelden"
                    r"|rufe? .{1,60} auf"
                    r"|fulle? .{1,60} aus|ausfullen|reiche? .{1,60} ein",
                ]
            ),
            rf"{ADDRESS}|webhooks?|api|endpunkt|formular|anfrage",
        ),
        "memory": RequestWords(rf"{_weak('losch entfern streich')}|vergiss|vergessen|vergesst"),
        "remember": RequestWords(
            rf"merke? dir|merken|{_weak('notier speicher')}|behalte?|denke? (?:bitte )?(?:dran|daran)|beachte"
            rf"|berucksichtige|schreib\w* dir auf"
        ),
    },
)
