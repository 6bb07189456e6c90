-- The position that a new entry would get: task, session, owner.
local task, session, owner = ARGV[2], ARGV[3], ARGV[4]
local index = call('HGET', HELD, session) == task and 0 or call('LLEN', P .. 'lane:' .. session)
return position_at(session, owner, index)
