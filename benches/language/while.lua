-- The work of while.st, by hand for LuaJIT.
local i, a, b = 0, 0, 0
while i < 30000000 do
  if i % 3 == 0 then a = a + 1 elseif i % 5 == 0 then b = b + 2 end
  i = i + 1
end
print(a + b)
