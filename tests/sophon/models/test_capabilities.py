"""One capability in many spellings, and what the settings declare beside the catalog."""

from sophon.models.capabilities import capability_key, declare_capabilities, fast_first, has_capability
from sophon.models.gateway.provider import Candidate, Provider
from sophon.models.model import ModelInfo
from sophon.testing import FunctionModel
from tests.tables import table


@table("spelling", ["code generation", "Code Generation", "code_generation", "CODE-GENERATION", " codeGeneration "])
def test_case_space_dash_and_underscore_do_not_count(spelling: str) -> None:
    assert capability_key(spelling) == "codegeneration"
    assert has_capability(ModelInfo("m", "p", capabilities=frozenset({"code_generation"})), spelling)
    assert has_capability(ModelInfo("m", "p", capabilities=frozenset({spelling})), "code generation")


@table("other", ["code", "generation", "code generations", "code.generation"])
def test_another_word_is_another_capability(other: str) -> None:
    assert not has_capability(ModelInfo("m", "p", capabilities=frozenset({"code_generation"})), other)


@table(
    ("hint", "found"),
    [
        ("requires reasoning", True),
        ("Requires code generation.", True),
        ("needs strong reasoning capabilities", True),
        ("requires: code_generation", True),
        ("requires reasoning and code generation", True),
        ("reasoning, vision", False),
        ("requires vision", False),
        ("requires", False),
        ("and", False),
        ("without reasoning", False),
        ("reasoning about code generation", False),
    ],
)
def test_a_hint_may_be_a_phrase_and_demands_each_capability_that_it_names(hint: str, found: bool) -> None:
    assert has_capability(ModelInfo("m", "p", capabilities=frozenset({"reasoning", "code generation"})), hint) is found


@table(
    ("known", "native", "declared", "stated", "capabilities", "able"),
    [
        ({"vision"}, False, (), None, {"vision"}, False),
        ({"vision"}, False, ("fast",), None, {"vision", "fast"}, False),
        ({"function_calling"}, True, ("Function Calling", "fast"), None, {"function_calling", "fast"}, True),
        ({"vision"}, False, ("Function Calling",), None, {"vision", "function_calling"}, True),
        ({"vision"}, False, ("Function Calling",), False, {"vision"}, False),
        ({"vision"}, False, ("Vision", "code generation"), None, {"vision", "code generation"}, False),
    ],
)
def test_declared_capabilities_stand_beside_the_known_ones(known, native, declared, stated, capabilities, able) -> None:
    info = ModelInfo("m", "p", function_calling=native, capabilities=frozenset(known))
    found = declare_capabilities(info, declared, function_calling=stated)
    assert (found.capabilities, found.function_calling) == (capabilities, able)


def model(name: str, *capabilities: str) -> FunctionModel:
    async def answer(request: object) -> str:
        return name

    return FunctionModel(answer, name=name, capabilities=capabilities)


A = Provider("a", [model("a1")])
B = Provider("b", [model("b1"), model("b2", "Fast")])
C = Provider("c", [model("c1", "fast")])


@table(
    ("providers", "order"),
    [((A,), "a1"), ((A, B), "b2 a1 b1"), ((A, B, C), "b2 a1 b1 c1"), ((A, C), "c1 a1"), ((C, A), "c1 a1"), ((), "")],
)
def test_a_fast_model_comes_first_and_the_route_stays_behind_it(providers: tuple[Provider, ...], order: str) -> None:
    route = [Candidate(each, each.models[0]) for each in providers]
    assert [candidate.info.name for candidate in fast_first(route)] == order.split()
