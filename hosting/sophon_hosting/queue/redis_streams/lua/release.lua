-- End the hold of a task: session, task. Returns 0 if the task does not hold the lane.
local session, task = ARGV[2], ARGV[3]
if call('HGET', HELD, session) ~= task then
    return 0
end
call('HDEL', HELD, session)
update(session, lane_of(session))
permit_ready()
return 1
