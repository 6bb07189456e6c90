-- End a delivery: task, token. Returns 1, or 0 if it had ended; and the counts.
local flight = end_delivery(ARGV[2], ARGV[3])
if not flight then
    return { 0, counts_for('') }
end
local lane = lane_of(flight[1])
lane[1], lane[2] = FREE, ''
update(flight[1], lane)
permit_ready()
return { 1, counts_for(flight[3]) }
