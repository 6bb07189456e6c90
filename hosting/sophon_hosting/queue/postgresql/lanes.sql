-- Functions that keep lanes and owners in turn; the rules are those of `LaneScheduler` and `Rotation`.
--
-- Locks are taken in the order: lane, owners by name, host. `take` begins with an owner instead, and waits for none while
-- it holds another lock.

-- Add to the counts of an owner, and return its row. It gets a new turn when it becomes ready or busy, or was served.
CREATE FUNCTION sophon_queue_count(
    p_owner text, p_total integer, p_ready integer, p_entries integer, p_is_served boolean
) RETURNS sophon_queue_owners LANGUAGE plpgsql AS $$
DECLARE who sophon_queue_owners;
BEGIN
    INSERT INTO sophon_queue_owners AS o (owner, total, ready, entries, is_ready, turn) VALUES (
        p_owner, p_total, p_ready, p_entries, p_ready > 0,
        CASE WHEN p_total > 0 THEN nextval('sophon_queue_order') END
    ) ON CONFLICT (owner) DO UPDATE SET
        total = o.total + p_total,
        ready = o.ready + p_ready,
        entries = o.entries + p_entries,
        is_ready = o.ready + p_ready > 0,
        turn = CASE
            WHEN o.total + p_total = 0 THEN NULL
            WHEN o.turn IS NOT NULL AND o.is_ready = (o.ready + p_ready > 0) AND NOT p_is_served THEN o.turn
            ELSE nextval('sophon_queue_order')
        END
    RETURNING * INTO who;
    IF who.total = 0 AND who.entries = 0 THEN
        DELETE FROM sophon_queue_owners o WHERE o.owner = p_owner;
    END IF;
    RETURN who;
END $$;

-- Write the row of a lane whose entries, hold or delivery have changed, delete it if nothing is left, and count for the
-- owners. `lane` has the new values, but the old ones of `owner`, `deliverable`, `is_ready` and `turn`. `p_owner` has
-- `p_entries` more waiting entries; `p_is_served`: its owner was served.
CREATE FUNCTION sophon_queue_settle(
    lane sophon_queue_lanes, p_owner text, p_entries integer, p_is_served boolean
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    next_owner text := lane.owner;
    next_deliverable integer := 0;
    next_ready boolean;
    change record;
BEGIN
    IF lane.waiting > 0 AND lane.holder IS NULL THEN
        next_deliverable := lane.waiting;
        SELECT e.owner INTO STRICT next_owner FROM sophon_queue_entries e
            WHERE e.session_id = lane.session_id ORDER BY e.place LIMIT 1;
    ELSIF lane.waiting > 0 THEN
        SELECT e.owner INTO next_owner FROM sophon_queue_entries e
            WHERE e.task_id = lane.holder AND e.session_id = lane.session_id;
        next_deliverable := FOUND::integer;
        next_owner := coalesce(next_owner, lane.owner);
    END IF;
    next_ready := next_deliverable > 0 AND lane.wake_at IS NULL;
    IF lane.waiting = 0 AND lane.holder IS NULL AND lane.wake_at IS NULL THEN
        DELETE FROM sophon_queue_lanes l WHERE l.session_id = lane.session_id;
    ELSE
        UPDATE sophon_queue_lanes l SET
            owner = next_owner, waiting = lane.waiting, deliverable = next_deliverable, is_ready = next_ready,
            turn = CASE
                WHEN next_deliverable = 0 THEN NULL
                WHEN lane.turn IS NOT NULL AND lane.is_ready = next_ready AND lane.owner = next_owner THEN lane.turn
                ELSE nextval('sophon_queue_order')
            END,
            holder = lane.holder, task_id = lane.task_id, is_resume = lane.is_resume, task_owner = lane.task_owner,
            deliveries = lane.deliveries, token = lane.token, wake_at = lane.wake_at
            WHERE l.session_id = lane.session_id;
    END IF;
    IF lane.owner = next_owner AND (p_entries = 0 OR lane.owner = p_owner) THEN
        IF p_entries <> 0 OR p_is_served OR lane.deliverable <> next_deliverable OR lane.is_ready <> next_ready THEN
            PERFORM sophon_queue_count(
                next_owner, next_deliverable - lane.deliverable, next_ready::integer - lane.is_ready::integer,
                p_entries, p_is_served);
        END IF;
        RETURN;
    END IF;
    FOR change IN
        SELECT c.owner, sum(c.total)::integer AS total, sum(c.ready)::integer AS ready,
            sum(c.entries)::integer AS entries
        FROM (VALUES (lane.owner, -lane.deliverable, -lane.is_ready::integer, 0),
                     (next_owner, next_deliverable, next_ready::integer, 0),
                     (p_owner, 0, 0, p_entries)) AS c (owner, total, ready, entries)
        GROUP BY c.owner ORDER BY c.owner COLLATE "C"
    LOOP
        IF change.total <> 0 OR change.ready <> 0 OR change.entries <> 0
                OR (p_is_served AND change.owner = lane.owner) THEN
            PERFORM sophon_queue_count(
                change.owner, change.total, change.ready, change.entries,
                p_is_served AND change.owner = lane.owner);
        END IF;
    END LOOP;
END $$;

-- Return how many entries are delivered before the one with `p_rank` others of its owner before it.
CREATE FUNCTION sophon_queue_rank_of_owner(p_owner text, p_rank integer, p_will_be_ready boolean)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE own sophon_queue_owners;
BEGIN
    SELECT * INTO own FROM sophon_queue_owners o WHERE o.owner = p_owner AND o.turn IS NOT NULL;
    RETURN p_rank + (
        SELECT coalesce(sum(least(o.total, p_rank) + (o.total > p_rank AND CASE
            WHEN own.is_ready THEN o.is_ready AND o.turn < own.turn
            WHEN p_will_be_ready THEN o.is_ready
            WHEN own.turn IS NOT NULL THEN o.is_ready OR o.turn < own.turn
            ELSE true
        END)::integer), 0)
        FROM (SELECT * FROM sophon_queue_owners x WHERE x.turn IS NOT NULL AND x.owner <> p_owner LIMIT 250) AS o
    );
END $$;

-- Return how many entries are delivered before number `p_index` of a lane; `lane` is null if there is none yet.
-- It counts 250 lanes of the owner and 250 owners at most.
CREATE FUNCTION sophon_queue_rank(lane sophon_queue_lanes, p_session text, p_owner text, p_index integer)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    whose text := CASE WHEN lane.deliverable > 0 THEN lane.owner ELSE p_owner END;
    will_be_ready boolean := lane.wake_at IS NULL;
    rank integer;
BEGIN
    SELECT p_index + coalesce(sum(least(l.deliverable, p_index) + (l.deliverable > p_index AND CASE
            WHEN lane.is_ready THEN l.is_ready AND l.turn < lane.turn
            WHEN will_be_ready THEN l.is_ready
            WHEN lane.turn IS NOT NULL THEN l.is_ready OR l.turn < lane.turn
            ELSE true
        END)::integer), 0) INTO rank
        FROM (
            SELECT * FROM sophon_queue_lanes x
            WHERE x.owner = whose AND x.turn IS NOT NULL AND x.session_id <> p_session LIMIT 250
        ) AS l;
    RETURN sophon_queue_rank_of_owner(whose, rank, will_be_ready);
END $$;

-- Return the position of a task; null if it does not wait.
CREATE FUNCTION sophon_queue_position(p_task text) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    entry sophon_queue_entries;
    lane sophon_queue_lanes;
    index integer := 0;
BEGIN
    SELECT * INTO entry FROM sophon_queue_entries e WHERE e.task_id = p_task;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT * INTO STRICT lane FROM sophon_queue_lanes l WHERE l.session_id = entry.session_id;
    IF lane.holder IS DISTINCT FROM p_task THEN
        SELECT count(*) INTO index FROM sophon_queue_entries e
            WHERE e.session_id = entry.session_id AND e.place < entry.place;
    END IF;
    RETURN sophon_queue_rank(lane, entry.session_id, entry.owner, index);
END $$;

-- Return the position that a new run would get.
CREATE FUNCTION sophon_queue_estimate(p_task text, p_session text, p_owner text)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE lane sophon_queue_lanes;
BEGIN
    SELECT * INTO lane FROM sophon_queue_lanes l WHERE l.session_id = p_session;
    RETURN sophon_queue_rank(
        lane, p_session, p_owner, CASE WHEN lane.holder = p_task THEN 0 ELSE coalesce(lane.waiting, 0) END);
END $$;
