-- waiting, in flight, held lanes, dead letters, deliveries, µs since when the oldest waits (-1: none does).
local oldest = call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')[2]
return {
    call('ZCARD', WAITING), call('HLEN', FLIGHT), call('HLEN', HELD), call('ZCARD', DEATHS),
    tonumber(call('HGET', STATE, 'delivered') or 0), oldest and math.max(0, now - tonumber(oldest)) or -1,
}
