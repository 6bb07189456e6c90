"""Transport of the client where no host runs: operations run in this process, on the configured store."""

from contextlib import nullcontext
from typing import Any

from sophon.errors import SophonError
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import run_with_store
from sophon_hosting.cli.console.output import write_notice
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.server_bootstrap import create_store_lease
from sophon_hosting.client_api.stored_caller import RunningHostRequired, StoredCaller
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Request
from sophon_hosting.store.contract import HostStore

DEFERRED_EFFECT_NOTICE = "it takes effect when the host starts, or within seconds if a host elsewhere uses this store"


class StoreSend:
    """Runs operations on the store, which every call opens and closes.

    `notice` says why the store is used where a host is expected; it is written with the first use. Whoever changes
    something is told then when it takes effect.
    """

    def __init__(self, options: GlobalOptions, settings: Settings, notice: str = "") -> None:
        self._options, self._settings = options, settings
        self._notice, self._is_instead_of_host = notice, bool(notice)

    def __call__(self, operation: Operation[Any, Any], request: Request) -> Any:
        """Return the result. Raises RunningHostRequired for an operation that the store alone cannot do, StoreError for
        an exclusive one while another process has the lease of the store.
        """
        try:
            result = self._run_with_store(operation, request)
        except RunningHostRequired:  # the notice would say that the store is used
            raise
        except SophonError:
            self._write_notice()
            raise
        self._write_notice()
        is_deferred = operation.method not in ("GET", "") and not operation.options.is_exclusive
        if is_deferred and self._is_instead_of_host:
            write_notice(DEFERRED_EFFECT_NOTICE)
        return result

    def _run_with_store(self, operation: Operation[Any, Any], request: Request) -> Any:
        is_exclusive = operation.options.is_exclusive
        with create_store_lease(self._options, self._settings) if is_exclusive else nullcontext():
            return run_with_store(self._options, lambda store: self._run(store, operation, request))

    async def _run(self, store: HostStore, operation: Operation[Any, Any], request: Request) -> Any:
        caller = StoredCaller(store, self._settings, self._options.settings_folder)
        return operation.to_answer(await operation.call(caller, request))

    def _write_notice(self) -> None:
        if self._notice:
            write_notice(self._notice)
            self._notice = ""
