"""Run the few tests that failed again, alone and in one process; see decision 62."""

import json
import subprocess
import sys
from pathlib import Path

FAILED = Path(__file__).parent.parent / ".pytest_cache" / "v" / "cache" / "lastfailed"
MAX_FAILED = 3
TIMES = 2


def main() -> int:
    """Return 0 if the few tests that failed beside the others pass alone, each time."""
    failed = sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if not 0 < len(failed) <= MAX_FAILED:
        print(f"{len(failed)} tests are noted as failed; at least one and at most {MAX_FAILED} are run again.")
        return 1
    print(f"UNSTABLE: failed beside the others, and run again alone, {TIMES} times:", *failed, sep="\n  ", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *failed]
    return int(any(subprocess.run(command, cwd=FAILED.parents[3], check=False).returncode for _ in range(TIMES)))


if __name__ == "__main__":
    sys.exit(main())
