-- Tables of one task queue. `sophon_queue_` stands for the prefix of Queue.Name; names.py replaces it.
--
-- Few indexes, and pages with free space: updates of counts, hosts and holds are HOT.

CREATE TABLE sophon_queue_version (
    version integer NOT NULL,
    swept_at timestamptz NOT NULL
) WITH (fillfactor = 20);

-- Turns of owners and lanes, places in a lane and fencing tokens. Values are never repeated; see `advance_tokens`.
CREATE SEQUENCE sophon_queue_order;

-- What waits. `place` orders the entries of a lane; what goes to the front has a negative one.
CREATE TABLE sophon_queue_entries (
    task_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    is_resume boolean NOT NULL,
    owner text COLLATE "C" NOT NULL,
    place bigint NOT NULL,
    deliveries integer NOT NULL,
    since timestamptz NOT NULL,
    CONSTRAINT sophon_queue_entries_pkc PRIMARY KEY (task_id)
);
CREATE INDEX sophon_queue_entries_lane ON sophon_queue_entries (session_id, place);

-- A lane per session that has a task; its row is locked by whatever changes the lane.
-- `deliverable` entries of `owner`, that of the next one: all that wait, or with a `holder` its own.
-- `turn`: order among the ready lanes of the owner, or among those that are not; null without a deliverable entry.
-- `task_id` to `token`: the delivery in flight, whose lease ends at `wake_at`; without a token that is when a delay ends.
CREATE TABLE sophon_queue_lanes (
    session_id text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    waiting integer NOT NULL,
    deliverable integer NOT NULL,
    is_ready boolean NOT NULL,
    turn bigint,
    holder text COLLATE "C",
    task_id text COLLATE "C",
    is_resume boolean,
    task_owner text COLLATE "C",
    deliveries integer,
    token bigint,
    wake_at timestamptz,
    CONSTRAINT sophon_queue_lanes_pkc PRIMARY KEY (session_id)
) WITH (fillfactor = 70);
CREATE INDEX sophon_queue_lanes_turn ON sophon_queue_lanes (owner, is_ready, turn) WHERE turn IS NOT NULL;
CREATE INDEX sophon_queue_lanes_wake ON sophon_queue_lanes (wake_at) WHERE wake_at IS NOT NULL;

-- An owner per user with waiting entries. `total` and `ready`: deliverable entries and ready lanes; `entries`: all of the
-- owner that wait. `turn` as of lanes.
CREATE TABLE sophon_queue_owners (
    owner text COLLATE "C" NOT NULL,
    total integer NOT NULL,
    ready integer NOT NULL,
    entries integer NOT NULL,
    is_ready boolean NOT NULL,
    turn bigint,
    CONSTRAINT sophon_queue_owners_pkc PRIMARY KEY (owner)
) WITH (fillfactor = 50);
CREATE INDEX sophon_queue_owners_turn ON sophon_queue_owners (turn) WHERE is_ready;

CREATE TABLE sophon_queue_dead (
    task_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    is_resume boolean NOT NULL,
    owner text COLLATE "C" NOT NULL,
    deliveries integer NOT NULL,
    died_at timestamptz NOT NULL,
    number bigint NOT NULL,
    CONSTRAINT sophon_queue_dead_pkc PRIMARY KEY (task_id)
);

-- A host per process that takes. `is_idle`: it waits for a notice on the channel of its name. `seconds`: how long its
-- tasks take. The row '' counts for the hosts that are gone.
CREATE TABLE sophon_queue_hosts (
    host text COLLATE "C" NOT NULL,
    is_idle boolean NOT NULL,
    delivered bigint NOT NULL,
    seconds double precision,
    seen_at timestamptz NOT NULL,
    CONSTRAINT sophon_queue_hosts_pkc PRIMARY KEY (host)
) WITH (fillfactor = 20);

CREATE TYPE sophon_queue_delivery AS (
    task_id text, session_id text, is_resume boolean, owner text, token bigint, deliveries integer
);
CREATE TYPE sophon_queue_admission AS (
    is_full boolean, is_new boolean, place integer, occupied integer, own integer, owners integer, in_flight integer
);

DO $$
DECLARE name text;
BEGIN
    -- Rows live for seconds: vacuum by their number, not by a share of the table, and without pauses.
    FOREACH name IN ARRAY ARRAY['entries', 'lanes', 'owners', 'hosts', 'version'] LOOP
        EXECUTE format(
            'ALTER TABLE %I SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, '
            'autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, '
            'autovacuum_analyze_threshold = 100000)', 'sophon_queue_' || name);
    END LOOP;
END $$;
