-- The work of fib.st, by hand for LuaJIT.
local Fibonacci = {}
Fibonacci.__index = Fibonacci
function Fibonacci:of(n)
  if n < 2 then return n end
  return self:of(n - 1) + self:of(n - 2)
end
print(setmetatable({}, Fibonacci):of(35))
