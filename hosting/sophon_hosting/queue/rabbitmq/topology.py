"""Names and arguments of the exchanges and queues on the broker; names carry a version, for arguments cannot change."""

from collections.abc import Mapping

from sophon._python.lazy_dataclass import dataclass

VERSION = "v1"
"""Raised when an argument changes: a queue with other arguments is another queue, which the reconciler fills again."""

MAX_ENTRIES = 50_000
"""Entries that the broker and the scheduling process accept, well below the largest prefetch of AMQP, 65,535."""

MAX_DEAD_LETTERS = 10_000
"""Dead letters that are kept; beyond it the oldest ones are dropped."""

PREFETCH = 65_535
"""Largest prefetch of AMQP: the scheduling process must see all entries. 0 means 2,000 for a quorum queue."""

DELIVERY_LIMIT = 1_000
"""`x-delivery-limit` of the entries; the default is 20 since RabbitMQ 4.0. Up to 4.2 each change of the scheduling
process counts as a delivery of all that wait, so it is not `Queue.MaxDeliveries`, which the records count. It is never
negative: 4.x takes that for no limit, 3.x for none at all."""

CONSUMER_TIMEOUT_SECONDS = 1_800.0
"""`x-consumer-timeout` of the consumer of the entries, RabbitMQ's own default: from 3.12 on, a shorter one of a
server or of a policy does not apply to it. Older servers ignore it."""

MANY_DELIVERIES = DELIVERY_LIMIT // 10
"""Count at which a record is written again, which starts the broker's count anew."""

DEAD_DELIVERY_LIMIT = 1_000_000_000
"""`x-delivery-limit` of the dead letters: reading them counts as a delivery, and they must survive any number."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Exchanges and queues of a task queue. `max_length` is the broker's own bound of undelivered entries."""

    name: str
    max_length: int = MAX_ENTRIES
    consumer_timeout_seconds: float = CONSUMER_TIMEOUT_SECONDS

    @property
    def tasks(self) -> str:
        """Name of the queue with one record for each entry and each held lane."""
        return f"{self.name}.{VERSION}.tasks"

    @property
    def dead(self) -> str:
        """Name of the exchange and of the queue of dead letters."""
        return f"{self.name}.{VERSION}.dead"

    @property
    def members(self) -> str:
        """Name of the fanout exchange that reaches all host processes."""
        return f"{self.name}.{VERSION}.members"

    def member(self, member_id: str) -> str:
        """Return the name of the exclusive queue of a host process."""
        return f"{self.name}.{VERSION}.member.{member_id}"

    @property
    def task_arguments(self) -> Mapping[str, str | int | bool]:
        """Arguments of the queue of entries."""
        return {
            "x-queue-type": "quorum",
            "x-single-active-consumer": True,
            "x-delivery-limit": DELIVERY_LIMIT,
            "x-dead-letter-exchange": self.dead,
            "x-max-length": self.max_length,
            "x-overflow": "reject-publish",
        }

    @property
    def dead_arguments(self) -> Mapping[str, str | int | bool]:
        """Arguments of the queue of dead letters."""
        return {
            "x-queue-type": "quorum",
            "x-delivery-limit": DEAD_DELIVERY_LIMIT,
            "x-max-length": MAX_DEAD_LETTERS,
        }

    @property
    def consumer_arguments(self) -> Mapping[str, int]:
        """Arguments of the consumer of the entries."""
        return {"x-consumer-timeout": round(self.consumer_timeout_seconds * 1000)}
