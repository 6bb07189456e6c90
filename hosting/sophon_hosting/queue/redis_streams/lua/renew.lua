-- Renew the lease of a delivery: task, token, consumer. Returns 1, or 0 if it has ended.
local flight = get(FLIGHT, ARGV[2])
if not flight or text(flight[5]) ~= ARGV[3] then
    return 0
end
local claimed = redis.pcall('XCLAIM', WORK, GROUP, ARGV[4], 0, flight[6], 'JUSTID')
return not claimed.err and #claimed or 0
