-- Enqueue a dead letter as a new entry: task. Returns 0 if there is none; and the counts.
local task = ARGV[2]
local letter = get(DEAD, task)
if not letter then
    return { 0, counts_for('') }
end
call('HDEL', DEAD, task)
call('ZREM', DEATHS, task)
append(task, { letter[1], letter[2], letter[3], 0 })
permit_ready()
return { 1, counts_for(letter[3]) }
