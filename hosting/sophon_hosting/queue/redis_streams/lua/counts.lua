-- What waits, by owner: the number in flight, and owners with their numbers.
return { call('HLEN', FLIGHT), call('HGETALL', OWNERS) }
