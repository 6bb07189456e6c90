"""Cancellation of one sub-agent from outside of its turn, which goes on with an error result."""

from sophon.approvals import Decision
from sophon.errors import NotFound
from sophon.services import Services
from sophon.stores.sub_agents.sub_agent_run import SubAgentRun
from sophon_hosting.runs.approvals.approval_service import ApprovalService, DecisionRefused, SignalRun, ignore_signal
from sophon_hosting.store.contract import host_store

REASON = "the sub-agent was cancelled"


async def cancel_sub_agent(
    services: Services, approvals: ApprovalService, row: SubAgentRun, user_id: str, signal: SignalRun = ignore_signal
) -> str:
    """Cancel a sub-agent and return its state, `cancelling` until it has ended.

    One that works in this process is cancelled at once. Otherwise the wish is stored, and the process where it works is
    told, which also looks for it now and then; a turn that waits for an approval of the sub-agent is resumed by its
    rejection.
    """
    if (
        services.assistant.agents is not None
        and (running := services.assistant.agents.running.find(row.id)) is not None
    ):
        running.cancel()
        return "cancelling"
    if not await host_store(services).sub_agents.request_cancel(row.id):
        found = await host_store(services).sub_agents.find(row.id)
        return row.state if found is None else found.state
    signal(row.task_id, "cancel")
    for record in await host_store(services).approvals.list(open_only=True, session_id=row.session_id):
        run_id = record.request.run_id
        if run_id == row.id or run_id.startswith(f"{row.id}/"):
            try:
                await approvals.decide(record.request.id, Decision.reject(REASON), user_id)
            except (DecisionRefused, NotFound):
                continue  # somebody has decided meanwhile: the turn goes on, and sees the wish
    return "cancelling"
