"""English grammar of claims."""

from typing import Final

from sophon.decisions.languages.claims.claim_grammar import FILES, SYSTEM, WEB, ClaimGrammar

_ADVERBS = (
    r"(?:(?:just|already|also|now|successfully|automatically|then|went ahead and|gone ahead and|finally|been"
    r"|all|both|safely"
    r"|quickly|carefully)\s+){0,3}"
)
_FILES = (
    rf"{FILES}|files?|folders?|director(?:y|ies)|documents? to disk|spreadsheet|config(?:uration)?(?: file)?|settings"
)
_SCHEDULES = r"reminders?|schedules?|alarms?|timers?|appointments?|scheduled tasks?|calendar|daily \w+|recurring \w+"

ENGLISH_CLAIMS: Final = ClaimGrammar(
    active=rf"\b(?:i(?:['’]ve| have)?|we(?:['’]ve| have)?)\s+{_ADVERBS}",
    passive=rf"\b(?:has been|have been|was|were|is|are|got|it['’]s|that['’]s)\s+{_ADVERBS}",
    changes=(
        r"saved|written|wrote|created|updated|deleted|moved|stored|added|appended|edited|fixed|corrected"
        r"|changed|renamed|copied|removed"
        r"|put|placed|set(?: up)?|cancel?led|erased|cleared|cleaned(?: up)?|generated|made|exported|converted"
        r"|replaced|started|launched"
        r"|stopped|configured|reloaded|enabled|disabled|activated|turned(?: on| off)?|recorded|logged|inserted"
        r"|modified|dropped"
        r"|filed|archived|noted|jotted(?: down)?|built|organi[sz]ed|merged"
    ),
    strong={
        "mail": r"sent|mailed|e-?mailed|replied|forwarded|messaged|texted|notified",
        "schedule": r"scheduled|rescheduled|reminded",
        "agent": r"delegated|spawned",
        "command": (
            r"executed|installed|uninstalled|restarted|rebooted|cloned|compiled|deployed|downloaded"
            r"|unzipped|zipped|backed up|committed|pushed"
        ),
        "web": (
            r"posted|uploaded|published|submitted|subscribed|unsubscribed|booked|ordered|purchased"
            r"|reserved|signed \w+ up"
        ),
        "memory": r"forgotten|remembered|memori[sz]ed",
    },
    nouns={
        "mail": r"e-?mails?|mails?|messages?|repl(?:y|ies)|notifications?|photos?|pictures?",
        "schedule": _SCHEDULES,
        "agent": r"(?:sub-?)?agents?|bots?",
        "goal": r"goals?",
        "file": _FILES,
        "command": (
            rf"{SYSTEM}|services?|packages?|commands?|scripts?|tests?|program|processe?s?|database"
            rf"|branch|commits?|backup|lights?|lamps?|heating|thermostat|tv|doors?"
        ),
        "memory": r"(?:my|from|in|to) memor(?:y|ies)",
        "web": rf"{WEB}|form|orders?|bookings?|account",
    },
    lookups=r"checked|looked|searched|googled|browsed|queried|fetched|visited|verified|pinged|measured|ran|run",
    sources=(
        rf"{SYSTEM}|{WEB}|web|internet|online|net|google|disks?|memory usage|cpu|ram|tests?|commands?|scripts?"
        rf"|database|processe?s?"
        r"|site|website|just now|calendar|inbox"
    ),
    states=(
        r"(?:is|are)\s+(?:now\s+|all\s+)?(?:gone|active|live|up and running|in place|scheduled)|went out"
        r"|(?:is|are) on (?:its|the|their) way"
    ),
    located=r"(?:is|are)\s+(?:now\s+)?(?:saved |stored |waiting )?(?:in|at|under|on|inside)\s",
    promises=(
        r"i(?:['’]ll| will)\s+(?:remind|ping|alert|wake|message|nudge"
        r"|notify)\s+you\b.{0,60}?\b(?:tomorrow|every|tonight|at \d|in \w+ (?:minutes?|hours?|days?)|daily|on \w+day)"
    ),
    done=r"done|all set|all done|finished|completed?|ready|success(?:fully)?|there you go|it['’]s done",
    agreed=r"sure(?: thing)?|ok(?:ay)?|great|got it|perfect|alright|good news|of course|certainly",
    now=r"now",
    text_work=(
        r"below|above|here(?:['’]s| is| are)?|following|this (?:message|reply|answer)|your (?:text"
        r"|paragraph|sentence|draft|code|essay)"
    ),
    hypothetical=r"if|once|when|after|unless|whenever|as soon as|suppose|imagine|before|until|make sure|ensure",
    earlier=(
        r"earlier|yesterday|last (?:time|week|month|night|year)|previously|before|you (?:said|told"
        r"|mentioned|asked)|in \d{4}|ago by"
    ),
    agents=r"by\s+(?!me\b)",
)
