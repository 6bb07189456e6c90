"""Registry of the operations of this host: the tables of all features."""

from sophon_hosting.features.agents.operations import table as agents
from sophon_hosting.features.approvals.grants import table as grants
from sophon_hosting.features.approvals.operations import table as approvals
from sophon_hosting.features.attachments.operations import table as attachments
from sophon_hosting.features.channels.operations import table as channels
from sophon_hosting.features.goals.operations import table as goals
from sophon_hosting.features.guards.audit import table as audit
from sophon_hosting.features.guards.operations import table as guards
from sophon_hosting.features.host.logs import table as logs
from sophon_hosting.features.host.operations import table as host
from sophon_hosting.features.imports.operations import table as imports
from sophon_hosting.features.learning.routing import table as routing
from sophon_hosting.features.learning.trajectories import table as trajectories
from sophon_hosting.features.mcp.operations import table as mcp
from sophon_hosting.features.memory.operations import table as memory
from sophon_hosting.features.memory.workspace import table as workspace
from sophon_hosting.features.persons.operations import table as persons
from sophon_hosting.features.preferences.operations import table as preferences
from sophon_hosting.features.providers.operations import table as providers
from sophon_hosting.features.queue.operations import table as queue
from sophon_hosting.features.schedules.operations import table as schedules
from sophon_hosting.features.sessions.branches import table as branches
from sophon_hosting.features.sessions.history import table as history
from sophon_hosting.features.sessions.operations import table as sessions
from sophon_hosting.features.settings.operations import table as settings
from sophon_hosting.features.settings.setup import table as setup
from sophon_hosting.features.tasks.messages import table as messages
from sophon_hosting.features.tasks.operations import table as tasks
from sophon_hosting.features.tokens.operations import table as tokens
from sophon_hosting.features.tools.custom_tools import table as custom_tools
from sophon_hosting.features.tools.operations import table as tools
from sophon_hosting.features.traces.operations import table as traces
from sophon_hosting.features.traces.replays import table as replays
from sophon_hosting.features.usage.operations import table as usage
from sophon_hosting.features.webhooks.operations import table as webhooks
from sophon_hosting.operations.current_user import table as current_user
from sophon_hosting.operations.table import Registry

REGISTRY = Registry(
    [
        sessions,
        history,
        branches,
        imports,
        attachments,
        messages,
        tasks,
        approvals,
        grants,
        agents,
        goals,
        memory,
        workspace,
        persons,
        preferences,
        schedules,
        current_user,
        host,
        channels,
        logs,
        providers,
        queue,
        mcp,
        webhooks,
        tokens,
        settings,
        setup,
        tools,
        custom_tools,
        traces,
        replays,
        guards,
        audit,
        routing,
        trajectories,
        usage,
    ]
)
