import math

import pytest

from sophon_hosting.http.connections.limits import ConnectionLimits, max_connections_for_files
from sophon_hosting.settings.hub import HubSettings


@pytest.mark.parametrize(
    ("files", "connections"), [(math.inf, math.inf), (1024, 768), (256, 192), (128, 64), (64, 16), (16, 4), (2, 1)]
)
def test_connections_leave_files_for_everything_else(files: float, connections: float) -> None:
    assert max_connections_for_files(files) == connections


@pytest.mark.parametrize(
    ("settings", "files", "expected"),
    [
        ({}, math.inf, (1000, 100)),
        ({}, 256, (192, 96)),
        ({"MaxConnections": 50}, 1024, (50, 25)),
    ],
)
def test_the_settings_hold_below_the_limit_of_open_files(settings, files, expected) -> None:
    limits = ConnectionLimits.from_settings(HubSettings.model_validate(settings), files)
    assert (limits.max_connections, limits.max_per_address) == expected
