"""Joining a session: what a client may ask, and over which connections."""

from typing import Any

import pytest

from sophon.errors import InputError
from sophon_hosting.features.sessions.history_operations import join_session, leave_session
from tests.hosting.calls import call


@pytest.mark.parametrize("last_seq", ["3", True, 1e30])
async def test_a_seq_is_a_whole_number(office: Any, last_seq: object) -> None:
    with pytest.raises(InputError, match="last_seq: it must be a whole number"):
        await call(office.ada, join_session, session_id="s", last_seq=last_seq)


async def test_who_gets_no_events_cannot_join_and_leave(office: Any) -> None:
    for operation in (join_session, leave_session):
        with pytest.raises(InputError, match="only a connection over Socket"):
            await call(office.ada, operation, session_id="s")
    assert await office.host.services.store.sessions.find("s") is None
