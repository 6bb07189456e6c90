-- The state of a queue and the moves that keep it whole; it stands before each of the other scripts of this folder.
--
-- All keys begin with ARGV[1], which holds the hash tag, so that one node of a cluster has them all.
--   work              stream; an entry is a permit to take: unread, or pending, bound to a delivery (the lease)
--   permits           hash: id of a permit -> task of its delivery
--   tasks, waiting    hash: task -> {session, kind, owner, deliveries}; sorted set: task, by when it began to wait
--   flight            hash: task -> {session, kind, owner, deliveries, token, permit, began}
--   dead, deaths      the same for dead letters
--   lane:SESSION      list of waiting tasks, the next one first
--   lanes             hash: session -> {state, task in flight, owner that lists it, number that it can deliver}
--   counts            hash: session -> the same number, for positions
--   held, delayed     hash: session -> the task that holds it; sorted set: session, by when its delay ends
--   ready:O, busy:O   sorted sets of the lanes of an owner, by turn; turns:ready, turns:busy: the owners
--   totals, owners    hash: owner -> entries that can be delivered; entries that wait
--   state             hash: token, turn (counters), ready (number of ready lanes), delivered
local P = ARGV[1]
local WORK, GROUP = KEYS[1], 'workers'
local PERMITS, TASKS, WAITING, FLIGHT = P .. 'permits', P .. 'tasks', P .. 'waiting', P .. 'flight'
local DEAD, DEATHS, LANES, COUNTS = P .. 'dead', P .. 'deaths', P .. 'lanes', P .. 'counts'
local HELD, DELAYED, TOTALS, OWNERS = P .. 'held', P .. 'delayed', P .. 'totals', P .. 'owners'
local READY, BUSY, STATE = P .. 'turns:ready', P .. 'turns:busy', P .. 'state'
local FREE, RUNNING, DELAY = 0, 1, 2
local call, pack, unpack_ = redis.call, cmsgpack.pack, cmsgpack.unpack

local time = call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local function text(number)
    return string.format('%.0f', number)
end

local function get(key, field)
    local value = call('HGET', key, field)
    return value and unpack_(value)
end

local function set(key, field, value)
    call('HSET', key, field, pack(value))
end

local function turn()
    return call('HINCRBY', STATE, 'turn', 1)
end

local function lane_of(session)
    return get(LANES, session) or { FREE, '', '', 0 }
end

-- What the lane delivers next once it is free, and how many it can deliver.
local function next_of(session)
    local holder = call('HGET', HELD, session)
    if holder then
        local entry = get(TASKS, holder)
        if entry and entry[1] == session then
            return holder, entry, 1
        end
        return nil, nil, 0
    end
    local first = call('LINDEX', P .. 'lane:' .. session, 0)
    if not first then
        return nil, nil, 0
    end
    return first, get(TASKS, first), call('LLEN', P .. 'lane:' .. session)
end

-- A member stays where it stands in turn; one that becomes ready, or busy, goes behind the others.
local function place(ready, busy, member, is_ready)
    local listed, other = ready, busy
    if not is_ready then
        listed, other = busy, ready
    end
    if call('ZSCORE', listed, member) then
        return 0
    end
    local moved = call('ZREM', other, member)
    call('ZADD', listed, turn(), member)
    return is_ready and 1 or -moved
end

local function list(session, lane, count)
    local owner = lane[3]
    local ready, busy = P .. 'ready:' .. owner, P .. 'busy:' .. owner
    local change
    if count == 0 then
        change = -call('ZREM', ready, session)
        call('ZREM', busy, session)
        call('HDEL', COUNTS, session)
    else
        call('HSET', COUNTS, session, count)
        change = place(ready, busy, session, lane[1] == FREE)
    end
    if change ~= 0 then
        call('HINCRBY', STATE, 'ready', change)
    end
    local total = call('HINCRBY', TOTALS, owner, count - lane[4])
    lane[4] = count
    if total == 0 then
        call('HDEL', TOTALS, owner)
        call('ZREM', READY, owner)
        call('ZREM', BUSY, owner)
    else
        place(READY, BUSY, owner, call('EXISTS', ready) == 1)
    end
end

-- List the lane under the owner of its next entry after a change.
local function update(session, lane)
    local _, entry, count = next_of(session)
    if entry and entry[3] ~= lane[3] then
        if lane[4] > 0 then
            list(session, lane, 0)
        end
        lane[3] = entry[3]
    end
    if count > 0 or lane[4] > 0 then
        list(session, lane, count)
    end
    if lane[1] == FREE and count == 0 then
        call('HDEL', LANES, session)
    else
        set(LANES, session, lane)
    end
end

local function begin_waiting(task, entry, at_front)
    set(TASKS, task, entry)
    call('ZADD', WAITING, text(now), task)
    call('HINCRBY', OWNERS, entry[3], 1)
    call(at_front and 'LPUSH' or 'RPUSH', P .. 'lane:' .. entry[1], task)
end

local function end_waiting(task, entry)
    call('HDEL', TASKS, task)
    call('ZREM', WAITING, task)
    if call('HINCRBY', OWNERS, entry[3], -1) <= 0 then
        call('HDEL', OWNERS, entry[3])
    end
    call('LREM', P .. 'lane:' .. entry[1], 1, task)
end

local function append(task, entry)
    begin_waiting(task, entry, entry[2] == 'resume')
    update(entry[1], lane_of(entry[1]))
end

local function drop_permit(permit)
    call('HDEL', PERMITS, permit)
    if call('EXISTS', WORK) == 1 then
        redis.pcall('XACK', WORK, GROUP, permit)
        call('XDEL', WORK, permit)
    end
end

-- The delivery with this token, removed; nil if it has ended.
local function end_delivery(task, token)
    local flight = get(FLIGHT, task)
    if not flight or text(flight[5]) ~= token then
        return nil
    end
    call('HDEL', FLIGHT, task)
    drop_permit(flight[6])
    return flight
end

-- Give a delivery that was ended back to the front of its lane, or to the dead letters.
local function give_back(task, flight, max_deliveries, delay_us)
    local session, deliveries = flight[1], flight[4]
    local entry = { session, flight[2], flight[3], deliveries }
    local lane, outcome = lane_of(session), 'waiting'
    local twin = get(TASKS, task)
    if twin then
        entry[2], entry[3] = twin[2], twin[3]
        end_waiting(task, twin)
    end
    lane[1], lane[2] = FREE, ''
    if deliveries >= max_deliveries then
        outcome = 'dead'
        set(DEAD, task, entry)
        call('ZADD', DEATHS, text(now), task)
        if call('HGET', HELD, session) == task then
            call('HDEL', HELD, session)
        end
    else
        begin_waiting(task, entry, true)
        if delay_us > 0 then
            lane[1] = DELAY
            call('ZADD', DELAYED, text(now + delay_us), session)
        end
    end
    update(session, lane)
    return outcome
end

local function make_group()
    redis.pcall('XGROUP', 'CREATE', WORK, GROUP, '0', 'MKSTREAM')
end

-- Have an unread permit for each ready lane. Those that were read and not used are replaced, and end with their lease.
local function permit_ready()
    local ready = tonumber(call('HGET', STATE, 'ready') or 0)
    if ready == 0 then
        return
    end
    local pending = redis.pcall('XPENDING', WORK, GROUP)
    if pending.err then
        make_group()
        pending = { 0 }
    end
    for _ = call('XLEN', WORK) - pending[1] + 1, ready do
        call('XADD', WORK, '*', 'l', '1')
    end
end

-- How many entries of other members are served before the entry number `index` of a member.
local function count_before(ready, busy, counts, member, index, will_be_ready)
    local rank = call('ZRANK', ready, member)
    local busy_rank = not rank and not will_be_ready and call('ZRANK', busy, member)
    if index == 0 then
        if rank then
            return rank
        elseif will_be_ready then
            return call('ZCARD', ready)
        end
        return call('ZCARD', ready) + (busy_rank or call('ZCARD', busy))
    end
    local first, second = call('ZRANGE', ready, 0, -1), call('ZRANGE', busy, 0, -1)
    local before = #first + #second
    if rank then
        before = rank
    elseif will_be_ready then
        before = #first
    elseif busy_rank then
        before = #first + busy_rank
    end
    local total, seen = 0, 0
    for _, members in ipairs({ first, second }) do
        for start = 1, #members, 1000 do
            local values = call('HMGET', counts, unpack(members, start, math.min(start + 999, #members)))
            for i, value in ipairs(values) do
                local count = tonumber(value or 0)
                if members[start + i - 1] ~= member then
                    total = total + math.min(count, index)
                    if seen < before and count > index then
                        total = total + 1
                    end
                end
                seen = seen + 1
            end
        end
    end
    return total
end

local function position_at(session, owner, index)
    local lane = lane_of(session)
    if lane[4] > 0 then
        owner = lane[3]
    end
    local is_free = lane[1] == FREE
    local rank = index + count_before(P .. 'ready:' .. owner, P .. 'busy:' .. owner, COUNTS, session, index, is_free)
    return rank + count_before(READY, BUSY, TOTALS, owner, rank, is_free)
end

local function position_of(task, entry)
    local index = 0
    if call('HGET', HELD, entry[1]) ~= task then
        index = call('LPOS', P .. 'lane:' .. entry[1], task) or 0
    end
    return position_at(entry[1], entry[3], index)
end

-- What a process must know for admission, at the end of most replies.
local function counts_for(owner)
    return {
        call('ZCARD', WAITING), call('HLEN', FLIGHT), call('HLEN', OWNERS),
        owner, tonumber(call('HGET', OWNERS, owner) or 0),
    }
end
