"""The states of one sub-agent: as events, and as its row in the ledger."""

import logging

from sophon.context import Context
from sophon.errors import StoreError
from sophon.events import AgentState, SubAgentChanged
from sophon.failure_log import log_failure
from sophon.stores.sub_agents.contract import FINAL_STATES, SubAgentRun
from sophon.turn_agent import find_agent_depth
from sophon.visible_text import render_for_person

log = logging.getLogger("sophon.agents")

MAX_TASK_CHARACTERS = 200
"""Characters of a task in events and in the ledger."""

MAX_DETAIL_CHARACTERS = 1000


class SubAgentReport:
    """Reports the states of a sub-agent. What the store refuses is logged: the ledger is no part of the work."""

    def __init__(self, child: Context, parent: Context, agent: str, task: str, call_id: str) -> None:
        self._child, self._parent_id, self._agent, self._call_id = child, parent.run_id, agent, call_id
        self._task = render_for_person(_redact(parent, task), MAX_TASK_CHARACTERS)
        self._depth = find_agent_depth(child)
        self._created_at = child.services.clock.now()

    async def __call__(self, state: AgentState, detail: str = "") -> None:
        """Report a state."""
        child = self._child
        detail = _redact(child, detail)[:MAX_DETAIL_CHARACTERS]
        child.emit(
            SubAgentChanged(
                agent_id=child.run_id,
                agent=self._agent,
                state=state,
                parent_id=self._parent_id,
                depth=self._depth,
                task=self._task,
                detail=detail,
                call_id=self._call_id,
            )
        )
        row = SubAgentRun(
            child.run_id,
            child.task_id,
            self._parent_id,
            self._agent,
            child.session_id,
            child.principal,
            self._task,
            state,
            self._depth,
            self._created_at,
            child.services.clock.now() if state in FINAL_STATES else None,
            detail,
        )
        try:
            await child.services.store.sub_agents.put([row])
        except StoreError as error:
            log_failure(log, error, "the ledger has no state %s of %s", state, child.run_id)

    async def is_cancel_requested(self) -> bool:
        """Return whether somebody has asked for its cancellation, perhaps in another process."""
        try:
            row = await self._child.services.store.sub_agents.find(self._child.run_id)
        except StoreError as error:
            log_failure(log, error, "whether %s is to be cancelled is not known", self._child.run_id)
            return False
        return row is not None and row.cancel_requested


def _redact(ctx: Context, text: str) -> str:
    return text if ctx.redactor is None else ctx.redactor(text)
