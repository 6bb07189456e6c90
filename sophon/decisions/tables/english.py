"""English patterns of the decision layer. Source: reference/wasp.md 4.8.

The first pattern of `agent` is the wish to create one.
"""

from collections.abc import Mapping
from typing import Final

PATTERNS: Final[Mapping[str, tuple[str, ...]]] = {
    "schedule": (
        r"\bevery (?:\d{1,4} )?(?:second|minute|hour|day|week|month|year)s?\b",
        r"\b(?:every|each) (?:other )?(?:morning|noon|afternoon|evening|night|weekday|weekend)"
        r"s?\b",
        r"\b(?:every|each) (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b",
        r"\b(?:hourly|daily|nightly|weekly|monthly)\b",
        r"\b(?:schedule|remind me|set (?:up )?(?:a|an) (?:reminder|alarm|timer))\b",
        r"\bonce (?:a|an|per|every) (?:hour|day|week|month)\b",
    ),
    "agent": (
        r"\b(?:create|make|build|start|launch|spawn|deploy|set up) (?:me )?(?:a |an |another )"
        r"?(?:new )?(?:\w+ ){0,2}(?:sub-?)?(?:agent|bot|assistant)s?\b",
        r"\b(?:continuously|constantly|permanently|around the clock|24/7|non-?stop|in the back"
        r"ground)\b",
        r"\bkeep (?:an eye on|watching|monitoring|tracking|checking)\b",
    ),
    "script": (
        r"\b(?:write|create|make|build|run) (?:me )?(?:a |an )?(?:\w+ ){0,2}(?:script|program|"
        r"crawler|scraper|parser)\b",
        r"\bpoll(?:s|ing)? (?:an?|the|this|that)? ?(?:\w+ ){0,2}(?:api|endpoint|url)\b",
        r"\b(?:extract|pull) (?:the |all )?(?:\w+ ){0,2}(?:data|table|rows|fields|links)\b",
        r"\b(?:data|etl|processing) pipeline\b|\bpipeline (?:that|to|for|which)\b",
        r"\b(?:scrape|scraping|crawl|crawling)\b",
        r"\bpars(?:e|es|ing) (?:the |this |that |a |an )?(?:\w+ ){0,2}(?:json|xml|csv|html|yam"
        r"l|logs?)\b",
    ),
    "chain": (
        r"\b(?:and|,) (?:then|after that|afterwards|finally)\b",
        r"\bfirst\b.{1,200}\b(?:then|second|next|after that|finally)\b",
        r"\bstep by step\b.{0,200}\b(?:and|then)\b",
    ),
    "report": (
        r"\b(?:write|create|prepare|generate|compile|produce|draft|make|build) (?:me )?(?:a |a"
        r"n |the )?(?:\w+ ){0,4}(?:report|briefing|dossier|presentation|comparison|business pl"
        r"an)\b",
        r"\b(?:report|briefing) (?:on|about)\b",
    ),
    "research": (
        r"\b(?:research|investigate|find out|look into|gather|collect|analy[sz]e)\b.{1,200}\b("
        r"?:and|then)\b.{0,60}\b(?:send|e-?mail|write|save|summari[sz]e|report|present|publish"
        r"|post|deliver|compare|tell)\b",
    ),
    "continuous": (
        r"\b(?:monitor|watch|track|follow|check on|keep track of|alert me|notify me|let me kno"
        r"w (?:if|when))\b",
    ),
}

TARGETS: Final = (
    r"\b(?:bitcoin|btc|ethereum|eth|solana|sol|dogecoin|crypto\w*|stocks?|shares|euro|doll"
    r"ar|gold|oil|index|nasdaq)\b",
    r"\b(?:prices?|website|web ?page|site|server|feed|news|weather|exchange rate|inbox|rep"
    r"ository|repo|build|ticket)\b",
)
"""What changes, and can therefore be watched."""
