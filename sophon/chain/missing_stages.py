"""Warning about settings of a program that do nothing, because the chain has no middleware that follows them."""

import logging
from collections.abc import Sequence

from sophon.chain.order_constraints import list_class_names, read_order_constraints

log = logging.getLogger("sophon")


def warn_of_missing_stages(middlewares: Sequence[object], expected: dict[str, str]) -> None:
    """Log each setting of `expected` (middleware -> setting) that the chain does not follow, once: it is taken out."""
    names = {name for each in middlewares for name in (*list_class_names(each), *read_order_constraints(each).provides)}
    for name in [each for each in expected if each not in names]:
        log.warning(
            "the setting %s does nothing in this chain, which has no %s: a host inserts it, and a program builds its "
            "chain by sophon_hosting.chain_factory.build_named_chain(services, 'twelve'), or puts it there itself",
            expected.pop(name),
            name,
        )
