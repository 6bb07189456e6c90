"""Operator policy: which calls only an operator may approve, and who may decide which request.

Approving a call of Critical risk gives the rights of the host's account, and with them the data of everybody on the
host. With several users the person who asked must therefore not be enough, by whatever way the call is approved.
"""

from dataclasses import field
from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.tools.tool import Risk

DecisionProblem: TypeAlias = Literal["forbidden", "operator_needed"]
"""Why somebody may not decide: not theirs at all, or theirs, but for an operator."""

OPERATOR_RISK = Risk.CRITICAL
"""Risk from which a call needs an operator."""


@dataclass(frozen=True, slots=True)
class OperatorPolicy:
    """Policy that says who must approve calls of Critical risk. By default nobody but the person who asked.

    `operators` are principals. `several_users`: the host has other users or channels, so the person who asked need not
    be an operator. `four_eyes`: nobody approves their own Critical call, operators included. `operator_overrides`
    states of single principals whether they are operators: channels know people by ids that `operators` does not name.
    """

    operators: frozenset[str] = frozenset()
    several_users: bool = False
    four_eyes: bool = False
    operator_overrides: dict[str, bool] = field(default_factory=dict[str, bool], compare=False)

    def is_operator(self, principal: str) -> bool:
        """Return whether the principal is an operator."""
        return self.operator_overrides.get(principal, principal in self.operators)

    def needs_operator(self, risk: Risk, asker: str) -> bool:
        """Return whether a call of the asker's turn needs an operator's decision, or with four eyes another's."""
        if risk < OPERATOR_RISK:
            return False
        return self.four_eyes or (self.several_users and not self.is_operator(asker))

    def find_problem(self, risk: Risk, *, asker: str, decider: str, approves: bool) -> DecisionProblem | None:
        """Return why `decider` may not decide a request of the asker's turn, or None.

        A rejection runs nothing: the asker may always reject.
        """
        if decider != asker and not self.is_operator(decider):
            return "forbidden"
        if not approves or not self.needs_operator(risk, asker):
            return None
        if not self.is_operator(decider) or (self.four_eyes and decider == asker):
            return "operator_needed"
        return None

    def counts(self, risk: Risk, *, asker: str, decider: str) -> bool:
        """Return whether an approval by `decider`, given at some time before, may still be used now.

        Where nobody needs an operator and no operators are known, the approval gate alone decides. An empty `decider`,
        of a gate that names nobody, counts only below Critical risk.
        """
        if risk >= OPERATOR_RISK and not decider:
            return False
        if not self.needs_operator(risk, asker) and (not decider or not self.operators):
            return True
        return self.find_problem(risk, asker=asker, decider=decider, approves=True) is None


UNRESTRICTED = OperatorPolicy()
"""The policy of an embedded chain: its approval gate decides."""
