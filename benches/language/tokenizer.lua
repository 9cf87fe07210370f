-- The work of tokenizer.st, by hand for LuaJIT.
local sub = string.sub
local function count(text)
  local words, numbers, others, at, size = 0, 0, 0, 1, #text
  while at <= size do
    local c = sub(text, at, at)
    if c >= "a" and c <= "z" then
      words = words + 1
      while at <= size and sub(text, at, at) >= "a" and sub(text, at, at) <= "z" do at = at + 1 end
    elseif c >= "0" and c <= "9" then
      numbers = numbers + 1
      while at <= size and sub(text, at, at) >= "0" and sub(text, at, at) <= "9" do at = at + 1 end
    else
      if c ~= " " then others = others + 1 end
      at = at + 1
    end
  end
  return words .. " " .. numbers .. " " .. others
end
print(count(string.rep("alpha := beta * 120 + (gamma - 7) / delta; ", 25000)))
