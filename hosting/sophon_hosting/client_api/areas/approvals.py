"""Approvals of the tasks of a user."""

from sophon.approvals import Decision, turn_id_from_request
from sophon.errors import NotFound
from sophon.stores.approvals.contract import ApprovalRecord
from sophon_hosting.client_api.conversation_mode import by_approval
from sophon_hosting.client_api.user_access import UserAccess
from sophon_hosting.runs.approvals import check_session


class ApprovalOperations(UserAccess):
    """The operations on approvals, each with its permission check."""

    @by_approval
    async def get_approval(self, approval_id: str) -> ApprovalRecord:
        """Return an approval. Raises NotFound, after the same queries for what is another's and what does not exist."""
        self.rights.require_scope("Read")
        record = await self.store.approvals.find(approval_id)
        run = await self.store.runs.find(turn_id_from_request(record.request) if record is not None else approval_id)
        if record is None:
            raise NotFound("approval", approval_id)
        if not self.user.operator and (run is None or run.owner != self.user.id):
            self.sessions.refuse("approval", approval_id)
        return self._to_client_approval(record)

    async def list_approvals(
        self, *, session_id: str | None = None, open_only: bool = True, all_users: bool = False
    ) -> list[ApprovalRecord]:
        """Return the user's approvals, oldest first; with `all_users` (operators only) those of all users."""
        self.rights.require_scope("Read")
        owner = self.owner_filter(all_users)
        stored_id = await self.sessions.filter_id(session_id)
        records = await self.store.approvals.list(open_only=open_only, session_id=stored_id)
        found = [
            self._to_client_approval(record)
            for record in records
            if owner is None or await self._owner_of_task(record) == owner
        ]
        if self.operations_off_the_record is None:
            return found
        return found + await self.operations_off_the_record.list_approvals(
            session_id=session_id, open_only=open_only, all_users=all_users
        )

    @by_approval
    async def decide_approval(
        self, approval_id: str, decision: Decision, *, session_id: str | None = None
    ) -> ApprovalRecord:
        """Decide an approval of the user's tasks; an operator may decide all. A given `session_id` must be that of the
        approval. Raises NotFound, DecisionRefused.
        """
        self.rights.require("Approvals")
        check_session(await self.get_approval(approval_id), session_id)
        return self.sessions.to_client_approval(await self.host.approvals.decide(approval_id, decision, self.user.id))

    def _to_client_approval(self, record: ApprovalRecord) -> ApprovalRecord:
        return self.sessions.to_client_approval(record if self.view is None else self.view.approval(record))

    async def _owner_of_task(self, record: ApprovalRecord) -> str | None:
        """Return the owner of the task, or None if the task was deleted."""
        run = await self.store.runs.find(turn_id_from_request(record.request))
        return None if run is None else run.owner
