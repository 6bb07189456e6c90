"""Autonomy of a goal: which calls of its steps need a person, and the promotion of dangerous tools.

====== ===== ===== ====== ===== ========
mode   none  low   medium high  critical
====== ===== ===== ====== ===== ========
Assist asks  asks  asks   asks  asks
Semi   runs  runs  runs   asks  asks
Full   runs  runs  runs   runs  asks
====== ===== ===== ====== ===== ========

Source: WASP, goal engine. The table is `sophon.settings.autonomy`, which a host may set for all turns.
"""

from typing import Final, Literal, TypeAlias

from sophon.extensions import Key
from sophon.risk import Risk
from sophon.settings.autonomy import AUTONOMY, DANGEROUS_TOOLS

Autonomy: TypeAlias = Literal["Assist", "Semi", "Full"]
AUTONOMIES: Final[tuple[Autonomy, ...]] = ("Assist", "Semi", "Full")
"""The modes; each lets more run unasked than the one before."""

GOAL_AUTONOMY: Key[Autonomy] = Key("goals.autonomy", dump=str, load=lambda name: parse_autonomy(name))
"""Set on the turns of a goal's steps: its mode, besides the settings of the host."""


def parse_autonomy(name: str) -> Autonomy:
    """Return the mode of a name in any case. Raises ValueError."""
    for mode in AUTONOMIES:
        if mode.casefold() == name.casefold():
            return mode
    raise ValueError(f"{name!r} is no autonomy mode; use assist, semi or full")


def limit_autonomy(wanted: Autonomy, most: Autonomy) -> Autonomy:
    """Return the mode that lets less run unasked."""
    return AUTONOMIES[min(AUTONOMIES.index(wanted), AUTONOMIES.index(most))]


def requires_confirmation(mode: Autonomy, risk: Risk) -> bool:
    """Return whether a person is asked about a call of this risk. Critical ones always are."""
    asks_from, up_to = AUTONOMY[mode]["ask_from"], AUTONOMY[mode]["auto_approve_up_to"]
    assert asks_from is not None
    if risk >= Risk.CRITICAL:
        return True
    return risk >= Risk.parse(asks_from) and (up_to is None or risk > Risk.parse(up_to))


def promote_risk(tool: str, risk: Risk) -> Risk:
    """Return the risk of a tool's calls in a goal: that of a tool with a dangerous name is High at least."""
    return max(risk, Risk.HIGH) if tool in DANGEROUS_TOOLS else risk
