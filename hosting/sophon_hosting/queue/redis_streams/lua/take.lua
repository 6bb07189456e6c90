-- Take: consumer, permit that was read or '', lease in ms, deliveries allowed, whether to look for what is overdue,
-- idle time in ms after which a consumer without deliveries is deleted, or 0.
-- Returns the delivery, or false and the ms until a delay ends (-1: there is none); and the counts.
local consumer, permit, lease_ms, max_deliveries = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local is_sweep, forget_ms = ARGV[6] == '1', tonumber(ARGV[7])

for _, session in ipairs(call('ZRANGEBYSCORE', DELAYED, '-inf', text(now), 'LIMIT', 0, 100)) do
    call('ZREM', DELAYED, session)
    local lane = lane_of(session)
    if lane[1] == DELAY then
        lane[1] = FREE
        update(session, lane)
    end
end

if is_sweep then
    local cursor, rounds = '0-0', 0
    repeat
        local reply = redis.pcall('XAUTOCLAIM', WORK, GROUP, consumer, lease_ms, cursor, 'COUNT', 100, 'JUSTID')
        if reply.err then
            break
        end
        cursor, rounds = reply[1], rounds + 1
        for _, id in ipairs(reply[2]) do
            local task = call('HGET', PERMITS, id)
            local flight = task and get(FLIGHT, task)
            drop_permit(id)
            if flight and flight[6] == id then
                call('HDEL', FLIGHT, task)
                give_back(task, flight, max_deliveries, 0)
            end
        end
    until cursor == '0-0' or rounds >= 100
end
if forget_ms > 0 then
    local found = redis.pcall('XINFO', 'CONSUMERS', WORK, GROUP)
    for _, each in ipairs(found.err and {} or found) do
        local fields = {}
        for i = 1, #each, 2 do
            fields[each[i]] = each[i + 1]
        end
        if fields.pending == 0 and fields.idle > forget_ms and fields.name ~= consumer then
            call('XGROUP', 'DELCONSUMER', WORK, GROUP, fields.name)
        end
    end
end

permit_ready()
if permit ~= '' then
    -- It may have been given to another process meanwhile, if this one hung.
    local claimed = redis.pcall('XCLAIM', WORK, GROUP, consumer, 0, permit, 'JUSTID')
    if claimed.err or #claimed == 0 or call('HEXISTS', PERMITS, permit) == 1 then
        permit = ''
    end
end
local owner = call('ZRANGE', READY, 0, 0)[1]
if owner and permit == '' then
    local read = call('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', 1, 'STREAMS', WORK, '>')
    permit = read and read[1][2][1][1] or ''
end
if not owner or permit == '' then
    if permit ~= '' then
        drop_permit(permit)
    end
    local due = call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')[2]
    local wait_ms = due and math.max(0, math.ceil((tonumber(due) - now) / 1000)) or -1
    return { false, wait_ms, counts_for('') }
end

local session = call('ZRANGE', P .. 'ready:' .. owner, 0, 0)[1]
local lane = lane_of(session)
local task, entry = next_of(session)
end_waiting(task, entry)
local token = math.max(tonumber(call('HGET', STATE, 'token') or 0) + 1, now)
call('HSET', STATE, 'token', text(token))
call('HINCRBY', STATE, 'delivered', 1)
local deliveries = entry[4] + 1
set(FLIGHT, task, { session, entry[2], entry[3], deliveries, token, permit, now })
call('HSET', PERMITS, permit, task)
lane[1], lane[2] = RUNNING, task
update(session, lane)
if call('ZSCORE', READY, owner) then
    call('ZADD', READY, turn(), owner)
end
return { { task, session, entry[2], entry[3], token, deliveries }, -1, counts_for(entry[3]) }
