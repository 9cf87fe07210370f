-- Arguments: texts, blocks, collections and ranges that a message expects.
local K = ...
local type, floor = type, math.floor
local throw = K.throw

-- The text of an argument that must be one.
local function expectText(value, selector)
  if type(value) == "string" then return value end
  if type(value) == "table" and value._isText then return value:_string() end
  throw("typeError", selector .. " expects a String, got " .. K.nameOf(value))
end
K.expectText = expectText

-- A block as an argument, for messages that take nothing else.
local function expectBlock(value, selector)
  if type(value) == "function" then return value end
  throw("typeError", selector .. " expects a block, got " .. K.nameOf(value))
end
K.expectBlock = expectBlock

local function elementsOf(value, selector)
  if type(value) == "table" and value._isCollection then return value:_elements() end
  throw("typeError", selector .. " expects a collection, got " .. K.nameOf(value))
end
K.elementsOf = elementsOf

function K.outOfRange(index, count, what)
  if count == 0 then
    throw("outOfRange", "index " .. K.str(index) .. " is outside " .. (what or "an empty Array"))
  end
  throw("outOfRange", "index " .. K.str(index) .. " is outside 0.." .. K.str(count - 1))
end

-- The first and last position of a range argument, as a half-open pair from..to; checked against n.
function K.rangeOf(range, n, selector)
  if type(range) ~= "table" or not range._isInterval then
    throw("typeError", selector .. " expects an Interval of positions, got " .. K.nameOf(range))
  end
  local from, to = range:_bounds()
  if to < from then return 0, 0 end
  if from < 0 or from ~= floor(from) then K.outOfRange(from, n) end
  if to >= n then K.outOfRange(to, n) end
  return from, to + 1
end
