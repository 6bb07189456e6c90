"""Sub-agents of the tasks of a user."""

from dataclasses import replace
from typing import Any

from sophon.errors import NotFound
from sophon.stores.sub_agents.contract import SubAgentRun
from sophon_hosting.client_api.areas.tasks import TaskOperations
from sophon_hosting.client_api.conversation_mode import by_task
from sophon_hosting.client_api.serialization import sub_agent_to_json
from sophon_hosting.runs.sub_agent_cancellation import cancel_sub_agent


class SubAgentOperations(TaskOperations):
    """The operations on the sub-agents of tasks."""

    @by_task
    async def list_sub_agents(self, task_id: str) -> list[dict[str, Any]]:
        """Return the sub-agents of a task, oldest first, as JSON. Raises NotFound."""
        await self.get_task(task_id)
        return [self._sub_agent_to_json(each) for each in await self.store.sub_agents.list_for_task(task_id)]

    async def list_running_sub_agents(self, *, all_users: bool = False) -> list[dict[str, Any]]:
        """Return the sub-agents of the user that work or wait, oldest first, as JSON. Raises Forbidden."""
        self.rights.require_scope("Read")
        found = await self.store.sub_agents.list_unfinished(self.owner_filter(all_users))
        runs = {each.task_id: await self.store.runs.find(each.task_id) for each in found}
        shown: list[dict[str, Any]] = []
        for each in found:
            run = runs[each.task_id]
            if run is not None and not run.is_finished:  # one that was interrupted with its task for good has no end
                shown.append(self._sub_agent_to_json(each))
        return shown

    @by_task
    async def cancel_sub_agent(self, task_id: str, sub_agent_id: str) -> str:
        """Cancel a sub-agent of a task, which goes on; return its state. Raises NotFound."""
        self.rights.require_level("Chat")
        self.rights.require_scope("Chat")
        await self.get_task(task_id)
        row = await self.store.sub_agents.find(sub_agent_id)
        if row is None or row.task_id != task_id:
            raise NotFound("sub-agent", sub_agent_id)
        host = self.host
        return await cancel_sub_agent(host.services, host.approvals, row, self.user.id, host.signals.send)

    def _sub_agent_to_json(self, row: SubAgentRun) -> dict[str, Any]:
        if self.view is not None:
            row = self.view.sub_agent(row)
        return sub_agent_to_json(replace(row, session_id=self.sessions.to_client_id(row.session_id)))
