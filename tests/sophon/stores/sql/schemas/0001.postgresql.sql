CREATE TABLE api_tokens (
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    principal TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    last_used_at TIMESTAMP WITH TIME ZONE,
    revoked_at TIMESTAMP WITH TIME ZONE,
    PRIMARY KEY (id),
    CONSTRAINT api_token_digests_are_unique UNIQUE (digest)
);
CREATE TABLE approvals (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    request TEXT NOT NULL,
    asked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    decision TEXT,
    decided_at TIMESTAMP WITH TIME ZONE,
    PRIMARY KEY (number),
    UNIQUE (id)
);
CREATE TABLE attachments (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (id)
);
CREATE TABLE attempts (
    number BIGSERIAL NOT NULL,
    day TEXT NOT NULL,
    month TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL,
    session_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    unpriced_tokens BIGINT DEFAULT '0' NOT NULL,
    calls BIGINT DEFAULT '1' NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE audit (
    number BIGINT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    event TEXT NOT NULL,
    session_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    chat TEXT NOT NULL,
    principal TEXT NOT NULL,
    tool TEXT NOT NULL,
    capability TEXT NOT NULL,
    risk TEXT NOT NULL,
    guard TEXT NOT NULL,
    rule TEXT NOT NULL,
    outcome TEXT NOT NULL,
    duration_ms BIGINT NOT NULL,
    digests TEXT NOT NULL,
    texts TEXT,
    salts TEXT,
    previous_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE audit_chain (
    number BIGSERIAL NOT NULL,
    last_number BIGINT NOT NULL,
    last_hash TEXT NOT NULL,
    anchor_number BIGINT NOT NULL,
    anchor_hash TEXT NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE budget_alerts (
    provider TEXT NOT NULL,
    period TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (provider, period, name)
);
CREATE TABLE claims (
    id TEXT NOT NULL,
    provider TEXT NOT NULL,
    day TEXT NOT NULL,
    month TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    micros BIGINT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    host TEXT NOT NULL,
    pid BIGINT NOT NULL,
    process TEXT NOT NULL,
    payer TEXT DEFAULT '' NOT NULL,
    task_type TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE data_labels (
    key TEXT NOT NULL,
    label INTEGER NOT NULL,
    private BOOLEAN NOT NULL,
    untrusted BOOLEAN NOT NULL,
    PRIMARY KEY (key)
);
CREATE TABLE events (
    key BIGINT NOT NULL,
    name TEXT NOT NULL,
    task_id TEXT NOT NULL,
    data TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (key)
);
CREATE TABLE feedback (
    run_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    session_id TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (run_id, principal)
);
CREATE TABLE goals (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    session_id TEXT NOT NULL,
    work_session_id TEXT NOT NULL,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    version BIGINT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (id)
);
CREATE TABLE grants (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    principal TEXT NOT NULL,
    session_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    risk TEXT NOT NULL,
    pattern TEXT NOT NULL,
    description TEXT NOT NULL,
    granted_by TEXT NOT NULL,
    granted_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    chat TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (id)
);
CREATE TABLE journal (
    turn TEXT NOT NULL,
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    result TEXT,
    PRIMARY KEY (turn, run_id, call_id)
);
CREATE TABLE leases (
    number BIGSERIAL NOT NULL,
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    schema_version TEXT NOT NULL,
    details TEXT,
    PRIMARY KEY (number),
    UNIQUE (name)
);
CREATE TABLE memories (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    category TEXT NOT NULL,
    text TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sources TEXT,
    reach TEXT DEFAULT 'owner' NOT NULL,
    agent TEXT DEFAULT '' NOT NULL,
    session_id TEXT DEFAULT '' NOT NULL,
    words TEXT DEFAULT '' NOT NULL,
    entities TEXT,
    relations TEXT,
    PRIMARY KEY (number),
    UNIQUE (id)
);
CREATE TABLE message_words (key BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE TABLE message_index (
    name TEXT NOT NULL,
    value BIGINT NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE notes (
    number BIGSERIAL NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (number),
    CONSTRAINT notes_are_unique UNIQUE (channel, account, kind, key)
);
CREATE TABLE preferences (
    person TEXT NOT NULL,
    data TEXT NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (person)
);
CREATE TABLE probes (
    number BIGSERIAL NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE rate_events (
    number BIGSERIAL NOT NULL,
    scope TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE records (
    key BIGINT NOT NULL,
    kind TEXT NOT NULL,
    run_id TEXT NOT NULL,
    message TEXT,
    data TEXT NOT NULL,
    said BOOLEAN NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (key)
);
CREATE TABLE route_averages (
    model TEXT NOT NULL,
    tier TEXT NOT NULL,
    task_type TEXT NOT NULL,
    calls BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    scored BIGINT NOT NULL,
    cost_micros DOUBLE PRECISION,
    latency_ms DOUBLE PRECISION,
    quality DOUBLE PRECISION,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    rated BIGINT DEFAULT '0' NOT NULL,
    said DOUBLE PRECISION,
    PRIMARY KEY (model, tier, task_type)
);
CREATE TABLE schedules (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    session_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    text TEXT NOT NULL,
    kind TEXT NOT NULL,
    expression TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_by TEXT NOT NULL,
    origin TEXT NOT NULL,
    title TEXT NOT NULL,
    misfire TEXT NOT NULL,
    quiet_hours TEXT NOT NULL,
    quiet_action TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE,
    wake_at TIMESTAMP WITH TIME ZONE,
    attempts BIGINT NOT NULL,
    last_due_at TIMESTAMP WITH TIME ZONE,
    last_outcome TEXT,
    last_reason TEXT NOT NULL,
    last_task_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (id)
);
CREATE TABLE sessions (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    model TEXT,
    last_seq BIGINT NOT NULL,
    said BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    planning TEXT,
    forked_from TEXT,
    forked_at BIGINT,
    family TEXT,
    provisional_title TEXT DEFAULT '' NOT NULL,
    pinned BOOLEAN DEFAULT false NOT NULL,
    archived BOOLEAN DEFAULT false NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (id)
);
CREATE TABLE snapshot_chains (
    owner TEXT NOT NULL,
    last_number BIGINT NOT NULL,
    last_hash TEXT NOT NULL,
    anchor_number BIGINT NOT NULL,
    anchor_hash TEXT NOT NULL,
    PRIMARY KEY (owner)
);
CREATE TABLE snapshots (
    owner TEXT NOT NULL,
    number BIGINT NOT NULL,
    id TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    session_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    files TEXT NOT NULL,
    previous_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (owner, number),
    UNIQUE (id)
);
CREATE TABLE spending (
    provider TEXT NOT NULL,
    period TEXT NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (provider, period)
);
CREATE TABLE sub_agents (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    session_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    task TEXT NOT NULL,
    state TEXT NOT NULL,
    depth INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    detail TEXT NOT NULL,
    cancel_requested BOOLEAN NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (id)
);
CREATE TABLE traces (
    key BIGINT NOT NULL,
    name TEXT NOT NULL,
    task_id TEXT NOT NULL,
    data TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (key)
);
CREATE TABLE trajectories (
    number BIGSERIAL NOT NULL,
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    task_type TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    quality DOUBLE PRECISION,
    feedback DOUBLE PRECISION,
    data TEXT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (run_id)
);
CREATE TABLE turn_traces (
    number BIGSERIAL NOT NULL,
    run_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
    day TEXT NOT NULL,
    status TEXT NOT NULL,
    working_ms BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (run_id)
);
CREATE TABLE vectors (
    number BIGSERIAL NOT NULL,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    embedder TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    blob BYTEA NOT NULL,
    data TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    session_id TEXT NOT NULL,
    PRIMARY KEY (number),
    CONSTRAINT vector_keys_are_unique UNIQUE (namespace, key)
);
CREATE TABLE attachment_uses (
    session BIGINT NOT NULL,
    attachment BIGINT NOT NULL,
    PRIMARY KEY (session, attachment),
    FOREIGN KEY(session) REFERENCES sessions (number) ON DELETE CASCADE,
    FOREIGN KEY(attachment) REFERENCES attachments (number) ON DELETE CASCADE
);
CREATE TABLE event_logs (
    number BIGSERIAL NOT NULL,
    session_id TEXT NOT NULL,
    last_seq BIGINT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (session_id),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE TABLE runs (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    channel TEXT NOT NULL,
    origin TEXT NOT NULL,
    text TEXT NOT NULL,
    options TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    starts BIGINT NOT NULL,
    checkpoint TEXT,
    waiting_for TEXT NOT NULL,
    response TEXT,
    error TEXT,
    cancel_requested BOOLEAN NOT NULL,
    signalled BOOLEAN DEFAULT false NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (id),
    FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE TABLE texts (
    session BIGINT NOT NULL,
    id TEXT NOT NULL,
    text TEXT,
    parts TEXT,
    PRIMARY KEY (session, id),
    FOREIGN KEY(session) REFERENCES sessions (number) ON DELETE CASCADE
);
CREATE TABLE checkpoint_logs (
    run BIGINT NOT NULL,
    log BIGINT NOT NULL,
    position BIGINT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (run, log, position),
    FOREIGN KEY(run) REFERENCES runs (number) ON DELETE CASCADE
);
CREATE TABLE inbound (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    run BIGINT NOT NULL,
    PRIMARY KEY (channel, account, external_id),
    FOREIGN KEY(run) REFERENCES runs (number) ON DELETE CASCADE
);
CREATE TABLE outbound (
    number BIGSERIAL NOT NULL,
    id TEXT NOT NULL,
    run_id TEXT,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    position BIGINT NOT NULL,
    not_before TIMESTAMP WITH TIME ZONE,
    status TEXT NOT NULL,
    open BOOLEAN NOT NULL,
    attempts BIGINT NOT NULL,
    doubtful BOOLEAN NOT NULL,
    last_error TEXT NOT NULL,
    platform_id TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    interruptions BIGINT DEFAULT '0' NOT NULL,
    refusals BIGINT DEFAULT '0' NOT NULL,
    retried_at TIMESTAMP WITH TIME ZONE,
    recipient TEXT DEFAULT '' NOT NULL,
    dead_reason TEXT DEFAULT '' NOT NULL,
    delivered BOOLEAN DEFAULT false NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (id),
    FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
CREATE INDEX approvals_by_session ON approvals (session_id);
CREATE INDEX approvals_open ON approvals (asked_at, number) WHERE decision IS NULL;
CREATE INDEX attachment_uses_by_attachment ON attachment_uses (attachment);
CREATE INDEX attachments_by_owner ON attachments (owner);
CREATE INDEX attachments_by_time ON attachments (created_at);
CREATE INDEX attempts_by_day ON attempts (day);
CREATE INDEX attempts_by_session ON attempts (session_id);
CREATE INDEX audit_by_principal ON audit (principal, number);
CREATE INDEX audit_by_session ON audit (session_id, number);
CREATE INDEX feedback_by_session ON feedback (session_id);
CREATE INDEX feedback_by_time ON feedback (at);
CREATE INDEX goals_by_owner ON goals (owner, state);
CREATE INDEX goals_by_session ON goals (session_id);
CREATE INDEX goals_by_state ON goals (state, priority);
CREATE INDEX goals_by_work_session ON goals (work_session_id);
CREATE INDEX grants_by_expiry ON grants (expires_at);
CREATE INDEX grants_by_principal ON grants (principal, tool);
CREATE INDEX grants_by_session ON grants (session_id);
CREATE INDEX inbound_by_run ON inbound (run);
CREATE INDEX memories_by_scope ON memories (scope);
CREATE INDEX memories_by_session ON memories (session_id);
CREATE INDEX memories_by_words ON memories USING gin (array_to_tsvector(string_to_array(words, ' ')));
CREATE INDEX message_words_by_word ON message_words USING gin (words);
CREATE INDEX notes_by_kind ON notes (kind, at);
CREATE INDEX outbound_by_platform_id ON outbound (platform_id);
CREATE INDEX outbound_by_run ON outbound (run_id);
CREATE INDEX outbound_by_status ON outbound (status, created_at);
CREATE INDEX outbound_dead ON outbound (number) WHERE status = 'dead';
CREATE INDEX outbound_open ON outbound (channel, open, account, chat, number);
CREATE INDEX rate_events_by_scope ON rate_events (scope, number);
CREATE INDEX rate_events_by_time ON rate_events (at);
CREATE INDEX runs_by_owner ON runs (owner, number);
CREATE INDEX runs_by_session ON runs (session_id, number);
CREATE INDEX runs_signalled ON runs (number) WHERE signalled;
CREATE INDEX runs_unfinished ON runs (status, number) WHERE finished_at IS NULL;
CREATE INDEX runs_unfinished_of_session ON runs (session_id, number) WHERE finished_at IS NULL;
CREATE INDEX runs_unsuccessful ON runs (status, number) WHERE status IN ('failed', 'cancelled');
CREATE INDEX schedules_by_owner ON schedules (owner);
CREATE INDEX schedules_by_session ON schedules (session_id);
CREATE INDEX schedules_by_wake ON schedules (wake_at, number);
CREATE INDEX sessions_by_family ON sessions (family) WHERE family IS NOT NULL;
CREATE INDEX sessions_by_owner ON sessions (owner, updated_at, number);
CREATE INDEX sessions_by_source ON sessions (forked_from) WHERE forked_from IS NOT NULL;
CREATE INDEX sessions_by_update ON sessions (updated_at, number);
CREATE INDEX sub_agents_by_principal ON sub_agents (principal, state);
CREATE INDEX sub_agents_by_session ON sub_agents (session_id);
CREATE INDEX sub_agents_by_task ON sub_agents (task_id);
CREATE INDEX trajectories_by_quality ON trajectories (quality, number);
CREATE INDEX trajectories_by_session ON trajectories (session_id);
CREATE INDEX turn_traces_by_end ON turn_traces (ended_at);
CREATE INDEX turn_traces_by_session ON turn_traces (session_id);
CREATE INDEX vectors_by_embedder ON vectors (namespace, embedder, number);
CREATE INDEX vectors_by_session ON vectors (session_id);
