"""Published constants of the chains, as the settings that stand for them; docs/chains.md names the source of each.

They are defaults: what a host sets itself wins.
"""

from typing import Final

from sophon_middlewares.stages.chain_defaults import Defaults

CLAWDESK: Final[Defaults] = {
    "agent_execution": {"max_tool_iterations": 10},
    "context_window": {"history_messages": 50, "history_tokens": 8000, "reserve": 8192, "trigger": 0.8},
    "failover": {"rate_limit_waits": 1},
    # eight entries of the greatest length; the rest of the window limits it, too
    "memory": {"embedder": "Embeddings", "prompt_tokens": 8000},
    "skills": {"instructions": "Selected"},
}
OPENPARALLAX: Final[Defaults] = {
    "agent_execution": {"max_tool_iterations": 25, "title_from_messages": 6},
    "approval": {"questions_per_hour": 10},
    "guards": {
        "information_flow": {"mode": "Enforce"},
        "rate_limit": {"person_calls_per_minute": 30},
        "shield": {"tier": 2},
    },
    "context_window": {
        "trigger": 0.7,
        "oldest": 0.3,
        "fallback": 0.7,
        "stale_result_turns": 4,
        "stale_result_step": 2,
        "reserve": 4096,
    },
    "memory": {"embedder": "Embeddings", "flush_to": "File"},
}
CLAWFT: Final[Defaults] = {
    "agent_execution": {"max_tool_iterations": 20},
    "tools": {"max_result_characters": 65_536},
}
WASP: Final[Defaults] = {
    "agent_execution": {"max_tool_iterations": 12},
    "agents": {"worker": True},
    "decisions": {"enabled": True},
    "goals": {"enabled": True},
    "guards": {"intent_gate": {"on_doubt": "Refuse"}},
    "routing": {"strategy": "Capability"},
}
DEFAULTS: Final[dict[str, Defaults]] = {
    "clawdesk": CLAWDESK,
    "clawft": CLAWFT,
    "openparallax": OPENPARALLAX,
    "twelve": {},
    "wasp": WASP,
}
"""The constants by the name of the chain."""
