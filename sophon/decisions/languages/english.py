"""English grammar of requests."""

from typing import Final

from sophon.decisions.languages.request_grammar import ADDRESS, FILE_NAME, MACHINE, Grammar, RequestWords, split_words

_FILES = (
    rf"{FILE_NAME}|files?|folders?|director(?:y|ies)|csv|json|spreadsheet|document|to-?do|todos?|(?:\w+ "
    rf")?list|notes|readme"
)
_MACHINE = (
    rf"{MACHINE}|disks?|drive|memory|processe?s?|services?|daemon|machine|computer|box|tests?|command|program|packages?"
    r"|branch|commits?|temp(?:orary)? files?|cache|network|wi-?fi|ip address|environment|battery"
)
_REMINDERS = (
    r"reminders?|schedules?|alarms?|timers?|appointments?|events?|meetings?|recurring \w+|scheduled \w+|cron ?jobs?"
)
# A word behind an article or a possessive is a noun: "the post", "my answer".
_VERB = (
    r"(?<!\bthe )(?<!\ba )(?<!\ban )(?<!\bmy )(?<!\byour )(?<!\bthis )(?<!\bhis )(?<!\bher )(?<!\bof "
    r")(?<!\blast )(?<!\bno )(?<!\bany )(?<!\bthese )"
)


def _verbs(words: str) -> str:
    return rf"{_VERB}(?:{words})"


ENGLISH: Final = Grammar(
    common=split_words(
        "the a an i you it is are was do does did what which how why who when where can could would will "
        "please to of in on at"
        " for with and or not my your me we he she they this that these those there his her its be have "
        "has had if about"
        " from by as just some any all so than then up out into much many more get"
    ),
    polite=(
        r"(?:can|could|would|will|won't) (?:you|we|u)|(?:would|do) you mind|may i (?:ask|have)|i(?:'d| "
        r"would) like|i want|i need"
        r"|(?:is it|would it be) possible|how about you|why (?:don't|not) (?:you|we)"
    ),
    questions=(
        r"what(?:'s|s)?|which|how|why|who(?:'s)?|whose|when|where(?:'s)?|is|are|was|were|does|do|did"
        r"|has|have|am|should"
    ),
    definitions=(
        r"what (?:is|are) (?:an? )?\w+\s*\??$|(?:what|how) (?:do|does) .{0,60}(?:do|mean|work)\b"
        r"|(?:explain|understand)"
    ),
    talk=(
        r"summari[sz]e|sum up|explain|describe|translate|tell|read|show|list|give|compare|say|think"
        r"|recommend|suggest|look|check|see"
        r"|find|count|review|proofread|help|answer|name|print|display|quote|paraphrase|rephrase|discuss"
        r"|brainstorm|analy[sz]e"
    ),
    light=_verbs(
        r"put|place|drop|stick|make|need|want|like|get|give|do|dump|keep|have|turn|set|take|use|add|create"
        r"|prepare|produce|move"
        r"|change|let"
    ),
    removals=_verbs(
        r"delete|remove|drop|erase|wipe|clear|clean(?: up)?|purge|kill|ditch|scrap|scratch|take|turn|get|nuke|trash"
    ),
    intervals=(
        r"every|each|daily|weekly|hourly|monthly|nightly|tomorrow|tonight|mondays?|tuesdays?"
        r"|wednesdays?|thursdays?|fridays?"
        r"|saturdays?|sundays?|in \w+ (?:minutes?|hours?|days?|weeks?)|at \d{1,2}(?::\d\d| ?[ap]m)?|o'clock"
    ),
    negations=r"don't|do not|never|without|not to|no need to|instead of|not|shouldn't|must not|rather than|nor",
    reminders=r"(?:don't|do not|never) (?:forget|hesitate)(?: to)?",
    no_longer=r"no (?:longer|more)|any ?more|stop|quit|enough",
    small_talk=r"hi|hello|hey|thanks?|thank you|thx|great|nice|cool|good|ok|okay|bye|welcome|lol|wow|morning|evening",
    references=(
        r"do (?:it|that|this|the same)|again|once more|same (?:thing|as before)|repeat|one more time"
        r"|another one"
    ),
    confirmations=(
        "yes|yep|yeah|ok|okay|sure|no|please|go ahead|do it|try again|retry|again|once more|do that|sounds good|fine"
    ),
    requests={
        "mail": RequestWords(
            _verbs(
                r"send|write|reply|forward|e-?mail|mail|respond|notify|tell(?! me\b| us\b)|inform|let \w+ "
                r"know|draft|(?:answer|message|text) \S+@\S+|(?:answer|message|text) (?:him|her|them|it|this"
                r"|that)|drop \w+ a (?:line|note|mail)"
            ),
            r"e-?mails?|mails?|messages?|repl(?:y|ies)",
        ),
        "schedule": RequestWords(
            _verbs(
                r"remind|schedule|ping me|alert|wake|nudge|notify|let me know|monitor|watch|book|resume"
                r"|unpause|plan|poke|buzz"
                r"|keep an eye"
            ),
            _REMINDERS,
        ),
        "schedule_end": RequestWords(
            _verbs(r"stop|cancel|unsubscribe|disable|pause|mute|turn off|quit|skip|end|call off"),
            rf"{_REMINDERS}|tasks?|daily \w+|weekly \w+",
        ),
        "agent": RequestWords(
            r"(?:sub-?)?agents?|bots?|assistants?|delegate|hand (?:it|this|that) (?:over|off)|in the "
            r"background|continuously"
        ),
        "goal": RequestWords(
            r"goals?|projects?|work on|achieve|objectives?|report|research|after that|step by step|then|plan"
            r"|milestones?"
        ),
        "file": RequestWords(
            _verbs(
                r"write|save|store|jot|note|record|append|add|insert|fix|correct|edit|update|change|replace"
                r"|rename|move|copy|delete"
                r"|remove|generate|draft|export|convert|create|make|log|file|overwrite|swap|substitute"
                r"|rewrite|refactor|format|sort|merge|document"
                r"|implement|code|clean up|scaffold|put"
            ),
            _FILES,
        ),
        "command": RequestWords(
            _verbs(
                r"run|execute|start|launch|install|uninstall|build|compile|test|restart|reboot|deploy"
                r"|calculate|compute|clone|pull"
                r"|push|commit|checkout|zip|unzip|unpack|decompress|tar|extract|compress|pack|archive|kill"
                r"|stop|download|upgrade|update|ping|mount"
                r"|benchmark|profile|lint|format|back up|convert|resize|chmod|tail|grep|curl"
            ),
            rf"{_MACHINE}|files?|folders?|director(?:y|ies)|{FILE_NAME}",
            rf"{_MACHINE}|folders?|director(?:y|ies)|(?:up|running|down|installed|listening|alive)\s*\?*$",
        ),
        "web": RequestWords(
            _verbs(
                r"post|send|submit|upload|call|publish|update|delete|put|patch|register|sign \w+ up|sign up"
                r"|subscribe|order|book|buy"
                r"|reserve|fill (?:in|out)|push|trigger|hit|invoke|log (?:me )?in"
            ),
            rf"{ADDRESS}|webhooks?|api|endpoint|form|request",
        ),
        "memory": RequestWords(_verbs(r"forget|delete|remove|erase|wipe|unlearn|clear|drop")),
        "remember": RequestWords(
            _verbs(
                r"remember|memori[sz]e|keep in mind|bear in mind|note|save|store|learn|take into account|make "
                r"a note|write down"
            )
        ),
    },
)
