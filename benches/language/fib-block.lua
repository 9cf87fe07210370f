-- The work of fib-block.st, by hand for LuaJIT.
local fib
fib = function(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(32))
