"""Published constants of the chains, as the settings that stand for them; docs/chains.md names the source of each.

They are defaults: what a host sets itself wins.
"""

from typing import Final

from sophon_middlewares.outer.chain_defaults import Defaults

CLAWDESK: Final[Defaults] = {
    "agent_execution": {
        "max_tool_iterations": 10,
        "loop_detection": {
            "window": 16,
            "repeat_warning": 3,
            "repeat_critical": 5,
            "repeat_breaker": 8,
            "poll_warning": 3,
            "poll_critical": 5,
            "ping_pong_window": 8,
            "ping_pong_critical": 8,
        },
    },
    "context_window": {"history_messages": 50, "history_tokens": 8000, "reserve": 8192, "trigger": 0.8},
    "failover": {"rate_limit_waits": 1},
}
OPENPARALLAX: Final[Defaults] = {
    "agent_execution": {"max_tool_iterations": 25, "title_from_messages": 6},
    "context_window": {"trigger": 0.7, "oldest": 0.3, "fallback": 0.7, "stale_result_turns": 4, "reserve": 4096},
}
CLAWFT: Final[Defaults] = {
    "agent_execution": {"max_tool_iterations": 20},
    "tools": {"max_result_characters": 65_536},
}
WASP: Final[Defaults] = {
    "agent_execution": {"max_tool_iterations": 12},
    "guards": {"intent_gate": {"on_doubt": "Refuse"}},
}
DEFAULTS: Final[dict[str, Defaults]] = {
    "clawdesk": CLAWDESK,
    "clawft": CLAWFT,
    "openparallax": OPENPARALLAX,
    "twelve": {},
    "wasp": WASP,
}
"""The constants by the name of the chain."""
