"""Normalisation of tool results for loop detection: what changes from call to call without any progress is masked."""

import re

from sophon._python.lazy_pattern import lazy_pattern

MASK = "…"

_VOLATILE = lazy_pattern(
    r"""
    \b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b                        # UUID
    | \b\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?  # ISO 8601
    | \b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[ap]m)?\b                                 # time of day, duration
    | \b\d+(?:[.,]\d+)?\s?(?:ns|us|µs|ms|s|sec|seconds?|minutes?)\b                         # duration
    | \b\d{10,}(?:\.\d+)?\b                                                                 # Unix time, long id
    | \b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b                                     # hash
    | \b(?:attempt|call|count|counter|id|iteration|nonce|pid|poll|request|retry|run|seq|sequence|tick|try|visits?)
      (?:[_ ]?(?:count|id|no|number|nr))?["']?\s?[:=\#]?\s?["']?\d+\b                          # counter, numbered id
    | (?<![\w\#])\#\d+\b                                                                       # number such as #17
    """,
    re.VERBOSE | re.IGNORECASE,
)


def mask_ids_and_times(text: str) -> str:
    """Return a result with UUIDs, hashes, long numbers, dates, times, durations and labelled counters masked.

    The loop detector compares results so, unless the tool has its own `normalize_result` or declares that it `polls`.
    """
    return _VOLATILE.sub(MASK, text)
