-- Find what the queue does not have: tasks. Returns their numbers, from 0.
local missing = {}
for i = 2, #ARGV do
    local task = ARGV[i]
    if call('HEXISTS', TASKS, task) + call('HEXISTS', FLIGHT, task) + call('HEXISTS', DEAD, task) == 0 then
        missing[#missing + 1] = i - 2
    end
end
return missing
