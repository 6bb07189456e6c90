-- Delete the consumer of a process that leaves, unless it has deliveries: consumer.
local found = redis.pcall('XPENDING', WORK, GROUP, '-', '+', 1, ARGV[2])
if not found.err and #found == 0 then
    redis.pcall('XGROUP', 'DELCONSUMER', WORK, GROUP, ARGV[2])
end
return 1
