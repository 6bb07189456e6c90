-- Enqueue: task, session, kind, owner, is forced, capacity, share, own reserved slots, all reserved slots.
-- Returns the position, or false if it is refused; and the counts.
local task, session, kind, owner = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local is_forced, capacity, share = ARGV[6] == '1', tonumber(ARGV[7]), tonumber(ARGV[8])
local own_slots, slots = tonumber(ARGV[9]), tonumber(ARGV[10])

local function may_enter()
    local free = capacity - call('ZCARD', WAITING) - slots
    if free < 1 then
        return false
    end
    local own = tonumber(call('HGET', OWNERS, owner) or 0) + own_slots
    if share >= 1 or own == 0 then
        return true
    end
    return free > 1 and own * (1 - share) < share * free
end

local entry = get(TASKS, task)
if entry then
    if kind == 'resume' then
        entry[2] = kind
        set(TASKS, task, entry)
        call('LREM', P .. 'lane:' .. entry[1], 1, task)
        call('LPUSH', P .. 'lane:' .. entry[1], task)
        update(entry[1], lane_of(entry[1]))
        permit_ready()
    end
    return { position_of(task, entry), counts_for(owner) }
end
local letter = get(DEAD, task)
if letter then
    if kind == 'resume' then
        letter[2] = kind
        set(DEAD, task, letter)
    end
    return { 0, counts_for(owner) }
end
if kind == 'run' and call('HEXISTS', FLIGHT, task) == 1 then
    return { 0, counts_for(owner) }
end
if kind == 'run' and not is_forced and not may_enter() then
    return { false, counts_for(owner) }
end
entry = { session, kind, owner, 0 }
append(task, entry)
permit_ready()
return { position_of(task, entry), counts_for(owner) }
