"""Composition of many hosts that are alike: what was found to be right once is not checked again."""

from collections.abc import Generator
from contextlib import contextmanager
from unittest.mock import patch

from sophon.chain import pipeline


@contextmanager
def composed_once() -> Generator[None]:
    """Check each class of middlewares, and each order of them, only the first time."""
    real_check, real_order = pipeline.check_middleware, pipeline.check_chain_order

    def check(middleware: object, position: int) -> None:
        if type(middleware) not in _CHECKED:
            real_check(middleware, position)
            _CHECKED.add(type(middleware))

    def check_order(middlewares: list[object], *, is_fragment: bool = False) -> None:
        order = (*map(type, middlewares), is_fragment)
        if order not in _ORDERS:
            real_order(middlewares, is_fragment=is_fragment)
            _ORDERS.add(order)

    with patch.object(pipeline, "check_middleware", check), patch.object(pipeline, "check_chain_order", check_order):
        yield


_CHECKED: set[type] = set()
_ORDERS: set[tuple[object, ...]] = set()
