"""The import contracts of pyproject.toml are kept, and each of them is broken by an import that it forbids."""

from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import grimp
from importlinter import Contract
from importlinter.api import read_configuration  # pyright: ignore[reportUnknownVariableType] - cast below
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract

from tests.packaging.core_contract import CoreContract

CONFIGURATION = cast(dict[str, Any], read_configuration(str(Path(__file__).parents[2] / "pyproject.toml")))
TYPES: dict[str, type[Contract]] = {
    "layers": LayersContract,
    "acyclic_siblings": AcyclicSiblingsContract,
    "core": CoreContract,
    "forbidden": ForbiddenContract,
}
FORBIDDEN = {
    "Four layers": ("sophon.tools.tool", "sophon_hosting.host"),
    "No import cycle": ("sophon.stores.usage.contract", "sophon.stores.contract"),
    "What each package of the framework": ("sophon.context.context", "sophon.services"),
    "The core": ("sophon.context.context", "sophon.vault"),
    "What each package of the middlewares": ("sophon_middlewares.tool_calls", "sophon_middlewares.chains"),
    "What each package of the channels": ("sophon_channels.contract", "sophon_channels.text"),
    "What each package of the host": ("sophon_hosting.runs.outcomes", "sophon_hosting.host"),
    "The SQL store": ("sophon_middlewares.chains", "sophon.stores.sql_store"),
    "The context": ("sophon.context.context", "sophon.builtin_tools"),
}
"""The first words of each contract, and an import that breaks it."""


def test_each_contract_is_kept_and_finds_an_import_that_it_forbids() -> None:
    session = CONFIGURATION["session_options"]
    graph = grimp.build_graph(*session["root_packages"], cache_dir=None)
    for options, (words, (importer, imported)) in zip(
        CONFIGURATION["contracts_options"], FORBIDDEN.items(), strict=True
    ):
        name: str = options["name"]
        assert name.startswith(words)
        contract = TYPES[options["type"]](name, session, options)
        # A check takes the imports that a contract ignores out of the graph that it is given.
        assert contract.check(deepcopy(graph), verbose=False).kept, name
        broken = deepcopy(graph)
        broken.add_import(importer=importer, imported=imported)
        assert not contract.check(broken, verbose=False).kept, name
