-- Schedules a batch of orders that nobody has scheduled yet, each id once.
-- KEYS: waiting (ids by due time), payloads. ARGV: due, id, payload, ...; answers how many were new.
local ids = {}
for i = 2, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
local known = redis.call('HMGET', KEYS[2], unpack(ids))
local dues, payloads, seen = {}, {}, {}
for i, id in ipairs(ids) do
  if not known[i] and not seen[id] then
    seen[id] = true
    dues[#dues + 1] = ARGV[3 * i - 2]
    dues[#dues + 1] = id
    payloads[#payloads + 1] = id
    payloads[#payloads + 1] = ARGV[3 * i]
  end
end
if #dues == 0 then return 0 end
redis.call('HSET', KEYS[2], unpack(payloads))
return redis.call('ZADD', KEYS[1], unpack(dues))
