"""Services of the long-running commands `serve` and `worker`, in a process that is protected and limited."""

import os

from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import create_services
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import report_startup_warnings
from sophon_hosting.programs.allocator_limits import limit_allocator
from sophon_hosting.programs.process_hardening import protect_process


def create_server_services(options: GlobalOptions, settings: Settings) -> tuple[Services, list[str]]:
    """Create the services of a long-running process, which it protects; return them with its warnings, a line each.

    Raises SophonError.
    """
    limit_allocator(os.environ)
    services = create_services(options, settings)
    warnings = report_startup_warnings(settings, options, os.environ)
    return services, [*warnings, *(f"  {warning}" for warning in protect_process(services))]
