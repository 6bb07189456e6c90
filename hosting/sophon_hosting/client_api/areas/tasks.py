"""Tasks of a user: read, cancel, and judge their answers."""

from sophon.errors import NotFound
from sophon.learning.feedback import Feedback
from sophon.stores.runs.contract import Run, RunStatus
from sophon_hosting.client_api.conversation_mode import by_task
from sophon_hosting.client_api.rights import CALL_SCOPE
from sophon_hosting.client_api.user_access import UserAccess
from sophon_hosting.run_authorship import is_direct_call


class TaskOperations(UserAccess):
    """The operations on tasks, each with its permission check."""

    @by_task
    async def get_task(self, task_id: str) -> Run:
        """Return the run of a task. Raises NotFound."""
        self.rights.require_scope("Read")
        if self.user.operator:
            return self._to_client_run(await self.store.runs.get(task_id))
        run = await self.store.runs.find(task_id)
        if run is None:
            raise NotFound("task", task_id)
        if run.owner != self.user.id:
            self.sessions.refuse("task", task_id)
        return self._to_client_run(run)

    async def list_tasks(
        self,
        *,
        session_id: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        before: str | None = None,
        all_users: bool = False,
    ) -> list[Run]:
        """Return the user's tasks, newest first; with `all_users` (operators only) those of all users. Of large answers
        they have the beginning.

        With `before`, a task id, the tasks that were accepted before it. Raises NotFound for it.
        """
        self.rights.require_scope("Read")
        owner = self.owner_filter(all_users)
        if session_id is not None and self.operations_off_the_record is not None:
            off = self.operations_off_the_record
            if await off.has_session(session_id):
                return await off.list_tasks(session_id=session_id, status=status, limit=limit, before=before)
        stored_id = await self.sessions.filter_id(session_id)
        if before is not None:
            await self.get_task(before)  # nobody learns from it whether another user's task exists
        runs = await self.store.runs.list(
            session_id=stored_id, owner=owner, status=status, limit=limit, whole=False, before=before
        )
        return [self._to_client_run(run) for run in runs]

    @by_task
    async def cancel_task(self, task_id: str) -> Run:
        """Cancel a task; a finished task stays unchanged. Raises NotFound."""
        self.rights.require_scope("Read")
        self.rights.require_level("Chat")
        run = await self.get_task(task_id)
        self.rights.require_scope(CALL_SCOPE if is_direct_call(run) else "Chat")
        return self._to_client_run(await self.host.cancel(task_id))

    @by_task
    async def get_streamed_text(self, task_id: str, epoch: int, characters: int = 0) -> str | None:
        """Return the text so far of a reply that is being streamed; None once the task or that epoch has ended.

        Of a task that runs on another host, at least so many `characters` are waited for. Raises NotFound for an
        unknown task.
        """
        run = await self.get_task(task_id)
        if self.view is not None and (self.view.hides_streams or run.owner != self.user.id):
            return None
        if run.is_finished:
            return None
        stored_id = (await self.store.runs.get(task_id)).session_id
        return await self.host.event_bus.fetch_streamed_text(stored_id, task_id, epoch, characters)

    @by_task
    async def send_feedback(self, task_id: str, value: float, *, text: str = "", source: str = "api") -> None:
        """Record what the user thinks of the answer of a task. Raises NotFound, InputError."""
        self.rights.require("Chat")
        await self.get_task(task_id)
        run = await self.store.runs.get(task_id)
        await self.host.feedback.record(run, self.user.id, value, text=text, source=source)

    @by_task
    async def find_feedback(self, task_id: str) -> Feedback | None:
        """Return what the user said about the answer of a task; None if nothing. Raises NotFound."""
        await self.get_task(task_id)
        given = await self.store.trajectories.list_feedback(task_id)
        return next((each for each in given if each.principal == self.user.id), None)

    def _to_client_run(self, run: Run) -> Run:
        shown = run if self.view is None else self.view.run(run, is_own=run.owner == self.user.id)
        return self.sessions.to_client_run(shown)
