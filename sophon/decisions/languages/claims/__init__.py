"""Claims of replies, by language."""

from collections.abc import Mapping
from typing import Final

from sophon.decisions.languages.claims.claim_grammar import ClaimGrammar
from sophon.decisions.languages.claims.english import ENGLISH_CLAIMS
from sophon.decisions.languages.claims.french import FRENCH_CLAIMS
from sophon.decisions.languages.claims.german import GERMAN_CLAIMS
from sophon.decisions.languages.claims.spanish import SPANISH_CLAIMS

CLAIM_GRAMMARS: Final[Mapping[str, ClaimGrammar]] = {
    "en": ENGLISH_CLAIMS,
    "es": SPANISH_CLAIMS,
    "de": GERMAN_CLAIMS,
    "fr": FRENCH_CLAIMS,
}
"""The grammars by language code."""
