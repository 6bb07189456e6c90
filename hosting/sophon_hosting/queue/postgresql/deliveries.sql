-- Deliveries, their leases and the hosts that take: each operation is one call, as in entries.sql.

-- Give back the delivery of a locked lane, or make a dead letter of it; return `waiting` or `dead`.
CREATE FUNCTION sophon_queue_return(
    lane sophon_queue_lanes, p_is_counted boolean, p_delay double precision, p_max_deliveries integer
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    count integer := lane.deliveries - (NOT p_is_counted)::integer;
    task text := lane.task_id;
    resume boolean := lane.is_resume;
    whose text := lane.task_owner;
    is_dead boolean;
    added integer := 0;
    twin sophon_queue_entries;
BEGIN
    is_dead := count >= p_max_deliveries;
    DELETE FROM sophon_queue_entries e WHERE e.task_id = task RETURNING * INTO twin;
    IF FOUND THEN
        resume := twin.is_resume;
        whose := twin.owner;
        added := -1;
    END IF;
    IF is_dead THEN
        INSERT INTO sophon_queue_dead (task_id, session_id, is_resume, owner, deliveries, died_at, number)
            VALUES (task, lane.session_id, resume, whose, count, clock_timestamp(), nextval('sophon_queue_order'));
        lane.holder := nullif(lane.holder, task);
    ELSE
        INSERT INTO sophon_queue_entries (task_id, session_id, is_resume, owner, place, deliveries, since) VALUES (
            task, lane.session_id, resume, whose, -nextval('sophon_queue_order'), count, clock_timestamp());
        added := added + 1;
    END IF;
    lane.waiting := lane.waiting + added;
    lane.task_id := NULL;
    lane.token := NULL;
    lane.wake_at := CASE
        WHEN p_delay > 0 AND NOT is_dead THEN clock_timestamp() + p_delay * interval '1 second'
    END;
    PERFORM sophon_queue_settle(lane, whose, added, false);
    RETURN CASE WHEN is_dead THEN 'dead' ELSE 'waiting' END;
END $$;

-- End leases and delays whose time has come, one host a second unless forced; return the seconds until the next one.
CREATE FUNCTION sophon_queue_sweep(p_max_deliveries integer, p_is_forced boolean)
RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE lane sophon_queue_lanes;
BEGIN
    PERFORM 1 FROM sophon_queue_version v
        WHERE p_is_forced OR v.swept_at < clock_timestamp() - interval '1 second' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    UPDATE sophon_queue_version v SET swept_at = clock_timestamp();
    FOR lane IN
        SELECT * FROM sophon_queue_lanes l WHERE l.wake_at <= clock_timestamp()
        ORDER BY l.owner, l.session_id LIMIT 100 FOR UPDATE SKIP LOCKED
    LOOP
        IF lane.token IS NULL THEN
            lane.wake_at := NULL;
            PERFORM sophon_queue_settle(lane, lane.owner, 0, false);
        ELSE
            PERFORM sophon_queue_return(lane, true, 0, p_max_deliveries);
        END IF;
        PERFORM sophon_queue_wake();
    END LOOP;
    PERFORM sophon_queue_forget_host(h.host) FROM sophon_queue_hosts h
        WHERE h.host <> '' AND h.seen_at < clock_timestamp() - interval '10 minutes';
    RETURN (SELECT extract(epoch FROM min(l.wake_at) - clock_timestamp()) FROM sophon_queue_lanes l
        WHERE l.wake_at IS NOT NULL);
END $$;

-- Remove a host that takes no more; its deliveries stay counted.
CREATE FUNCTION sophon_queue_forget_host(p_host text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE gone sophon_queue_hosts;
BEGIN
    DELETE FROM sophon_queue_hosts h WHERE h.host = p_host RETURNING * INTO gone;
    IF FOUND THEN
        INSERT INTO sophon_queue_hosts AS h (host, is_idle, delivered, seen_at)
            VALUES ('', false, gone.delivered, clock_timestamp())
            ON CONFLICT (host) DO UPDATE SET delivered = h.delivered + gone.delivered;
    END IF;
END $$;

-- Take up to `p_wanted` entries, each of the owner and the lane whose turn it is. Owners and lanes that another take
-- has locked are skipped; only where all are locked, the first take waits for one.
CREATE FUNCTION sophon_queue_take(
    p_host text, p_wanted integer, p_lease double precision, p_seconds double precision
) RETURNS SETOF sophon_queue_delivery LANGUAGE plpgsql AS $$
DECLARE
    who sophon_queue_owners;
    lane sophon_queue_lanes;
    entry sophon_queue_entries;
    next_owner text;
    passed text[] := '{}';
    taken integer := 0;
BEGIN
    WHILE taken < p_wanted LOOP
        SELECT * INTO who FROM sophon_queue_owners o WHERE o.is_ready AND o.owner <> ALL (passed)
            ORDER BY o.turn LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            EXIT WHEN taken > 0 OR passed <> '{}';
            SELECT * INTO who FROM sophon_queue_owners o WHERE o.is_ready
                ORDER BY o.turn LIMIT 1 FOR NO KEY UPDATE;
            EXIT WHEN NOT FOUND;
        END IF;
        SELECT * INTO lane FROM sophon_queue_lanes l
            WHERE l.owner = who.owner AND l.is_ready AND l.turn IS NOT NULL
            ORDER BY l.turn LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            passed := passed || who.owner;
            CONTINUE;
        END IF;
        IF lane.waiting > 1 AND lane.holder IS NULL THEN
            -- The lane may become that of another owner, for whom a take must not wait.
            SELECT e.owner INTO STRICT next_owner FROM sophon_queue_entries e
                WHERE e.session_id = lane.session_id ORDER BY e.place OFFSET 1 LIMIT 1;
            IF next_owner <> who.owner THEN
                PERFORM 1 FROM sophon_queue_owners o WHERE o.owner = next_owner FOR NO KEY UPDATE SKIP LOCKED;
                IF NOT FOUND AND EXISTS (SELECT 1 FROM sophon_queue_owners o WHERE o.owner = next_owner) THEN
                    passed := passed || who.owner;
                    CONTINUE;
                END IF;
            END IF;
        END IF;
        DELETE FROM sophon_queue_entries e WHERE e.task_id = (
            SELECT x.task_id FROM sophon_queue_entries x
            WHERE x.session_id = lane.session_id AND (lane.holder IS NULL OR x.task_id = lane.holder)
            ORDER BY x.place LIMIT 1
        ) RETURNING * INTO STRICT entry;
        lane.waiting := lane.waiting - 1;
        lane.task_id := entry.task_id;
        lane.is_resume := entry.is_resume;
        lane.task_owner := entry.owner;
        lane.deliveries := entry.deliveries + 1;
        lane.token := nextval('sophon_queue_order');
        lane.wake_at := clock_timestamp() + p_lease * interval '1 second';
        PERFORM sophon_queue_settle(lane, entry.owner, -1, true);
        taken := taken + 1;
        RETURN NEXT (
            entry.task_id, entry.session_id, entry.is_resume, entry.owner, lane.token, lane.deliveries
        )::sophon_queue_delivery;
    END LOOP;
    INSERT INTO sophon_queue_hosts AS h (host, is_idle, delivered, seconds, seen_at)
        VALUES (p_host, taken < p_wanted, taken, p_seconds, clock_timestamp())
        ON CONFLICT (host) DO UPDATE SET
            is_idle = EXCLUDED.is_idle, delivered = h.delivered + taken, seconds = p_seconds,
            seen_at = EXCLUDED.seen_at;
END $$;

-- Give back a delivery that no consumer has got, as if it had not been taken.
CREATE FUNCTION sophon_queue_untake(p_session text, p_token bigint, p_host text, p_wake boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    result := sophon_queue_nack(p_session, p_token, false, 0, 2147483647, p_wake);
    UPDATE sophon_queue_hosts h SET delivered = h.delivered - 1 WHERE h.host = p_host AND result = 'waiting';
    RETURN result = 'waiting';
END $$;

CREATE FUNCTION sophon_queue_ack(p_session text, p_token bigint, p_wake boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE lane sophon_queue_lanes;
BEGIN
    DELETE FROM sophon_queue_lanes l
        WHERE l.session_id = p_session AND l.token = p_token AND l.waiting = 0 AND l.holder IS NULL;
    IF FOUND THEN
        RETURN true;
    END IF;
    SELECT * INTO lane FROM sophon_queue_lanes l
        WHERE l.session_id = p_session AND l.token = p_token FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    lane.task_id := NULL;
    lane.token := NULL;
    lane.wake_at := NULL;
    PERFORM sophon_queue_settle(lane, lane.owner, 0, false);
    IF p_wake THEN
        PERFORM sophon_queue_wake();
    END IF;
    RETURN true;
END $$;

CREATE FUNCTION sophon_queue_nack(
    p_session text, p_token bigint, p_is_counted boolean, p_delay double precision, p_max_deliveries integer,
    p_wake boolean
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    lane sophon_queue_lanes;
    result text;
BEGIN
    SELECT * INTO lane FROM sophon_queue_lanes l
        WHERE l.session_id = p_session AND l.token = p_token FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 'stale';
    END IF;
    result := sophon_queue_return(lane, p_is_counted, p_delay, p_max_deliveries);
    IF p_wake THEN
        PERFORM sophon_queue_wake();
    END IF;
    RETURN result;
END $$;

CREATE FUNCTION sophon_queue_renew(p_session text, p_token bigint, p_lease double precision)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sophon_queue_lanes l SET wake_at = clock_timestamp() + p_lease * interval '1 second'
        WHERE l.session_id = p_session AND l.token = p_token;
    RETURN FOUND;
END $$;

-- Go on with tokens that no crash of the server can repeat: commits of this queue are not flushed at once, and of the
-- values that were drawn since the last flush there are fewer than are left out here.
CREATE FUNCTION sophon_queue_advance_tokens() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock('sophon_queue_version'::regclass::oid::bigint);
    PERFORM setval('sophon_queue_order', nextval('sophon_queue_order') + 1000000);
END $$;
