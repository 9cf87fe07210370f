-- The work of mutable-text.st, by hand for LuaJIT.
local out, n = {}, 0
for i = 1, 1000000 do
  out[n + 1] = "item "
  n = n + 2
  out[n] = tostring(i)
end
print(#table.concat(out))
