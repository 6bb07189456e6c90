-- List the dead letters, the oldest first: task, session, kind, owner, deliveries, when it died in µs.
local letters = {}
local found = call('ZRANGE', DEATHS, 0, -1, 'WITHSCORES')
for i = 1, #found, 2 do
    local letter = get(DEAD, found[i])
    if letter then
        letters[#letters + 1] = { found[i], letter[1], letter[2], letter[3], letter[4], tonumber(found[i + 1]) }
    end
end
return letters
