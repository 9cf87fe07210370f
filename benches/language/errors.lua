-- The work of errors.st, by hand for LuaJIT.
local Checker = {}
Checker.__index = Checker
function Checker:check(n)
  if n % 2 == 1 then error({ message = "odd" }) end
  return n
end
function Checker:run(n)
  local handled = 0
  for i = 1, n do
    local ok, e = pcall(self.check, self, i * 2 - 1)
    if not ok then handled = handled + #e.message end
  end
  return handled
end
print(setmetatable({}, Checker):run(500000))
