"""Sub-agents of the tasks of a user."""

from dataclasses import replace

from sophon.errors import NotFound
from sophon.stores.sub_agents.contract import SubAgentRun
from sophon_hosting.client_api.areas.tasks import TaskOperations
from sophon_hosting.client_api.conversation_mode import by_task
from sophon_hosting.runs.sub_agent_cancellation import cancel_sub_agent


class SubAgentOperations(TaskOperations):
    """The operations on the sub-agents of tasks."""

    @by_task
    async def list_sub_agents(self, task_id: str) -> list[SubAgentRun]:
        """Return the sub-agents of a task, oldest first. Raises NotFound."""
        await self.get_task(task_id)
        return [self._to_client_sub_agent(each) for each in await self.store.sub_agents.list_for_task(task_id)]

    async def list_running_sub_agents(self, *, all_users: bool = False) -> list[SubAgentRun]:
        """Return the sub-agents of the user that work or wait, oldest first. Raises Forbidden."""
        self.rights.require_scope("Read")
        found = await self.store.sub_agents.list_unfinished(self.owner_filter(all_users))
        runs = {each.task_id: await self.store.runs.find(each.task_id) for each in found}
        shown: list[SubAgentRun] = []
        for each in found:
            run = runs[each.task_id]
            if run is not None and not run.is_finished:  # one that was interrupted with its task for good has no end
                shown.append(self._to_client_sub_agent(each))
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

    def _to_client_sub_agent(self, row: SubAgentRun) -> SubAgentRun:
        shown = row if self.view is None else self.view.sub_agent(row)
        return replace(shown, session_id=self.sessions.to_client_id(row.session_id))
