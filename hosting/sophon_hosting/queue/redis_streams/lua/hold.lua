-- Restrict a lane to a task: session, task. Returns whether the task holds it now.
local session, task = ARGV[2], ARGV[3]
local holder = call('HGET', HELD, session)
if not holder then
    call('HSET', HELD, session, task)
    update(session, lane_of(session))
    return 1
end
return holder == task and 1 or 0
