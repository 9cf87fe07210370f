-- The work of loop-method.st, by hand for LuaJIT.
local Loop = {}
Loop.__index = Loop
function Loop:to(limit)
  local sum = 0
  for i = 1, limit do sum = sum + i % 7 end
  return sum
end
print(string.format("%d", setmetatable({}, Loop):to(50000000)))
