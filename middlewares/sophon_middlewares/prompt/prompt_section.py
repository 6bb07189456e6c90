"""Prompt section: a call layer that adds a text behind the system prompt."""

from collections.abc import Awaitable, Sequence

from sophon.messages import Message
from sophon.models.model import Call, ModelRequest, ModelResponse


class PromptSection:
    """Adds one section behind the system prompt of each request of a turn; without a prompt it is the prompt."""

    __slots__ = ("_extended", "_section", "_system")

    def __init__(self, section: str) -> None:
        self._section = section
        self._system: Message | None = None
        self._extended: Message | None = None

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        return call(self.add_to(request))

    def find_overhead(self, request: ModelRequest) -> str:
        """Return the text that the layer will add to a request; "" for one that has it."""
        has_section = self._extended is not None and bool(request.messages) and request.messages[0] is self._extended
        return "" if has_section else self._section

    def add_to(self, request: ModelRequest) -> ModelRequest:
        """Return the request with the section."""
        return request.copy_with(messages=self._add(request.messages))

    def _add(self, messages: list[Message]) -> list[Message]:
        if not messages or messages[0].role != "system":
            if self._extended is None:
                self._extended = Message("system", self._section)
            return [self._extended, *messages]
        if self._extended is None or self._system is not messages[0]:
            # Once per turn: what was counted and serialised of a message is kept with it.
            self._system = messages[0]
            self._extended = Message("system", f"{messages[0].content}\n\n{self._section}")
        return [self._extended, *messages[1:]]


def insert_before_last_message(messages: Sequence[Message], section: Message) -> list[Message]:
    """Return the messages with a section in front of the last one of the person, or behind all without one."""
    result = [*messages]
    last = max((index for index, each in enumerate(messages) if each.role == "user"), default=len(messages))
    result.insert(last, section)
    return result
