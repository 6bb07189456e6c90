-- Give a delivery back: task, token, is counted, delay in µs, deliveries allowed, whether it was never used.
-- Returns `waiting`, `dead` or `stale`; and the counts.
local flight = end_delivery(ARGV[2], ARGV[3])
if not flight then
    return { 'stale', counts_for('') }
end
if ARGV[4] == '0' then
    flight[4] = flight[4] - 1
end
if ARGV[7] == '1' then
    call('HINCRBY', STATE, 'delivered', -1)
end
local outcome = give_back(ARGV[2], flight, tonumber(ARGV[6]), tonumber(ARGV[5]))
permit_ready()
return { outcome, counts_for(flight[3]) }
