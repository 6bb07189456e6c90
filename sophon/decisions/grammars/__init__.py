"""Grammars of the decision layer, one per language."""

from collections.abc import Mapping
from typing import Final

from sophon.decisions.grammars import english, spanish
from sophon.decisions.message_grammar import Grammar

GRAMMARS: Final[Mapping[str, Grammar]] = {
    "en": Grammar(english.GRAMMAR, "en"),
    "es": Grammar(spanish.GRAMMAR, "es"),
}
"""The grammars by language code."""
