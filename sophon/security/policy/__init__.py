"""Policy: rules of a YAML file that deny, verify or allow an action by its type and the paths that it touches."""

from sophon.security.policy.policy import Policy, PolicyDecision
from sophon.security.policy.policy_file import PolicyError

__all__ = ["Policy", "PolicyDecision", "PolicyError"]
