"""Words by which the factors of complexity judge a prompt, in English, German, Spanish and French."""

from collections.abc import Mapping
from typing import Final

TECHNICAL: Final = frozenset(
    {
        *("api", "async", "audit", "cache", "cloud", "cluster", "codec", "compiler", "cpu", "database", "deadlock"),
        *("encoder", "gradient", "hash", "index", "inference", "integral", "kernel", "latency", "liability", "matrix"),
        *("mutex", "oauth", "parser", "pipeline", "proof", "protocol", "query", "queue", "recursion", "regression"),
        *("schema", "security", "shard", "statute", "tensor", "theorem", "thread", "variance"),
    }
)
"""Short words of a field; longer ones count by their length."""

INDEFINITE: Final = frozenset(
    {
        *("something", "somehow", "somewhere", "anything", "stuff", "thing", "things", "maybe", "perhaps", "etc"),
        *("whatever", "irgendwie", "irgendwas", "algo", "cosas", "quelque", "truc"),
    }
)
EVALUATIVE: Final = frozenset(("good", "better", "nice", "nicer", "gut", "besser", "schön", "mejor", "bonito", "mieux"))
PRONOUNS: Final = frozenset(("it", "this", "that", "they", "them", "those", "these", "es", "das", "lo", "eso", "ça"))

REASONING_WORDS: Final = frozenset(
    {
        *(
            "bound",
            "bounds",
            "cause",
            "causes",
            "flaw",
            "plan",
            "plans",
            "planning",
            "prove",
            "proves",
            "rank",
            "weigh",
        ),
        *("why", "risk", "risks", "warum", "weshalb", "causa", "causas", "risiko", "risiken", "pourquoi", "risques"),
    }
)

STEM_START: Final = 4
"""Letters by which a word finds its stems."""

_STEMS: Final = (
    *("analy", "anali", "architec", "architek", "arquitec", "argue", "argum", "assess", "assum", "beweis", "bewert"),
    *("begründ", "compar", "conclu", "consequen", "critiq", "critici", "debug", "deduc", "deriv", "design", "diagno"),
    *("diseñ", "disting", "entwerf", "entwirf", "entwick", "estimat", "estrateg", "evalu", "eviden", "évalu"),
    *("experim", "generali", "hypoth", "hipót", "implement", "implic", "implik", "interpret", "investig", "justif"),
    *("methodol", "mitigat", "optimi", "optimier", "priorit", "proof", "propos", "prüf", "reason", "recommend"),
    *(
        "reconcil",
        "refactor",
        "refut",
        "restruct",
        "review",
        "rewrit",
        "secur",
        "segur",
        "sécur",
        "sicher",
        "simulat",
        "specif",
        "stratég",
    ),
    *("strateg", "trade", "ursach", "untersuch", "vergleich", "verif", "vorschlag", "vulnerab"),
)


def _group_stems() -> Mapping[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for stem in _STEMS:
        groups.setdefault(stem[:STEM_START], []).append(stem)
    return {start: tuple(stems) for start, stems in groups.items()}


REASONING_STEMS: Final = _group_stems()
"""Beginnings of words that ask for reasoning, by their first `STEM_START` letters."""
