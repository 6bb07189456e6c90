"""Rules for texts that instruct a model: prompt injection, texts for the evaluator, forged fences."""

from typing import Final

from sophon.security.heuristics.rule import HeuristicRule, Severity


def _rule(name: str, severity: Severity, pattern: str) -> HeuristicRule:
    return HeuristicRule(name, severity, ("text",), pattern)


_INJECTION: Final = (
    _rule(
        "injection.ignore_instructions",
        "high",
        r"\b(?:ignore|disregard|forget|override)\s+(?:\w+\s+){0,3}(?:previous|prior|above|earlier|preceding|original|"
        r"system|your)\s+(?:\w+\s+){0,2}(?:instructions?|prompts?|rules?|directions?|guidelines)\b",
    ),
    _rule(
        "injection.new_instructions",
        "medium",
        r"\b(?:new|updated|revised|real|actual)\s+(?:system\s+)?instructions\s*(?:follow\b|below\b|:)"
        r"|\bfrom now on,?\s+you\s+(?:are|will|must)\b",
    ),
    _rule(
        "injection.role_change",
        "high",
        r"\byou are (?:now|no longer)\s+(?:an?\s+)?(?:\w+\s+){0,2}(?:unrestricted|unfiltered|bound|restricted|root|"
        r"admin(?:istrator)?|dan|jailbroken)\b",
    ),
    _rule(
        "injection.persona",
        "medium",
        r"\b(?:dan mode|do anything now|developer mode (?:is )?(?:enabled|on)|jailbreak mode|"
        r"god mode (?:enabled|on))\b",
    ),
    _rule(
        "injection.chat_markup",
        "high",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?INST\]|<</?SYS>>|<\s*/?\s*system\s*>",
    ),
    _rule(
        "injection.message_header",
        "medium",
        r"(?:^|\n)\s*[#*\[]*\s*(?:system (?:message|prompt|notice|override)|admin(?:istrator)? (?:message|override))"
        r"\s*[\]*]*\s*:",
    ),
    _rule(
        "injection.agent_address",
        "medium",
        r"\b(?:ai|llm|language model|assistant|agents?)s?\b(?:\s+\w+){0,3}\s+(?:reading|processing|summari[sz]ing|"
        r"parsing) this\b",
    ),
    _rule(
        "injection.comment",
        "high",
        r"<!--[^>]*\b(?:ai|assistant|agent|llm)s?\b[^>]*\b(?:execute|run|send|ignore|call|must)\b",
    ),
    _rule(
        "injection.hide_from_user",
        "high",
        r"\b(?:do not|don't|never|without)\s+(?:tell|telling|inform|informing|notify|notifying|alert|alerting|ask|"
        r"asking)\s+(?:the\s+)?(?:user|human|operator|owner)\b",
    ),
    _rule(
        "injection.reveal_prompt",
        "medium",
        r"\b(?:reveal|print|repeat|output|leak|send)\s+(?:\w+\s+){0,3}(?:system prompt|initial prompt|hidden "
        r"instructions|initial instructions)\b",
    ),
    _rule(
        "injection.act_before_answer",
        "high",
        r"\bbefore\s+(?:you\s+)?(?:answer|respond|summari[sz]|continu|proceed|reply)\w*\b[^.\n]*,[^.\n]*\b(?:send|"
        r"upload|post|email|forward|execute|run|delete)\b",
    ),
    _rule(
        "injection.tool_markup",
        "high",
        r"<\s*(?:tool_call|function_calls?|tool_use)\b|\"tool_calls\"\s*:\s*\[",
    ),
    _rule(
        "injection.disable_safety",
        "high",
        r"\b(?:disable|turn off|deactivate|switch off|bypass)\s+(?:\w+\s+){0,2}(?:safety|guardrails?|security checks?|"
        r"content filters?|shield|approvals?|safeguards)\b",
    ),
    _rule(
        "injection.standing_order",
        "medium",
        r"\b(?:always|in (?:every|all) (?:future )?(?:sessions?|conversations?|repl(?:y|ies)))\b[^.\n]*\b(?:without "
        r"(?:asking|approval|confirmation)|(?:send|forward) (?:a )?cop(?:y|ies))\b",
    ),
    _rule(
        "injection.claimed_consent",
        "medium",
        r"\bthe (?:user|owner|operator|admin(?:istrator)?) (?:has )?(?:already )?(?:approved|authori[sz]ed|consented|"
        r"pre-?approved)\b",
    ),
)

_EVALUATOR: Final = (
    _rule(
        "evaluator.verdict",
        "critical",
        r"[\"']decision[\"']\s*:\s*[\"']allow[\"'][^}]*[\"'](?:canary|confidence|reasoning)[\"']\s*:"
        r"|[\"'](?:canary|confidence|reasoning)[\"']\s*:[^}]*[\"']decision[\"']\s*:\s*[\"']allow[\"']",
    ),
    _rule(
        "evaluator.address",
        "high",
        r"\b(?:evaluator|security (?:reviewer|classifier|monitor)|safety (?:filter|classifier)|shield)\s*[,:]\s*"
        r"(?:\w+\s+){0,5}(?:allow|approve|answer|output|respond|return|ignore|mark)\b",
    ),
    _rule(
        "evaluator.answer",
        "high",
        r"\b(?:answer|respond|reply|output|verdict|decision)\s+(?:only\s+|must\s+be\s+|is\s+)?(?:with\s+)?[\"']?"
        r"allow(?:ed)?[\"']?(?:[.!,;\n]|$)",
    ),
    _rule(
        "evaluator.approved_action",
        "high",
        r"\b(?:this|the) (?:action|command|call|request|operation) (?:is|was|has been) (?:already )?(?:pre-?approved|"
        r"pre-?authori[sz]ed|verified as safe|allow-?listed|white-?listed)\b",
    ),
    _rule("evaluator.canary", "medium", r"\bcanary\s+(?:token|value|string)\b"),
    _rule(
        "evaluator.test_claim",
        "medium",
        r"\bthis is (?:only |just )?an? (?:authori[sz]ed )?(?:security )?(?:test|drill|exercise|simulation)\b[^.\n]*\b"
        r"(?:allow|approve|permit|harmless)\b",
    ),
    _rule(
        "evaluator.benign_label",
        "medium",
        r"\b(?:classify|label|score|rate|mark)\s+(?:this|the following)\s+(?:\w+\s+){0,2}as\s+(?:safe|benign|harmless|"
        r"low[- ]risk|trusted)\b",
    ),
)

_FENCES: Final = (
    _rule(
        "fence.closing_tag",
        "high",
        r"</\s*(?:untrusted|tool[_-]?result|tool[_-]?output|external|retrieved|document)[\w:-]*[^>]*>\s*(?:system|"
        r"user|assistant|now\b|instructions?|important|ignore)",
    ),
    _rule(
        "fence.boundary",
        "high",
        r"(?:-{3,}|={3,}|\[|#{3,}|`{3,})\s*(?:end|close)\s+(?:of\s+)?(?:the\s+)?(?:untrusted|external|tool|retrieved|"
        r"fetched)\s+(?:content|text|data|output|results?|input|document)\b",
    ),
)

RULES: Final = (*_INJECTION, *_EVALUATOR, *_FENCES)
