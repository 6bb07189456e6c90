"""Settings of a program that do nothing, because the chain has no middleware that follows them: a warning, or, for a
limit on what a turn spends, a refusal.
"""

import logging
from collections.abc import Sequence

from sophon.chain.order_constraints import list_class_names, read_order_constraints
from sophon.errors import CompositionError

log = logging.getLogger("sophon")

_LIMITS = ("Budget.Turn.", "Budget.Providers.", "Budget.TaskTypes.")
_GUARDS = "Guards."


def check_expected_stages(
    middlewares: Sequence[object], expected: dict[str, tuple[str, ...]], *, is_within_turn: bool
) -> None:
    """Log each setting of `expected` (path -> middlewares, one of which follows it) that the chain does not follow,
    once: it is taken out. Raises CompositionError for a limit, each time.

    A chain `is_within_turn` that a tool runs, for example: it is metered by the outer turn, which follows the settings,
    save the guards, which protect the calls of their own chain only.
    """
    names = {name for each in middlewares for name in (*list_class_names(each), *read_order_constraints(each).provides)}
    for path, stages in [*expected.items()]:
        if not names.isdisjoint(stages) or (is_within_turn and not path.startswith(_GUARDS)):
            continue
        if path.startswith(_LIMITS):
            raise CompositionError(
                f"{path} is set, and this chain has no Budget, which enforces it: put Budget() in front, behind "
                f"SessionEvents(), or leave the limit out"
            )
        del expected[path]
        log.warning(
            "the setting %s does nothing in this chain, which has no %s: a host inserts it, and a program builds its "
            "chain by sophon_hosting.host_chain.build_named_chain(services, 'twelve'), or puts it there itself",
            path,
            " or ".join(stages),
        )
