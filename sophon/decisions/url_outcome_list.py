"""Outcomes of several addresses: what became of each one that a turn called. Source: WASP, policy guards."""

from collections.abc import Mapping, Sequence
from typing import Final

from sophon.decisions.actions_taken import Action

URL_ARGUMENTS: Final = ("url", "address", "link", "page")
MIN_URLS: Final = 2
"""Addresses from which each has its outcome in the reply."""


def collect_url_outcomes(actions: Sequence[Action]) -> Mapping[str, Action]:
    """Return the last call of each address, in the order of first calls; empty for fewer than MIN_URLS."""
    found: dict[str, Action] = {}
    for action in actions:
        url = next((action.arguments[name] for name in URL_ARGUMENTS if name in action.arguments), None)
        if isinstance(url, str) and url.strip():
            found[url.strip()] = action
    return found if len(found) >= MIN_URLS else {}


def add_url_outcomes(text: str, outcomes: Mapping[str, Action]) -> str:
    """Return the reply with the outcome of each address, if one of them was not read; otherwise as it is."""
    if all(action.outcome == "done" for action in outcomes.values()):
        return text
    lines = [
        f"- {url}: {action.outcome}{f' ({action.detail})' if action.outcome != 'done' and action.detail else ''}"
        for url, action in outcomes.items()
    ]
    return "\n".join([text.rstrip(), "", "Addresses:", *lines]) if text.strip() else text
