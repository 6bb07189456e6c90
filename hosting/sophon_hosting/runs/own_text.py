"""Own text of a run: what its owner wrote, and what they only passed on.

A message may quote or forward the words of others. They are part of the turn's text, but they say nothing about the
owner, and what a model writes after reading a forwarded text may come from that.
"""

from sophon_hosting.store.runs.contract import Run

OWN_TEXT = "own_text"
"""Key, in `Run.origin`, of the part of the text that the owner wrote; missing if that is all of it."""

FOREIGN_SOURCES = "foreign_sources"
"""Key, in `Run.origin`, of the sources of the text that others wrote; see `sophon.turn.provenance`."""

PIECES = "pieces"
"""Key, in `Run.origin`, of the messages that the run's message was merged from; missing if it was one."""

FORWARDED_MESSAGE = "forwarded message"
"""Source of a text that was forwarded."""

QUOTED_MESSAGE = "quoted message"
"""Source of a text that was quoted, and that neither the owner nor the assistant wrote."""

GROUP_HISTORY = "group history"
"""Source of what was written in a group before a message to the assistant."""


def own_text_of_run(run: Run) -> str:
    """Return what the owner of the run wrote in it; "" if nothing."""
    return str(run.origin.get(OWN_TEXT, run.text))


def holds_words_of_others(run: Run) -> bool:
    """Return whether the text of the run has more than its owner wrote: what they quoted or forwarded."""
    return own_text_of_run(run).strip() != run.text.strip()
