"""A person at the approval gate, as tests need one."""

from sophon import Decision
from sophon.approvals import ApprovalRequest


class Gate:
    """Gives these decisions in turn, the last one for ever, and keeps what it was asked; without any it approves."""

    def __init__(self, *decisions: Decision) -> None:
        self.decisions = list(decisions) or [Decision.approve()]
        self.asked: list[ApprovalRequest] = []

    @classmethod
    def suspending(cls) -> "Gate":
        """Return a gate that suspends the first turn and approves what is asked when it is resumed."""
        return cls(Decision.suspend(), Decision.approve())

    async def request(self, request: ApprovalRequest, /) -> Decision:
        self.asked.append(request)
        return self.decisions.pop(0) if len(self.decisions) > 1 else self.decisions[0]

    @property
    def decision(self) -> Decision:
        """The next decision; set, it is the only one."""
        return self.decisions[0]

    @decision.setter
    def decision(self, decision: Decision) -> None:
        self.decisions = [decision]
