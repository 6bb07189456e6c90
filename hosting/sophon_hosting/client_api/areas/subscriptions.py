"""Subscriptions of a user to the events of sessions."""

from sophon_hosting.client_api.conversation_mode import by_session
from sophon_hosting.client_api.user_access import UserAccess
from sophon_hosting.events.wire_event import EventListener


class SubscriptionOperations(UserAccess):
    """The operations that begin and end subscriptions."""

    @by_session
    async def subscribe(self, session_id: str, listener: EventListener) -> None:
        """Subscribe to the events of a session, until `unsubscribe`; they have stored session ids. Raises NotFound."""
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        await self.host.event_bus.subscribe(session.id, listener, session.owner)

    def unsubscribe(self, session_id: str, listener: EventListener) -> None:
        """Unsubscribe from the events of a session."""
        if self.operations_off_the_record is not None:
            self.operations_off_the_record.unsubscribe(session_id, listener)
        for stored_id in self.sessions.possible_stored_ids(session_id):
            self.host.event_bus.unsubscribe(stored_id, listener)

    def subscribe_all(self, listener: EventListener) -> None:
        """Subscribe to the events of all sessions, also of other hosts, until `unsubscribe_all`. Operators only.

        Raises Forbidden.
        """
        self.require_operator()
        self.host.event_bus.subscribe_all(listener, elsewhere=True)

    def unsubscribe_all(self, listener: EventListener) -> None:
        """Undo `subscribe_all`."""
        self.host.event_bus.unsubscribe_all(listener)
