"""Every call of a model passes the gateway with the hooks of its turn; whoever adds another way must say so here."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("sophon", "middlewares", "hosting", "channels")

OF_A_TURN = {
    "hosting/sophon_hosting/features/goals/planner/planning.py": 2,  # plan and its review
    "hosting/sophon_hosting/features/post_turn/answer_evaluation.py": 1,
    "hosting/sophon_hosting/features/post_turn/memory_extraction.py": 1,
    "hosting/sophon_hosting/features/post_turn/title_generation.py": 1,
    "middlewares/sophon_middlewares/guards/shield/evaluator.py": 1,
    "middlewares/sophon_middlewares/guards/simulation.py": 1,
    "middlewares/sophon_middlewares/inner/llm_invoker/reply.py": 1,
    "middlewares/sophon_middlewares/inner/llm_invoker/llm_invoker.py": 1,
    "middlewares/sophon_middlewares/outer/planning/planning.py": 2,  # plan and vote
    "middlewares/sophon_middlewares/outer/planning/synthesis.py": 1,
    "middlewares/sophon_middlewares/outer/context_window/compaction.py": 1,
    "middlewares/sophon_middlewares/outer/context_window/fact_flush.py": 1,
}
"""Files that call a model by `ctx.complete`, which gives the gateway the hooks of the turn, and how often. That hooks
see each is shown by `test_masked_purposes.py` and `test_personal_data.py` in `tests/middlewares/guards`, by
`tests/hosting/test_masked_host.py` and `tests/hosting/features/goals/test_planning_hooks.py`.
"""

OF_THE_GATEWAY = {"sophon/context/context.py": 1}
"""Calls of `gateway.call`."""

OF_A_MODEL = {
    "sophon/models/gateway/attempt_runner.py": 1,  # the gateway itself, inside of the hooks
    "sophon/models/providers/provider_factory.py": 1,  # a model around another one
    "sophon/models/providers/provider_trial.py": 1,  # a fixed text, when a key is tried
    "sophon/testing/fake_models.py": 1,  # a model around another one
}
"""Calls of `Model.complete`."""

OTHER_METHODS = {"self._terminator.complete", "progress.complete", "node.complete"}
"""Methods of the same name that call no model."""


def list_calls() -> list[tuple[str, str]]:
    """(file, function) of each call of a method `complete` or `call`."""
    found: list[tuple[str, str]] = []
    for file in (each for package in PACKAGES for each in sorted((ROOT / package).rglob("*.py"))):
        source = file.read_text(encoding="utf-8")
        if ".complete(" in source or ".call(" in source:
            found += [
                (str(file.relative_to(ROOT)), ast.unparse(node.func))
                for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("complete", "call")
            ]
    return found


def test_models_are_called_by_turns_the_gateway_and_the_trial_of_a_key_alone() -> None:
    by_turns, by_gateway, directly = Counter[str](), Counter[str](), Counter[str]()
    for file, function in list_calls():
        if function.endswith("ctx.complete"):
            by_turns[file] += 1
        elif function.endswith("gateway.call"):
            by_gateway[file] += 1
        elif function.endswith(".complete") and function not in OTHER_METHODS:
            directly[file] += 1
    assert by_turns == OF_A_TURN
    assert by_gateway == OF_THE_GATEWAY
    assert directly == OF_A_MODEL
