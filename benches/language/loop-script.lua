-- The work of loop-script.st, by hand for LuaJIT.
local sum = 0
for i = 1, 50000000 do sum = sum + i % 7 end
print(string.format("%d", sum))
