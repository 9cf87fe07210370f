-- Numbers: arithmetic as messages, comparison, rounding, and what scripts ask of them.
local K = ...
local type, floor, ceil, abs, fmod = type, math.floor, math.ceil, math.abs, math.fmod
local throw, truth, format = K.throw, K.truth, string.format
local expectBlock = K.expectBlock
local Object = K.classes.Object

local Number = K.newClass("Number", Object)
for _, name in ipairs { "NSNumber", "MPWInteger", "MPWFloat", "Integer", "Float" } do
  K.alias(name, Number)
end
K.typeMetatable("number", Number, 0)

-- Operands --------------------------------------------------------------------------------------

local verbs = {
  add_ = "%s cannot add %s", sub_ = "%s cannot subtract %s", mul_ = "%s cannot be multiplied by %s",
  div_ = "%s cannot be divided by %s", divFloor_ = "%s cannot be divided by %s",
  mod_ = "%s has no remainder by %s", rem_ = "%s has no remainder by %s",
}

local function wrong(name, a, b, hint)
  if b == nil and not verbs[name] then K.refuseNil(a) end
  throw("typeError", format(verbs[name] or "%s cannot be compared with %s",
    K.nameOf(a), K.nameOf(b)), { i_hint = hint })
end

-- The number that an argument counts as: nil is 0, booleans are 1 and 0; nil when it is none.
local function counted(value)
  if type(value) == "number" then return value end
  if value == nil or value == false then return 0 end
  if value == true then return 1 end
  return nil
end

-- The number an argument must be, for messages that have no other operand kinds.
local function expectNumber(value, selector)
  local number = counted(value)
  if number then return number end
  if type(value) == "table" then
    if value._isBig then return K.bigToNumber(value) end
    if value._isDecimal then return value:floatValue() end
  end
  throw("typeError", selector .. " expects a Number, got " .. K.nameOf(value))
end
K.expectNumber = expectNumber

-- A whole number as an argument: a position or a count.
function K.expectInteger(value, selector)
  local number = value
  if type(value) ~= "number" then
    number = value ~= nil and expectNumber(value, selector)
  end
  if not number or number ~= floor(number) then
    throw("typeError", selector .. " expects a whole number, got "
      .. (number and K.str(number) or K.nameOf(value)))
  end
  return number
end

-- The bound of a counted loop.
function K.bound(value, selector)
  if type(value) == "number" then return value end
  if value == true then return 1 elseif value == false then return 0 end
  throw("typeError", string.format("%s needs numbers, not %s", selector, K.nameOf(value)))
end

function K.step(value, selector)
  if type(value) == "number" and value ~= 0 then return value end
  throw("invalid", string.format("%s needs a step that is not 0", selector))
end

-- Operators whose right side is not a plain number: each kind of operand that can stand there has
-- a method `_reverse` which is given the operator's name and the left side.
local function operator(name, fast)
  return function(self, other)
    local number = counted(other)
    if number then return fast(self, number) end
    if type(other) == "table" and other._reverse then return other:_reverse(name, self) end
    wrong(name, self, other)
  end
end
K.operandError = wrong

-- The same for comparisons: nil has no order.
local function comparison(name, fast)
  local compare = operator(name, fast)
  return function(self, other)
    if other == nil then K.refuseNil(self) end
    return compare(self, other)
  end
end

function K.between(self, low, high)
  local above, below = K.ge(self, low), K.le(self, high)
  return above and below
end

-- Division --------------------------------------------------------------------------------------

local function dividedByZero(a)
  throw("divisionByZero", K.str(a) .. " cannot be divided by 0")
end

-- `%` computes a - floor(a / b) * b, which is exact only while the quotient is.
local EXACT_QUOTIENT = 4503599627370496

-- The remainder with the sign of the divisor: `-7 mod: 3` is 2.
local function modulo(a, b)
  if b == 0 then throw("divisionByZero", K.str(a) .. " has no remainder by 0") end
  if a < EXACT_QUOTIENT and a > -EXACT_QUOTIENT then return a % b end
  local rest = fmod(a, b)
  if rest ~= 0 and (rest < 0) ~= (b < 0) then return rest + b end
  return rest
end

-- The quotient rounded down.
local function floorDivide(a, b)
  if b == 0 then dividedByZero(a) end
  if a < EXACT_QUOTIENT and a > -EXACT_QUOTIENT then return floor(a / b) end
  return floor((a - modulo(a, b)) / b)
end

local exactDivide = operator("div_", function(a, b)
  if b == 0 then dividedByZero(a) end
  return a / b
end)

K.methods(Number, {
  ["add:"] = operator("add_", K.add),
  ["sub:"] = operator("sub_", K.sub),
  ["mul:"] = operator("mul_", K.mul),
  ["div:"] = operator("divFloor_", floorDivide),
  ["mod:"] = operator("mod_", modulo),
  ["rem:"] = operator("rem_", function(a, b)
    if b == 0 then throw("divisionByZero", K.str(a) .. " has no remainder by 0") end
    return fmod(a, b)
  end),
  ["isLessThan:"] = comparison("isLessThan_", function(a, b) return a < b end),
  ["isGreaterThan:"] = comparison("isGreaterThan_", function(a, b) return a > b end),
  ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", function(a, b) return a <= b end),
  ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", function(a, b)
    return a >= b
  end),
  ["isEqual:"] = function(self, other) return K.eq(self, other) end,
  ["isEqualToNumber:"] = function(self, other) return K.eq(self, other) end,
  ["compare:"] = function(self, other) return K.order(self, other) end,
  ["max:"] = function(self, other) return K.lt(self, other) and other or self end,
  ["min:"] = function(self, other) return K.gt(self, other) and other or self end,
  ["min:max:"] = function(self, low, high)
    return K.lt(self, low) and low or K.gt(self, high) and high or self
  end,
  ["between:and:"] = K.between,
  ["concat:"] = function(self, other) return K.str(self) .. K.str(other) end,
})

-- Conversion and rounding -----------------------------------------------------------------------

local function truncate(x)
  if x ~= x or x == math.huge or x == -math.huge then
    throw("typeError", K.str(x) .. " has no whole part")
  end
  return x >= 0 and floor(x) or ceil(x)
end

-- Halves are rounded away from zero.
local function round(x)
  if x < 0 then return -round(-x) end
  local whole = floor(x)
  return x - whole >= 0.5 and whole + 1 or whole
end

local function itself(self) return self end

K.methods(Number, {
  ["intValue"] = truncate, ["integerValue"] = truncate, ["longValue"] = truncate,
  ["asInteger"] = truncate, ["truncated"] = truncate,
  ["floatValue"] = itself, ["doubleValue"] = itself, ["asFloat"] = itself, ["asNumber"] = itself,
  ["numberValue"] = itself,
  ["boolValue"] = function(self) return self ~= 0 end,
  ["description"] = function(self) return K.numberText(self) end,
  ["rounded"] = round,
  ["round"] = round,
  ["floor"] = function(self) return floor(self) end,
  ["ceiling"] = function(self) return ceil(self) end,
  ["ceil"] = function(self) return ceil(self) end,
  ["roundTo:"] = function(self, step)
    -- A step such as 0.01 is not exact in binary, but its reciprocal 100 is.
    local perUnit = 1 / expectNumber(step, "roundTo:")
    if perUnit == floor(perUnit) then return round(self * perUnit) / perUnit end
    return round(self / step) * step
  end,
  ["fractionPart"] = function(self) return self - truncate(self) end,
  ["abs"] = function(self) return abs(self) end,
  ["negated"] = function(self) return 0 - self end,
  ["squared"] = function(self) return K.mul(self, self) end,
  ["cubed"] = function(self) return K.mul(K.mul(self, self), self) end,
  ["reciprocal"] = function(self) return K.div(1, self) end,
  ["sign"] = function(self) return self > 0 and 1 or self < 0 and -1 or 0 end,
})

-- Functions -------------------------------------------------------------------------------------

-- The largest result of a power or factorial, in bits: a million, about 300,000 digits.
local MAX_BITS = 1e6

local function power(base, exponent)
  exponent = expectNumber(exponent, "raisedTo:")
  local result = base ^ exponent
  if result <= 9007199254740991 and result >= -9007199254740991 then return result end
  if not (K.integral(base) and K.integral(exponent) and exponent > 0) then return result end
  if exponent * math.log(abs(base)) / math.log(2) > MAX_BITS then
    throw("tooLarge", K.str(base) .. " raisedTo: " .. K.str(exponent)
      .. " has more than " .. K.str(MAX_BITS) .. " bits")
  end
  return K.bigPower(base, exponent)
end

local function factorial(self)
  if self < 0 or self ~= floor(self) then
    throw("typeError", K.str(self) .. " has no factorial: only whole numbers from 0 on have one")
  end
  if self > 20000 then throw("tooLarge", "factorial is limited to 20000, not " .. K.str(self)) end
  local product = 1
  for i = 2, self do product = K.mul(product, i) end
  return product
end

local function gcd(a, b)
  b = K.expectInteger(b, "gcd:")
  a, b = abs(a), abs(b)
  while b ~= 0 do a, b = b, modulo(a, b) end
  return a
end

K.methods(Number, {
  ["sqrt"] = function(self) return math.sqrt(self) end,
  ["sin"] = function(self) return math.sin(self) end,
  ["cos"] = function(self) return math.cos(self) end,
  ["tan"] = function(self) return math.tan(self) end,
  ["arcSin"] = function(self) return math.asin(self) end,
  ["arcCos"] = function(self) return math.acos(self) end,
  ["arcTan"] = function(self) return math.atan(self) end,
  ["arcTan:"] = function(self, x) return math.atan2(self, expectNumber(x, "arcTan:")) end,
  ["log"] = function(self) return math.log(self) end,
  ["ln"] = function(self) return math.log(self) end,
  ["log10"] = function(self) return math.log10(self) end,
  ["log2"] = function(self) return math.log(self) / math.log(2) end,
  ["log:"] = function(self, base) return math.log(self) / math.log(expectNumber(base, "log:")) end,
  ["exp"] = function(self) return math.exp(self) end,
  ["pow:"] = power,
  ["raisedTo:"] = power,
  ["factorial"] = factorial,
  ["gcd:"] = gcd,
  ["lcm:"] = function(self, other)
    if self == 0 or other == 0 then return 0 end
    return abs(K.mul(floorDivide(self, gcd(self, other)), other))
  end,
  -- A whole number from 0 up to this one, without it. `1.0` is the number 1, so that a fraction
  -- cannot be asked for this way: `Number random` is one.
  ["random"] = function(self)
    if self ~= floor(self) or self < 1 or self > 2 ^ 53 then
      throw("outOfRange", K.str(self) .. " random: a whole number from 1 to 2^53 is needed",
        { i_hint = "`Number random` is a fraction from 0 up to 1: multiply it" })
    end
    return floor(math.random() * self)
  end,
  ["isZero"] = function(self) return self == 0 end,
  ["isNumber"] = function() return true end,
  ["isInteger"] = function(self) return self == floor(self) and abs(self) < math.huge end,
  ["isNaN"] = function(self) return self ~= self end,
  ["isInfinite"] = function(self) return abs(self) == math.huge end,
  ["isNegative"] = function(self) return self < 0 end,
  ["isPositive"] = function(self) return self > 0 end,
  ["negative"] = function(self) return self < 0 end,
  ["positive"] = function(self) return self >= 0 end,
  ["strictlyPositive"] = function(self) return self > 0 end,
  ["even"] = function(self) return self % 2 == 0 end,
  ["isEven"] = function(self) return self % 2 == 0 end,
  ["odd"] = function(self) return self % 2 == 1 end,
  ["isOdd"] = function(self) return self % 2 == 1 end,
  ["isDivisibleBy:"] = function(self, other)
    return modulo(self, expectNumber(other, "isDivisibleBy:")) == 0
  end,
  ["kilobyte"] = function(self) return self * 1024 end,
  ["kilobytes"] = function(self) return self * 1024 end,
  ["megabyte"] = function(self) return self * 1048576 end,
  ["megabytes"] = function(self) return self * 1048576 end,
  ["gigabyte"] = function(self) return self * 1073741824 end,
  ["gigabytes"] = function(self) return self * 1073741824 end,
  ["byte"] = itself,
  ["bytes"] = itself,
})
K.classMethods(Number, {
  ["new"] = function() return 0 end,
  ["alloc"] = function() return 0 end,
  ["random"] = function() return math.random() end,
  ["pi"] = function() return math.pi end,
  ["infinity"] = function() return math.huge end,
  ["integer:"] = function(_, value) return truncate(expectNumber(value, "integer:")) end,
  ["float:"] = function(_, value) return expectNumber(value, "float:") end,
  ["numberWithInt:"] = function(_, value)
    return truncate(expectNumber(value, "numberWithInt:"))
  end,
  ["numberWithInteger:"] = function(_, value)
    return truncate(expectNumber(value, "numberWithInteger:"))
  end,
  ["numberWithFloat:"] = function(_, value) return expectNumber(value, "numberWithFloat:") end,
  ["numberWithDouble:"] = function(_, value) return expectNumber(value, "numberWithDouble:") end,
  ["numberWithBool:"] = function(_, value) return truth(value) == true end,
})

-- The engine seeds its random numbers with a constant: each isolate gets a seed of its own.
math.randomseed(K.seed)

-- Control ---------------------------------------------------------------------------------------

local function repeated(self, block)
  expectBlock(block, "repeat:")
  for i = 0, self - 1 do block(i) end
end

K.methods(Number, {
  ["to:do:"] = function(self, last, block)
    expectBlock(block, "to:do:")
    for i = self, expectNumber(last, "to:do:") do block(i) end
  end,
  ["to:by:do:"] = function(self, last, step, block)
    expectBlock(block, "to:by:do:")
    for i = self, expectNumber(last, "to:by:do:"), K.step(step, "to:by:do:") do block(i) end
  end,
  ["timesRepeat:"] = repeated, ["repeat:"] = repeated,
})

K.method(Number, "_over", exactDivide)
