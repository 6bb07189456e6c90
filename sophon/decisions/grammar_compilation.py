"""Compilation of the grammars before the first message, which would wait a quarter of a second for it."""

from collections.abc import Sequence
from typing import Final

from sophon.decisions.action_claim_correction import announce
from sophon.decisions.fast_paths.families import FastPathFamily
from sophon.decisions.fast_paths.fast_paths import find_family
from sophon.decisions.intent_check import judge_intent
from sophon.decisions.work_strategy import decide

_NOTHING: Final = "Good evening to all of you"
"""A text that no pattern knows, so that each is tried: a pattern is compiled when it is."""


def compile_grammars(families: Sequence[FastPathFamily]) -> None:
    """Compile what the decisions, the intent gate and the announcer ask of every message."""
    decide(_NOTHING)
    find_family(_NOTHING, families)
    judge_intent("a.tool", {}, [_NOTHING])
    announce(_NOTHING, ())
