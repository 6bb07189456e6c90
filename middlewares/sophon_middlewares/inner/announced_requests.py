"""Announced requests: the approvals of a round that listeners know of, so that a resumed turn announces none again."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from sophon.context import Context
from sophon.extensions import Key
from sophon.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AnnouncedRequests:
    """Ids of the requests that were announced in one round; `iteration` is None if an earlier version stored them."""

    iteration: int | None
    ids: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {"iteration": self.iteration, "ids": list(self.ids)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | list[str]) -> Self:
        """Invert `to_json`."""
        return cls(None, data) if isinstance(data, list) else cls(data["iteration"], data["ids"])


ANNOUNCED: Key[AnnouncedRequests] = Key(
    "approval.asked", dump=AnnouncedRequests.to_json, load=AnnouncedRequests.from_json
)


def note_announced(ctx: Context, request_id: str) -> bool:
    """Note that a request is announced; return False if it was before, in the same round."""
    announced = ctx.get(ANNOUNCED)
    ids = announced.ids if announced is not None and announced.iteration in (ctx.iteration, None) else ()
    if request_id in ids:
        return False
    # Requests of earlier rounds are decided: the state of a long turn would grow with them.
    ctx.put(ANNOUNCED, AnnouncedRequests(ctx.iteration, [*ids, request_id]))
    return True
