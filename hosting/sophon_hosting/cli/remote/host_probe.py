"""Probe of the address at which a host is expected."""

from typing import Final

import httpx

PROBE_SECONDS: Final = 2.0


def probe_host(url: str) -> str | None:
    """Return the instance id of the Sophon host that answers at `url`, None if there is none; sends no token.

    Waits at most `PROBE_SECONDS`. The id is empty for a host that states none.
    """
    try:
        response = httpx.get(f"{url}/healthz", timeout=PROBE_SECONDS, trust_env=False)
        answer = response.json()
        if response.status_code != 200 or answer.get("status") != "ok":
            return None
        return str(answer.get("instance", ""))
    except (httpx.HTTPError, ValueError, AttributeError):
        return None
