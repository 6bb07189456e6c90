"""Check of `sophon doctor` on the channels: the self-test of each, which sends requests to its platform."""

from collections.abc import Mapping

from sophon.security import describe_error
from sophon.services import Services
from sophon_hosting.channels.channel_factory import create_channels
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed


async def check_channels(services: Services, environment: Mapping[str, str]) -> list[DoctorFinding]:
    """Run the self-test of every configured channel, which sends requests to its platform."""
    found: list[DoctorFinding] = []
    for each in create_channels(services, environment):
        name = f"channels.{each.channel.name}"
        try:
            results = await each.channel.run_self_test()
        except Exception as error:  # noqa: BLE001 - a check never raises
            text = f"{type(error).__name__}: {describe_error(error)}"
            found.append(failed(name, text, "see docs/channels.md"))
            continue
        found += [DoctorFinding(name, line.summary, "ok" if line.ok else "failed", line.fix) for line in results]
    return found
