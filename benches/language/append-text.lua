-- The work of append-text.st, by hand for LuaJIT.
local text = ""
for _ = 1, 100000 do text = text .. "hello" end
print(#text)
