"""Registry of the operations of this host: the tables of all features."""

from sophon_hosting.features.approvals.grants import table as grants
from sophon_hosting.features.approvals.operations import table as approvals
from sophon_hosting.features.goals.operations import table as goals
from sophon_hosting.features.schedules.operations import table as schedules
from sophon_hosting.features.usage.operations import table as usage
from sophon_hosting.operations.table import Registry

REGISTRY = Registry([approvals, grants, goals, schedules, usage])
