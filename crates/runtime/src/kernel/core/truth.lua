-- What generated code and collections ask of any value: truth, equality, the value of a block, key, hash.
local K = ...
local type, rawequal, setmetatable, byte, throw = type, rawequal, setmetatable, string.byte, K.throw

-- true or false: what `ifTrue:` looks at. nil is false, numbers are true unless 0.
function K.truth(value)
  if value == true then return true end
  if value == false or value == nil then return false end
  if type(value) == "number" then return value ~= 0 end
  return K.truthSlow(value)
end

function K.truthSlow(value)
  if type(value) == "table" then
    if value._isBig then return true end
    if value._isDecimal then return value._units ~= 0 end
    if value._isSize then return value._bytes ~= 0 end
  end
  K.refuse(value, "ifTrue:", "only true, false and numbers can be asked")
end

function K.eq(a, b)
  if rawequal(a, b) then return true end
  if type(a) == "table" then return a:isEqual_(b) end
  -- Big integers, decimals and mutable strings may equal plain values.
  if type(b) == "table" and a ~= nil and b._equalsPlain then return b:isEqual_(a) end
  return false
end

function K.ne(a, b)
  if type(a) == "table" then return a:isNotEqualTo_(b) end
  return not K.eq(a, b)
end

-- The value of a block, or of anything else itself: `ifNil: 3` and `ifNil: { 3 }`.
function K.valueOf(thing, ...)
  if type(thing) == "function" then return thing(...) end
  return thing
end

-- Keys by value ---------------------------------------------------------------------------------

-- Dictionaries and sets compare keys by value. Numbers, strings and booleans are their own keys;
-- values with a `_keyText` (big integers, points, dates, arrays …) are replaced by one frozen copy
-- for each text; any other object is a key by identity.
local canonical = setmetatable({}, { __mode = "v" })

function K.key(value)
  local kind = type(value)
  if kind == "string" or kind == "boolean" then return value end
  if kind == "number" then
    if value == value then return value end
    throw("typeError", "a number that is not a number (nan) cannot be a key")
  end
  if value == nil then throw("nilValue", "nil cannot be a key") end
  if kind ~= "table" then return value end
  if value._isText then return value:_string() end
  local keyText = value._keyText
  if not keyText then return value end
  if value._isSize then return value._bytes end
  local text = keyText(value)
  local known = canonical[text]
  if known == nil then
    known = value._frozen and value:_frozen() or value
    canonical[text] = known
  end
  return known
end

-- A text that is the same for equal values, and different for different ones.
function K.keyText(value, depth)
  local kind = type(value)
  if kind == "string" then return "s" .. #value .. ":" .. value end
  if kind == "number" then return "n" .. K.str(value) end
  if kind == "boolean" then return value and "t" or "f" end
  if value == nil or value == K.NULL then return "0" end
  if kind == "table" and value._keyText then return value:_keyText((depth or 0) + 1) end
  return "#" .. K.hash(value)
end

-- A number that is the same for equal values.
local hashes, nextHash = setmetatable({}, { __mode = "k" }), 0
function K.hash(value)
  if type(value) == "number" then return value end
  if type(value) == "string" then
    local hash = 5381
    for i = 1, #value do hash = (hash * 33 + byte(value, i)) % 4294967296 end
    return hash
  end
  if type(value) == "boolean" then return value and 1 or 0 end
  if value == nil then return 0 end
  value = K.key(value)
  local hash = hashes[value]
  if not hash then
    nextHash = nextHash + 1
    hash, hashes[value] = nextHash, nextHash
  end
  return hash
end
