"""Grammar of one language: the words with which people ask for actions, and those with which a reply claims them.

Patterns are written for folded text (`fold_text` of `text_preparation`): lower case, without accents. Those
of claims keep the accents, which tell tenses apart in Spanish. None has a repetition within a repetition, so that the
time of a search grows with the length of the clause only.
"""

from collections.abc import Mapping
from typing import Final

from sophon._python.lazy_dataclass import dataclass

FILE_NAME: Final = (
    r"[\w-]{1,80}\.(?:txt|md|csv|json|ya?ml|py|js|ts|sh|pdf|docx?|xlsx?|html?|toml|ini|cfg"
    r"|conf|log|sql|png|jpe?g|svg|zip)"
)
"""Name of a file, by its ending."""

ADDRESS: Final = (
    r"https?://\S{1,300}|(?:[\w-]{1,63}\.){1,4}(?:com|org|net|io|dev|app|eu|de|es|fr|uk|us|co)(?:/\S{0,300})?"
)
"""Address in the web."""

MACHINE: Final = (
    "cpu|gpu|ram|swap|docker|nginx|apache|postgres|mysql|redis|systemd|systemctl|kubernetes|kubectl|git|npm"
    "|pip|ssh|syslog"
    "|logs?|dmesg|journalctl|server|backups?|uptime|kernel|localhost|container|repo|repository|script"
)
"""Words of the machine that all four languages use."""


@dataclass(frozen=True, slots=True)
class RequestWords:
    """How one asks for the actions of a family.

    `verbs` ask by themselves, `nouns` together with a light verb ("put", "need"); a question that has one of `state`
    asks for a look at the machine.
    """

    verbs: str
    nouns: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Grammar:
    """How people ask in one language.

    `common` are function words by which the language is told. `polite` opens a question that asks for an action,
    `questions` are first words of any other. `talk` are verbs that ask for words only, `light` verbs that need a noun.
    `intervals` name a repetition or a time. `negations` stand in front of what is not to be done, `no_longer` ends what
    is done so far, `reminders` are no negations ("don't forget to"). `definitions` ask what something is in general.
    """

    common: frozenset[str]
    polite: str
    questions: str
    definitions: str
    talk: str
    light: str
    removals: str
    intervals: str
    negations: str
    reminders: str
    no_longer: str
    small_talk: str
    references: str
    confirmations: str
    requests: Mapping[str, RequestWords]


def join_forms(stems: str, endings: str = "") -> str:
    """Return the alternatives of stems, each with these endings; spaces separate them, `_` is a space within one."""
    found = "|".join(stems.split()).replace("_", " ")
    return rf"(?:{found})(?:{endings})" if endings else found


def split_words(words: str) -> frozenset[str]:
    """Return the set of the words of a text."""
    return frozenset(words.split())
