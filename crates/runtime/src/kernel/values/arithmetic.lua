-- Arithmetic and order: what generated code calls for operators.
--
-- One number: integers are exact. A sum or product of two integers that leaves ±(2^53 - 1) becomes
-- a big integer; anything with a fraction, an exponent or beyond that as a float stays a float.
local K = ...
local type = type
local floor = math.floor
local throw, NULL = K.throw, K.NULL

-- Results up to 2^53 - 1 are exact for certain: 2^53 itself may be the rounding of a larger one.
local LIMIT, abs = 9007199254740991, math.abs

local function integral(x)
  return x == floor(x) and x <= 9007199254740992 and x >= -9007199254740992
end
K.integral = integral

local function slow(name, a, b)
  if a == nil then return nil end
  if a == true then a = 1 elseif a == false then a = 0 end
  return a[name](a, b)
end

-- Refuses an order comparison with nil on a side; `other` is the other side.
function K.refuseNil(other)
  local noun = "a number"
  if type(other) == "string" or type(other) == "table" and other._isText then
    noun = "a text"
  elseif type(other) == "table" and not other._isBig and not other._isDecimal then
    noun = K.nameOf(other)
  end
  throw("typeError", "nil is not " .. noun,
    { i_hint = "compare when there is a value: `ifNotNil:`, or give a default with `ifNil:`" })
end

local function compared(name, a, b)
  if a == nil then K.refuseNil(b) end
  -- Objects of the program may know what nil means to them.
  if b == nil and type(a) ~= "table" then K.refuseNil(a) end
  return slow(name, a, b)
end

function K.add(a, b)
  if type(a) == "number" and type(b) == "number" then
    local r = a + b
    if abs(r) <= LIMIT then return r end
    if integral(a) and integral(b) then return K.bigAdd(a, b) end
    return r
  end
  -- `+` and `add:` are one message, but adding to a collection changes it and a sum never does.
  if type(a) == "table" then
    local plus = a._plus
    if plus then return plus(a, b) end
  end
  return slow("add_", a, b)
end

function K.sub(a, b)
  if type(a) == "number" and type(b) == "number" then
    local r = a - b
    if abs(r) <= LIMIT then return r end
    if integral(a) and integral(b) then return K.bigSub(a, b) end
    return r
  end
  return slow("sub_", a, b)
end

function K.mul(a, b)
  if type(a) == "number" and type(b) == "number" then
    local r = a * b
    if abs(r) <= LIMIT then return r end
    if integral(a) and integral(b) then return K.bigMul(a, b) end
    return r
  end
  return slow("mul_", a, b)
end

-- `/` and `div:` are one message, except that numbers divide exactly with the one and round down
-- with the other: what tells them apart has a method `_over`.
function K.div(a, b)
  if type(a) == "number" and type(b) == "number" and b ~= 0 then return a / b end
  if a == nil then return nil end
  if a == true then a = 1 elseif a == false then a = 0 end
  local over = a._over
  if over then return over(a, b) end
  return a:div_(b)
end

function K.lt(a, b)
  if type(a) == "number" and type(b) == "number" then return a < b end
  return compared("isLessThan_", a, b)
end

function K.gt(a, b)
  if type(a) == "number" and type(b) == "number" then return a > b end
  return compared("isGreaterThan_", a, b)
end

function K.le(a, b)
  if type(a) == "number" and type(b) == "number" then return a <= b end
  return compared("isLessThanOrEqualTo_", a, b)
end

function K.ge(a, b)
  if type(a) == "number" and type(b) == "number" then return a >= b end
  return compared("isGreaterThanOrEqualTo_", a, b)
end

-- Order comparisons between query brackets: false with nil, as in a database.
function K.queryLt(a, b) return a ~= nil and b ~= nil and K.lt(a, b) end
function K.queryGt(a, b) return a ~= nil and b ~= nil and K.gt(a, b) end
function K.queryLe(a, b) return a ~= nil and b ~= nil and K.le(a, b) end
function K.queryGe(a, b) return a ~= nil and b ~= nil and K.ge(a, b) end

function K.queryCompare(receiver, name, a, b)
  if receiver == nil or a == nil or b == nil and name == "between_and_" then return false end
  return receiver[name](receiver, a, b)
end

-- -1, 0 or 1 by the natural order: nil first, numbers and texts by value, anything else as its own
-- `<` says.
function K.order(a, b)
  if a == NULL then a = nil end
  if b == NULL then b = nil end
  if a == nil then return b == nil and 0 or -1 end
  if b == nil then return 1 end
  if type(a) == "boolean" and type(b) == "boolean" then
    return a == b and 0 or b and -1 or 1
  end
  -- Objects of the program: `compare:` where they have no `<`.
  if type(a) == "table" and not K.understands(a, "isLessThan_") and K.understands(a, "compare_") then
    return a:compare_(b)
  end
  if K.lt(a, b) then return -1 end
  if K.lt(b, a) then return 1 end
  return 0
end
