"""Dangerous settings of approvals: calls that run unasked, and decisions that nobody can make."""

from collections.abc import Iterator

from sophon.settings import Settings
from sophon_hosting.dangerous_settings.catalog import DangerousSetting
from sophon_hosting.dangerous_settings.channels import list_channels
from sophon_hosting.settings.channels import ChannelsSettings
from sophon_hosting.settings.hub import HubSettings


def find_in_approval(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the dangerous settings of `Approval`."""
    approval = settings.approval
    if approval.auto_approve_up_to == "Critical":
        yield DangerousSetting(
            "auto_approve_critical",
            "Approval.AutoApproveUpTo Critical",
            _describe_unasked_critical(settings),
            "set it to null or to Medium",
        )
    elif approval.auto_approve_up_to == "High":
        yield DangerousSetting(
            "auto_approve_high",
            "Approval.Autonomy Full" if approval.autonomy else "Approval.AutoApproveUpTo High",
            "a model overwrites files, deletes memories and uses every other tool of High risk, and nobody is asked",
            "set it to Semi or Assist" if approval.autonomy else "set it to null or to Medium",
        )
    if approval.ask_from == "Critical":
        yield DangerousSetting(
            "ask_from_critical",
            "Approval.AskFrom Critical",
            "a model overwrites files, deletes memories and uses every other tool of High risk, and nobody is asked",
            "set it to High",
        )
    deciders = _count_operators(settings)
    if settings.has_several_users() and deciders == 0:
        yield DangerousSetting(
            "no_operator",
            "Hub.Users without an operator",
            "calls of Critical risk wait for an operator, and nobody is one, so they can only be rejected or expire",
            "set Operator of one user to true",
        )
    elif approval.four_eyes and deciders < 2:
        yield DangerousSetting(
            "four_eyes_without_second",
            "Approval.FourEyes with fewer than two operators",
            "an operator's own calls of Critical risk wait for another operator, and there is none",
            "add an operator, or set it to false",
        )


def _describe_unasked_critical(settings: Settings) -> str:
    """Return what nobody is asked about although a call is of Critical risk; see `sophon.operator_policy`."""
    high = "overwrites files, deletes memories and uses every other tool of High risk, and nobody is asked"
    if settings.approval.four_eyes:
        return f"a model {high}; calls of Critical risk still wait for another operator (Approval.FourEyes)"
    if settings.has_several_users():
        return (
            f"a model {high}; in an operator's turn it also runs any command with the rights of this host's account, "
            "and in the turns of others such a call waits for an operator"
        )
    return "a model runs any command with the rights of this host's account, and nobody is asked"


def _count_operators(settings: Settings) -> int:
    hub, channels = settings.section(HubSettings), list_channels(settings.section(ChannelsSettings)).values()
    of_channels = sum(len(set(each.approvers)) for each in channels if each.enabled)
    return (sum(user.operator for user in hub.users) if hub.users else 1) + of_channels
