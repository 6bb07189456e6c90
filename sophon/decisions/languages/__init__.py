"""Languages in which people ask for actions and replies claim them: English, Spanish, German and French."""

from collections.abc import Mapping
from typing import Final

from sophon.decisions.languages.english import ENGLISH
from sophon.decisions.languages.french import FRENCH
from sophon.decisions.languages.german import GERMAN
from sophon.decisions.languages.request_grammar import Grammar
from sophon.decisions.languages.spanish import SPANISH

GRAMMARS: Final[Mapping[str, Grammar]] = {"en": ENGLISH, "es": SPANISH, "de": GERMAN, "fr": FRENCH}
"""The grammars by language code."""
