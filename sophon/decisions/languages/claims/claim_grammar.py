"""Grammar of claims: how a reply in one language says that something has been done.

Patterns are for text in lower case with its accents, which tell `guarde` (a wish) from `guardé` (a claim).
"""

from collections.abc import Mapping
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.decisions.languages.request_grammar import ADDRESS, FILE_NAME

FILES: Final = rf"{FILE_NAME}|pdfs?|csvs?"
SYSTEM: Final = (
    "server|nginx|apache|docker|postgres|mysql|redis|webhook|repository|repo|container|cron|backup|df|git|numpy|logs?"
)
WEB: Final = ADDRESS


@dataclass(frozen=True, slots=True)
class ClaimGrammar:
    """How one language claims work.

    `active` is what stands in front of the verb of somebody who did it ("I have just"), `passive` what stands between a
    thing and the verb ("has been"); both end with white space. `changes` are verbs that claim work only of a thing in
    `nouns`; those of `strong` name their kind by themselves. `lookups` are verbs of reading that need a noun of
    `sources`. `states` and `located` say how a thing is now, `promises` what will come by itself. `done`
    opens a claim, `agreed` one of a state that `now` marks as new; between a thing at the beginning and its bare
    participle ("email sent") stand at most `bare_words` words. `text_work` is work that the reply itself is,
    `hypothetical` begins what is none.
    `earlier` refers to a turn before, `agents` names somebody else who did it.
    """

    active: str
    passive: str
    changes: str
    strong: Mapping[str, str]
    nouns: Mapping[str, str]
    lookups: str
    sources: str
    states: str
    located: str
    promises: str
    done: str
    agreed: str
    now: str
    text_work: str
    hypothetical: str
    earlier: str
    agents: str
    bare_words: int = 0


def gap(*negations: str, most: int = 8) -> str:
    """Return words that may stand between two parts of a claim: none of these, which would make it none."""
    return rf"(?:(?!(?:{'|'.join(negations)})\b)\S+\s+){{0,{most}}}?"
