"""The chat command /retry: the last message of a person is answered again, in a branch of the conversation."""

from sophon.chat_overrides import build_chat_section
from sophon.messages import images_from_json
from sophon.stores.runs.contract import Run
from sophon.stores.sessions.contract import SessionBranch
from sophon_channels.contract import InboundMessage
from sophon_hosting.channels.chat_profiles import ChatProfiles, find_model
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.run_audience import OVERRIDES, overrides_to_origin
from sophon_hosting.run_authorship import is_direct_call

NOTHING_TO_ANSWER = "There is no message of yours to answer again."
STILL_RUNNING = "Your last message is still being answered; /stop stops it."
OTHERS_WROTE = "Somebody else has written since; send your message again."


class AnswerAgain:
    """Begins the last turn of a chat again. The chat goes on in the branch; the first answer stays in the old one."""

    def __init__(self, host: Host, chat_state: ChatState, profiles: ChatProfiles) -> None:
        self._host, self._chat_state, self._store = host, chat_state, host.services.store
        self._profiles = profiles

    async def accept(self, message: InboundMessage, session_id: str) -> str:
        """Accept the last message of the chat once more; return the reply to the command. Raises SophonError.

        In a group only the newest message is answered again: a branch before an older one would leave out what others
        wrote.
        """
        newest = await self._store.runs.list(session_id=session_id, limit=1, whole=False)
        if not newest or is_direct_call(newest[0]) or not self._chat_state.is_own_run(newest[0]):
            return NOTHING_TO_ANSWER
        run = await self._store.runs.get(newest[0].id)
        if run.owner != self._chat_state.user_id(message.person):
            return OTHERS_WROTE
        if not run.is_finished:
            return STILL_RUNNING
        turn = await self._store.sessions.list_turn(session_id, run.id)
        if not turn:
            return NOTHING_TO_ANSWER
        branch_id = self._chat_state.derive_session(message.location, message.external_id)
        await self._host.accept(await self._build_request(message, run, branch_id, turn[0].seq))
        await self._chat_state.switch_session(message.location, branch_id)
        return "I answer your last message again."

    async def _build_request(self, message: InboundMessage, run: Run, branch_id: str, seq: int) -> RunRequest:
        session, options = await self._store.sessions.get(run.session_id), run.options
        overrides = await self._profiles.find(message.location, message.person)
        origin = {key: value for key, value in run.origin.items() if key != OVERRIDES}
        return RunRequest(
            text=run.text,
            session_id=branch_id,
            session_owner=session.owner,
            owner=run.owner,
            channel=run.channel,
            account=str(run.origin.get("account", "")),
            external_id=message.external_id,
            origin={**origin, **overrides_to_origin(overrides), "reply_to": message.message_id},
            stream=bool(options.get("stream")),
            model=None if session.model else find_model(self._host.services, overrides),
            instructions=build_chat_section(overrides) or None,
            planning=options.get("planning"),
            images=images_from_json(options["images"]) if options.get("images") else (),
            sent_at=message.sent_at,
            branch=SessionBranch(session.id, seq - 1),
        )
