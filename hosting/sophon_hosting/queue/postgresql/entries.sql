-- Entries and holds: each operation is one call, a transaction of its own in one round trip.

-- Tell one idle host that a lane may be ready. Under load no host is idle, and there is no NOTIFY, whose commits wait
-- for each other. A notice that is lost is made up for by the polls of the hosts.
CREATE FUNCTION sophon_queue_wake() RETURNS void LANGUAGE plpgsql AS $$
DECLARE channel text;
BEGIN
    UPDATE sophon_queue_hosts h SET is_idle = false WHERE h.host = (
        SELECT x.host FROM sophon_queue_hosts x
        WHERE x.is_idle AND x.seen_at > clock_timestamp() - interval '15 seconds'
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) RETURNING h.host INTO channel;
    IF FOUND THEN
        PERFORM pg_notify(channel, '');
    END IF;
END $$;

-- Return the row of a lane, locked; a new one has no entries yet, and `settle` deletes it if it stays so.
CREATE FUNCTION sophon_queue_lock_lane(p_session text, p_owner text)
RETURNS sophon_queue_lanes LANGUAGE plpgsql AS $$
DECLARE lane sophon_queue_lanes;
BEGIN
    LOOP
        SELECT * INTO lane FROM sophon_queue_lanes l WHERE l.session_id = p_session FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO sophon_queue_lanes (session_id, owner, waiting, deliverable, is_ready)
            VALUES (p_session, p_owner, 0, 0, false) ON CONFLICT DO NOTHING RETURNING * INTO lane;
        EXIT WHEN FOUND;
    END LOOP;
    RETURN lane;
END $$;

-- Decide about one more entry of an owner; the rule is `may_enter`. Reserved slots are those of the calling process.
CREATE FUNCTION sophon_queue_admit(
    p_owner text, p_capacity integer, p_share double precision, p_reserved integer, p_own_reserved integer
) RETURNS sophon_queue_admission LANGUAGE plpgsql AS $$
DECLARE
    result sophon_queue_admission;
    free integer;
BEGIN
    SELECT coalesce(sum(o.entries), 0) + p_reserved,
           coalesce(sum(o.entries) FILTER (WHERE o.owner = p_owner), 0) + p_own_reserved,
           count(*) FILTER (WHERE o.entries > 0)
        INTO result.occupied, result.own, result.owners FROM sophon_queue_owners o;
    free := p_capacity - result.occupied;
    result.is_full := NOT (free >= 1 AND (
        p_share >= 1 OR result.own = 0 OR (free > 1 AND result.own * (1 - p_share) < p_share * free)));
    IF result.is_full THEN
        SELECT count(*) INTO result.in_flight FROM sophon_queue_lanes l
            WHERE l.wake_at IS NOT NULL AND l.token IS NOT NULL;
    END IF;
    RETURN result;
END $$;

-- Put an entry. `p_capacity` is null if it is never refused. Only calls that may be refused wait for each other: what
-- leaves meanwhile makes room, and what enters meanwhile is never refused, as if it had come later.
CREATE FUNCTION sophon_queue_put(
    p_task text, p_session text, p_is_resume boolean, p_owner text, p_wake boolean,
    p_capacity integer, p_share double precision, p_reserved integer, p_own_reserved integer
) RETURNS sophon_queue_admission LANGUAGE plpgsql AS $$
DECLARE
    result sophon_queue_admission;
    lane sophon_queue_lanes;
    who sophon_queue_owners;
    has_lane boolean;
    lane_place bigint;
BEGIN
    LOOP
        SELECT * INTO lane FROM sophon_queue_lanes l WHERE l.session_id = p_session FOR UPDATE;
        has_lane := FOUND;
        IF has_lane THEN
            PERFORM 1 FROM sophon_queue_entries e WHERE e.task_id = p_task;
            IF FOUND THEN
                IF p_is_resume THEN
                    UPDATE sophon_queue_entries e SET is_resume = true, place = -nextval('sophon_queue_order')
                        WHERE e.task_id = p_task;
                    PERFORM sophon_queue_settle(lane, p_owner, 0, false);
                END IF;
                result.place := sophon_queue_position(p_task);
                RETURN result;
            ELSIF lane.task_id = p_task AND NOT p_is_resume THEN
                result.place := 0;
                RETURN result;
            END IF;
        END IF;
        PERFORM 1 FROM sophon_queue_dead d WHERE d.task_id = p_task;
        IF FOUND THEN
            UPDATE sophon_queue_dead d SET is_resume = true WHERE d.task_id = p_task AND p_is_resume;
            result.place := 0;
            RETURN result;
        END IF;
        IF p_capacity IS NOT NULL AND NOT p_is_resume THEN
            PERFORM pg_advisory_xact_lock('sophon_queue_version'::regclass::oid::bigint);
            result := sophon_queue_admit(p_owner, p_capacity, p_share, p_reserved, p_own_reserved);
            IF result.is_full THEN
                RETURN result;
            END IF;
        END IF;
        EXIT WHEN has_lane;
        INSERT INTO sophon_queue_lanes (session_id, owner, waiting, deliverable, is_ready, turn)
            VALUES (p_session, p_owner, 1, 1, true, nextval('sophon_queue_order')) ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
    END LOOP;
    result.is_new := true;
    lane_place := nextval('sophon_queue_order');
    INSERT INTO sophon_queue_entries (task_id, session_id, is_resume, owner, place, deliveries, since) VALUES (
        p_task, p_session, p_is_resume, p_owner, CASE WHEN p_is_resume THEN -lane_place ELSE lane_place END,
        0, clock_timestamp());
    IF has_lane THEN
        lane.waiting := lane.waiting + 1;
        PERFORM sophon_queue_settle(lane, p_owner, 1, false);
        result.place := sophon_queue_position(p_task);
    ELSE
        who := sophon_queue_count(p_owner, 1, 1, 1, false);
        result.place := sophon_queue_rank_of_owner(p_owner, who.ready - 1, true);
    END IF;
    IF p_wake THEN
        PERFORM sophon_queue_wake();
    END IF;
    RETURN result;
END $$;

CREATE FUNCTION sophon_queue_hold(p_session text, p_task text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE lane sophon_queue_lanes;
BEGIN
    lane := sophon_queue_lock_lane(p_session, '');
    IF lane.holder IS NULL THEN
        lane.holder := p_task;
        PERFORM sophon_queue_settle(lane, lane.owner, 0, false);
    END IF;
    RETURN lane.holder = p_task;
END $$;

CREATE FUNCTION sophon_queue_release(p_session text, p_task text, p_wake boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE lane sophon_queue_lanes;
BEGIN
    SELECT * INTO lane FROM sophon_queue_lanes l
        WHERE l.session_id = p_session AND l.holder = p_task FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    lane.holder := NULL;
    PERFORM sophon_queue_settle(lane, lane.owner, 0, false);
    IF p_wake THEN
        PERFORM sophon_queue_wake();
    END IF;
    RETURN true;
END $$;

-- Remove a waiting entry or a dead letter. Return the owner of the entry, '' of a dead letter; null if there is none.
CREATE FUNCTION sophon_queue_remove(p_task text, OUT is_removed boolean, OUT whose text) LANGUAGE plpgsql AS $$
DECLARE
    lane sophon_queue_lanes;
    entry sophon_queue_entries;
BEGIN
    SELECT * INTO entry FROM sophon_queue_entries e WHERE e.task_id = p_task;
    IF FOUND THEN
        SELECT * INTO lane FROM sophon_queue_lanes l WHERE l.session_id = entry.session_id FOR UPDATE;
        DELETE FROM sophon_queue_entries e WHERE e.task_id = p_task RETURNING * INTO entry;
        IF FOUND THEN
            lane.waiting := lane.waiting - 1;
            PERFORM sophon_queue_settle(lane, entry.owner, -1, false);
            is_removed := true;
            whose := entry.owner;
            RETURN;
        END IF;
    END IF;
    DELETE FROM sophon_queue_dead d WHERE d.task_id = p_task;
    is_removed := FOUND;
END $$;

-- Put a dead letter again; return its owner, or null if there is none.
CREATE FUNCTION sophon_queue_retry(p_task text, p_wake boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    lane sophon_queue_lanes;
    letter sophon_queue_dead;
    lane_place bigint := nextval('sophon_queue_order');
BEGIN
    SELECT * INTO letter FROM sophon_queue_dead d WHERE d.task_id = p_task;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    lane := sophon_queue_lock_lane(letter.session_id, letter.owner);
    DELETE FROM sophon_queue_dead d WHERE d.task_id = p_task RETURNING * INTO letter;
    IF NOT FOUND THEN
        PERFORM sophon_queue_settle(lane, lane.owner, 0, false);
        RETURN NULL;
    END IF;
    INSERT INTO sophon_queue_entries (task_id, session_id, is_resume, owner, place, deliveries, since) VALUES (
        p_task, letter.session_id, letter.is_resume, letter.owner,
        CASE WHEN letter.is_resume THEN -lane_place ELSE lane_place END, 0, clock_timestamp());
    lane.waiting := lane.waiting + 1;
    PERFORM sophon_queue_settle(lane, letter.owner, 1, false);
    IF p_wake THEN
        PERFORM sophon_queue_wake();
    END IF;
    RETURN letter.owner;
END $$;
