-- The position of a task: task. Returns false if it does not wait.
local entry = get(TASKS, ARGV[2])
return entry and position_of(ARGV[2], entry)
