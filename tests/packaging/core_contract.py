"""Import contract of the core: its modules import one another and nothing else of `sophon`.

The built-in `forbidden` contract cannot say this: it would forbid the core's imports of itself, too.
"""

from typing import cast

import grimp
from importlinter import Contract, ContractCheck, fields, output


class CoreContract(Contract):
    """`modules` in reading order; `types_only` are imports for type checkers alone, `importer -> imported`."""

    type_name = "core"

    modules = fields.ListField(subfield=fields.StringField())
    types_only = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Return the imports that leave the core, and the permitted ones that nobody makes."""
        modules, permitted = cast(list[str], self.modules), cast(list[str], self.types_only)
        leaving = [
            f"{module} -> {other}"
            for module in modules
            for other in sorted(graph.find_modules_directly_imported_by(module))
            if other.startswith("sophon.") and other not in modules
        ]
        faults = [f"{each} leaves the core" for each in leaving if each not in permitted]
        faults += [f"{each} is permitted, and nobody imports so" for each in permitted if each not in leaving]
        return ContractCheck(kept=not faults, metadata={"faults": faults})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each fault."""
        for fault in check.metadata["faults"]:
            output.print_error(fault)
