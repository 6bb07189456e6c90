-- Remove a waiting entry or a dead letter: task. Returns 0 if there is none; and the counts.
local task = ARGV[2]
local entry = get(TASKS, task)
if entry then
    end_waiting(task, entry)
    update(entry[1], lane_of(entry[1]))
    return { 1, counts_for(entry[3]) }
end
call('ZREM', DEATHS, task)
return { call('HDEL', DEAD, task), counts_for('') }
