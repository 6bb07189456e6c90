"""The chain `clawft`: six stages for each model call. See docs/clawft.md."""

from sophon.chain.pipeline import Pipeline
from sophon.chain.placement import Additions, compose_with
from sophon_middlewares.chains.published_constants import CLAWFT
from sophon_middlewares.inner.agentic_loop.agentic_loop import AgenticLoop
from sophon_middlewares.inner.approval.approval import Approval
from sophon_middlewares.inner.parallel_execution import ParallelExecution
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.learning.classification import Classification
from sophon_middlewares.learning.learning import Learning
from sophon_middlewares.learning.scoring import Scoring
from sophon_middlewares.outer.budget.budget import Budget
from sophon_middlewares.outer.capability_routing.capability_routing import CapabilityRouting
from sophon_middlewares.outer.prompt_tool_bridge.prompt_tool_bridge import PromptToolBridge
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from sophon_middlewares.stages.assembler import Assembler
from sophon_middlewares.stages.chain_defaults import ChainDefaults
from sophon_middlewares.stages.model_transport import Transport


def compose_clawft(added: Additions) -> Pipeline:
    """Return the chain."""
    return compose_with(
        added,
        # once per turn
        SessionEvents(),
        *("Trace", "ReplyRedaction"),
        ChainDefaults(CLAWFT),
        "Preferences",
        Budget(),
        *("Agents", "CustomTools", "Skills", "ActionAnnouncer", "ResponseValidator", "UrlOutcomes", "DecisionLayer"),
        # the tool loop: settling passes end in ToolExecution
        AgenticLoop(),
        "Checkpoints",
        ParallelExecution(),
        *("Audit", "Redaction", "Authorization", "RateLimit", "IntentGate", "OffTheRecord", "Integrity"),
        *("InformationFlow", "Protection", "Shield", "Snapshot", "Sandbox", "Simulation"),
        Approval(),
        ToolExecution(),
        # the six stages, once for each model call; learner and scorer act on the way out
        Learning(),
        Scoring(),
        Classification(),
        CapabilityRouting(is_stage=True),
        Assembler(),
        "Memory",
        PromptToolBridge(),
        Transport(),
    )
