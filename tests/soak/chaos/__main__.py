"""`python -m tests.soak.chaos`: one chaos run with its table; exit code 1 if a guarantee did not hold."""

import argparse
import asyncio
import random
import shutil
import tempfile
from pathlib import Path
from typing import get_args

from tests.soak.chaos.faults import FaultKind
from tests.soak.chaos.run import USUAL_KINDS, ChaosPlan, run_chaos


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.chaos", description=__doc__)
    parser.add_argument("--backend", choices=["Redis", "RabbitMq", "Postgres"], default="Redis")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--messages", type=int, default=10)
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--without", default="", help="a guarantee to take out: fence, lease or transaction")
    parser.add_argument("--flush", action="store_true", help="Redis forgets everything now and then")
    parser.add_argument("--poison", type=int, default=3, help="how many messages kill who answers them")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which the run has failed")
    given = parser.parse_args()
    plan = ChaosPlan(
        given.backend,
        given.seed,
        processes=given.processes,
        sessions=given.sessions,
        messages=given.messages,
        faults=given.faults,
        poison=given.poison,
        limit_seconds=given.limit,
        kinds=get_args(FaultKind) if given.flush else USUAL_KINDS,
        without=given.without,
    )
    folder = Path(tempfile.mkdtemp(prefix="sophon-chaos-"))
    folder.chmod(0o755)  # PostgreSQL runs as a user of its own
    print(f"backend {plan.backend}, seed {plan.seed}, folder {folder}")
    report = asyncio.run(run_chaos(plan, folder))
    print(report.render())
    if report.violations:
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
