"""SQL statements of the queue's operations, for one queue name."""

from typing import TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.queue.postgresql.schema import with_prefix

Statement: TypeAlias = bytes

_FIND_MISSING = """
SELECT asked.number FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS asked (task_id, session_id, number)
WHERE NOT EXISTS (SELECT 1 FROM sophon_queue_entries e WHERE e.task_id = asked.task_id)
  AND NOT EXISTS (SELECT 1 FROM sophon_queue_dead d WHERE d.task_id = asked.task_id)
  AND NOT EXISTS (
    SELECT 1 FROM sophon_queue_lanes l WHERE l.session_id = asked.session_id AND l.task_id = asked.task_id
  )
ORDER BY asked.number
"""

_STATISTICS = """
SELECT
    (SELECT count(*) FROM sophon_queue_entries),
    (SELECT count(*) FROM sophon_queue_lanes WHERE wake_at IS NOT NULL AND token IS NOT NULL),
    (SELECT count(*) FROM sophon_queue_lanes WHERE holder IS NOT NULL),
    (SELECT count(*) FROM sophon_queue_dead),
    (SELECT coalesce(sum(delivered), 0)::bigint FROM sophon_queue_hosts),
    (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0)::float FROM sophon_queue_entries)
"""

_COUNTS = """
SELECT
    (SELECT coalesce(sum(entries), 0)::bigint FROM sophon_queue_owners),
    (SELECT count(*) FROM sophon_queue_lanes WHERE wake_at IS NOT NULL AND token IS NOT NULL),
    (SELECT avg(seconds) FROM sophon_queue_hosts WHERE seen_at > clock_timestamp() - interval '1 minute'),
    (SELECT coalesce(jsonb_object_agg(owner, entries), '{}') FROM (
        SELECT owner, entries FROM sophon_queue_owners WHERE entries > 0 ORDER BY entries DESC LIMIT 1000
    ) AS most)
"""

_DEAD_LETTERS = """
SELECT task_id, session_id, is_resume, owner, deliveries, died_at FROM sophon_queue_dead ORDER BY number
"""


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements; each is one transaction and one round trip. Their parameters: those of the .sql files."""

    put: Statement
    take: Statement
    untake: Statement
    sweep: Statement
    ack: Statement
    nack: Statement
    renew: Statement
    hold: Statement
    release: Statement
    remove: Statement
    retry: Statement
    position: Statement
    estimate: Statement
    forget_host: Statement
    find_missing: Statement
    statistics: Statement
    counts: Statement
    dead_letters: Statement

    @property
    def repeatable(self) -> frozenset[Statement]:
        """Those that may be sent again when nobody knows whether they took effect."""
        changing = (self.put, self.renew, self.hold, self.forget_host)
        asking = (self.position, self.estimate, self.find_missing, self.statistics, self.counts, self.dead_letters)
        return frozenset((*changing, *asking))


def build_statements(name: str) -> Statements:
    """Return the statements for the queue of this name."""

    def call(function: str, *types: str) -> Statement:
        values = ", ".join(f"%s::{each}" for each in types)
        return with_prefix(f"SELECT * FROM sophon_queue_{function}({values})", name)  # noqa: S608 - constants

    return Statements(
        put=call("put", "text", "text", "bool", "text", "bool", "int", "float8", "int", "int"),
        take=call("take", "text", "int", "float8", "float8"),
        untake=call("untake", "text", "bigint", "text", "bool"),
        sweep=call("sweep", "int", "bool"),
        ack=call("ack", "text", "bigint", "bool"),
        nack=call("nack", "text", "bigint", "bool", "float8", "int", "bool"),
        renew=call("renew", "text", "bigint", "float8"),
        hold=call("hold", "text", "text"),
        release=call("release", "text", "text", "bool"),
        remove=call("remove", "text"),
        retry=call("retry", "text", "bool"),
        position=call("position", "text"),
        estimate=call("estimate", "text", "text", "text"),
        forget_host=call("forget_host", "text"),
        find_missing=with_prefix(_FIND_MISSING, name),
        statistics=with_prefix(_STATISTICS, name),
        counts=with_prefix(_COUNTS, name),
        dead_letters=with_prefix(_DEAD_LETTERS, name),
    )
