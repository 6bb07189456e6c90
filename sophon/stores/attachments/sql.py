"""SQL attachments: a row per file with its bytes, and a row per session that uses it."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, delete, exists, func, insert, literal, select

from sophon.attachments import Attachment
from sophon.errors import NotFound
from sophon.stores.attachments.stored_attachment import StoredAttachment, TooManyBytes, check_usable
from sophon.stores.sql.batched_deletion import recheck_and_delete_in_batches
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import attachment_uses, attachments, sessions

_FACTS = (
    attachments.c.id,
    attachments.c.name,
    attachments.c.media_type,
    attachments.c.size,
    attachments.c.tokens,
    attachments.c.owner,
    attachments.c.created_at,
)
_IS_UNSENT = ~exists().where(attachment_uses.c.attachment == attachments.c.number)


class AttachmentStore(Repository):
    """Repository of attachments."""

    async def add(
        self,
        attachment: Attachment,
        content: bytes,
        *,
        owner: str,
        max_total_bytes: int | None = None,
        session_id: str | None = None,
    ) -> StoredAttachment:
        """Store a file, for a session if one is named. A file that is stored already is returned unchanged.

        Raises TooManyBytes if the files of the owner would have more than `max_total_bytes` together, NotFound if there
        is no such session, or if the id belongs to another owner. Writes run one after the other, so that the limit
        holds for them together.
        """
        return await self._database.write(
            partial(
                _add,
                new=StoredAttachment(attachment, owner, self._clock.now()),
                content=bytes(content),
                max_total_bytes=max_total_bytes,
                session_id=session_id,
            )
        )

    async def find(self, attachment_id: str) -> StoredAttachment | None:
        """Return a file without its bytes; None if there is none."""
        return await self._database.read(partial(_find, attachment_id=attachment_id))

    async def read(self, attachment_id: str, *, session_id: str | None = None) -> bytes | None:
        """Return the bytes of a file, with `session_id` only if that session uses it; None otherwise."""
        query = select(attachments.c.content).where(attachments.c.id == attachment_id)
        if session_id is not None:
            used = select(attachment_uses.c.attachment).join(sessions, sessions.c.number == attachment_uses.c.session)
            query = query.where(attachments.c.number.in_(used.where(sessions.c.id == session_id)))
        content = await self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        return None if content is None else bytes(content)

    async def list(self, owner: str) -> Sequence[StoredAttachment]:
        """Return the files of an owner, oldest first."""
        return await self._database.read(partial(_list, owner=owner))

    async def remove_unsent(self, attachment_id: str, *, owner: str) -> bool:
        """Delete a file of an owner that no session uses; return whether it was deleted."""
        own = delete(attachments).where(attachments.c.id == attachment_id, attachments.c.owner == owner, _IS_UNSENT)
        return bool(await self._database.write(lambda connection: connection.execute(own).rowcount))

    async def expire(self, before: datetime) -> int:
        """Delete the files that were stored before a time and that no session uses; return how many.

        Uses a transaction per batch.
        """
        old = select(attachments.c.number).where(attachments.c.created_at < before, _IS_UNSENT)
        return await recheck_and_delete_in_batches(self._database, old)


def use_attachments(connection: Connection, session_id: str, attachment_ids: Sequence[str], owner: str) -> None:
    """Note that a session uses files of its owner, in the caller's transaction; one that it uses already may be
    anybody's. Raises NotFound.
    """
    if not attachment_ids:
        return
    number = connection.execute(select(sessions.c.number).where(sessions.c.id == session_id)).scalar_one_or_none()
    if number is None:
        raise NotFound("session", session_id)
    used = select(attachment_uses.c.attachment).where(attachment_uses.c.session == number)
    query = select(
        attachments.c.number, attachments.c.id, attachments.c.owner, attachments.c.number.in_(used).label("is_used")
    )
    found = connection.execute(query.where(attachments.c.id.in_(attachment_ids))).all()
    check_usable(attachment_ids, [(row.id, owner if row.is_used else row.owner) for row in found], owner)
    statement = build_insert(connection.dialect.name, attachment_uses).on_conflict_do_nothing()
    connection.execute(statement, [{"session": number, "attachment": row.number} for row in found])


def copy_session_attachments(connection: Connection, source: int, target: int) -> None:
    """Let session `target` use the files of session `source`; both are row numbers."""
    same = select(literal(target), attachment_uses.c.attachment).where(attachment_uses.c.session == source)
    connection.execute(insert(attachment_uses).from_select(["session", "attachment"], same))


def delete_session_attachments(connection: Connection, session: int) -> None:
    """Delete the files that only this session uses, which is about to be deleted; `session` is its row number."""
    own = select(attachment_uses.c.attachment).where(attachment_uses.c.session == session)
    shared = select(attachment_uses.c.attachment).where(attachment_uses.c.session != session)
    only = attachments.c.number.in_(own) & attachments.c.number.not_in(
        shared.where(attachment_uses.c.attachment.in_(own))
    )
    connection.execute(delete(attachments).where(only))


def _add(
    connection: Connection,
    new: StoredAttachment,
    content: bytes,
    max_total_bytes: int | None,
    session_id: str | None,
) -> StoredAttachment:
    attachment = new.attachment
    known = _find(connection, attachment.id)
    if known is not None and known.owner != new.owner:
        raise NotFound("attachment", attachment.id)
    if known is None:
        stored = _count_bytes(connection, new.owner)
        if max_total_bytes is not None and stored + attachment.size > max_total_bytes:
            raise TooManyBytes(stored, attachment.size, max_total_bytes)
        facts = {"owner": new.owner, "created_at": new.created_at, "content": content}
        connection.execute(insert(attachments), {**attachment.to_json(), **facts})
    if session_id is not None:
        use_attachments(connection, session_id, [attachment.id], new.owner)
    found = _find(connection, attachment.id)
    assert found is not None
    return found


def _find(connection: Connection, attachment_id: str) -> StoredAttachment | None:
    row = connection.execute(select(*_FACTS).where(attachments.c.id == attachment_id)).one_or_none()
    if row is None:
        return None
    *facts, owner, created_at = row
    uses = (
        select(sessions.c.id)
        .join(attachment_uses, attachment_uses.c.session == sessions.c.number)
        .join(attachments, attachments.c.number == attachment_uses.c.attachment)
        .where(attachments.c.id == attachment_id)
        .order_by(sessions.c.number)
    )
    used_by = tuple(connection.execute(uses).scalars())
    return StoredAttachment(Attachment(*facts), owner, created_at, used_by)


def _list(connection: Connection, owner: str) -> Sequence[StoredAttachment]:
    own = select(attachments.c.id).where(attachments.c.owner == owner).order_by(attachments.c.number)
    found = [_find(connection, attachment_id) for attachment_id in list(connection.execute(own).scalars())]
    return [each for each in found if each is not None]


def _count_bytes(connection: Connection, owner: str) -> int:
    query = select(func.coalesce(func.sum(attachments.c.size), 0)).where(attachments.c.owner == owner)
    return int(connection.execute(query).scalar_one())
