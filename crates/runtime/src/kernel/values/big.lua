-- Messages of big integers: whole numbers beyond ±2^53, exact (values/exact.lua).
local K = ...
local type, floor = type, math.floor
local throw = K.throw

local Big = K.classes.BigInteger
local native, toNumber = K.bigOperation, K.bigToNumber

-- Operators -------------------------------------------------------------------------------------

local function whole(value)
  return type(value) == "number" and K.integral(value)
end

-- Exact among whole numbers; a number with a fraction, or a float beyond 2^53, makes it a float.
local function operator(name, operation, floating)
  return function(self, other)
    if other == nil or other == false then other = 0 elseif other == true then other = 1 end
    if type(other) == "number" then
      if whole(other) then return operation(self, other) end
      return floating(toNumber(self), other)
    end
    if type(other) == "table" then
      if other._isBig then return operation(self, other) end
      if other._reverse then return other:_reverse(name, self) end
    end
    K.operandError(name, self, other)
  end
end

local function exact(name)
  return function(a, b) return native(name, a, b) end
end

local function nonZero(operation, what)
  return function(a, b)
    if b == 0 then throw("divisionByZero", K.nameOf(a) .. what) end
    return operation(a, b)
  end
end

-- `/` is exact when it comes out even, otherwise the nearest float; the quotient keeps 64 bits
-- below the point, so that operands too large for a float still divide.
local function quotient(a, b)
  if native("mod", a, b) == 0 then return native("div", a, b) end
  local x, y = type(a) == "number" and a or toNumber(a), type(b) == "number" and b or toNumber(b)
  if math.abs(x) < math.huge and math.abs(y) < math.huge then return x / y end
  local scaled = native("div", native("mul", a, native("pow", 2, 64)), b)
  return (type(scaled) == "number" and scaled or toNumber(scaled)) / 18446744073709551616
end

local operators = {
  add_ = operator("add_", exact("add"), function(a, b) return a + b end),
  sub_ = operator("sub_", exact("sub"), function(a, b) return a - b end),
  mul_ = operator("mul_", exact("mul"), function(a, b) return a * b end),
  div_ = operator("div_", nonZero(exact("div"), " cannot be divided by 0"),
    function(a, b) return floor(a / b) end),
  mod_ = operator("mod_", nonZero(exact("mod"), " has no remainder by 0"),
    function(a, b) return a:mod_(b) end),
  _over = operator("div_", nonZero(quotient, " cannot be divided by 0"),
    function(a, b) return a / b end),
}

-- Comparing with a float is exact too: a big integer lies beyond every plain whole number, and a
-- float that large is whole itself.
local function compare(a, b)
  if type(b) == "number" then
    if b ~= b then return nil end
    if b == math.huge then return -1 end
    if b == -math.huge then return 1 end
    b = K.native.bigFromNumber(floor(b))
  else
    b = b._bytes
  end
  return K.native.big("cmp", a._bytes, b)
end

local function comparison(name, test)
  return function(self, other)
    if other == false then other = 0 elseif other == true then other = 1 end
    if type(other) ~= "number" and not (type(other) == "table" and other._isBig) then
      if type(other) == "table" and other._reverse then return other:_reverse(name, self) end
      K.operandError(name, self, other)
    end
    local result = compare(self, other)
    return result ~= nil and test(result)
  end
end

operators.isLessThan_ = comparison("isLessThan_", function(r) return r < 0 end)
operators.isGreaterThan_ = comparison("isGreaterThan_", function(r) return r > 0 end)
operators.isLessThanOrEqualTo_ = comparison("isLessThanOrEqualTo_", function(r) return r <= 0 end)
operators.isGreaterThanOrEqualTo_ = comparison("isGreaterThanOrEqualTo_", function(r)
  return r >= 0
end)
for name, method in pairs(operators) do K.method(Big, name, method) end

-- A plain number on the left side. The operators of Number give their own names.
local mirrored = {
  isLessThan_ = "isGreaterThan_", isGreaterThan_ = "isLessThan_",
  isLessThanOrEqualTo_ = "isGreaterThanOrEqualTo_",
    isGreaterThanOrEqualTo_ = "isLessThanOrEqualTo_",
}
local floats = {
  add_ = function(a, b) return a + b end, sub_ = function(a, b) return a - b end,
  mul_ = function(a, b) return a * b end, div_ = function(a, b) return a / b end,
  divFloor_ = function(a, b) return floor(a / b) end, mod_ = function(a, b) return a:mod_(b) end,
}
local exactNames = { add_ = "add", sub_ = "sub", mul_ = "mul", divFloor_ = "div", mod_ = "mod" }
K.method(Big, "_reverse", function(self, name, number)
  if mirrored[name] then return operators[mirrored[name]](self, number) end
  if not floats[name] then K.operandError(name, number, self) end
  if not whole(number) then return floats[name](number, toNumber(self)) end
  if name == "div_" then return quotient(number, self) end
  return native(exactNames[name], number, self)
end)

-- Messages --------------------------------------------------------------------------------------

local function isNegative(self) return string.byte(self._bytes, -1) >= 128 end
local function negated(self) return native("sub", 0, self) end
local function itself(self) return self end

local function isEqual(self, other)
  if type(other) == "number" then return other == floor(other) and compare(self, other) == 0 end
  if type(other) == "table" and other._isDecimal then return other:isEqual_(self) end
  return type(other) == "table" and other._isBig == true and self._bytes == other._bytes
end

local function power(self, exponent)
  exponent = K.expectInteger(exponent, "raisedTo:")
  if exponent < 0 then return toNumber(self) ^ exponent end
  if exponent * #self._bytes * 8 > 1e6 then
    throw("tooLarge", "the power of a BigInteger has at most 1000000 bits")
  end
  return native("pow", self, exponent)
end

local function gcd(a, b)
  if type(b) ~= "number" and not (type(b) == "table" and b._isBig) then
    throw("typeError", "gcd: expects a Number, got " .. K.nameOf(b))
  end
  while b ~= 0 do a, b = b, native("mod", a, b) end
  return K.lt(a, 0) and K.sub(0, a) or a
end

K.methods(Big, {
  ["description"] = function(self) return K.native.bigToText(self._bytes) end,
  ["isEqual:"] = isEqual, ["isEqualToNumber:"] = isEqual,
  ["compare:"] = function(self, other) return K.order(self, other) end,
  ["intValue"] = itself, ["integerValue"] = itself, ["asInteger"] = itself, ["asNumber"] = itself,
  ["truncated"] = itself, ["rounded"] = itself, ["floor"] = itself, ["ceiling"] = itself,
  ["floatValue"] = toNumber, ["doubleValue"] = toNumber, ["asFloat"] = toNumber,
  ["boolValue"] = function() return true end,
  ["negated"] = negated,
  ["abs"] = function(self) return isNegative(self) and negated(self) or self end,
  ["squared"] = function(self) return native("mul", self, self) end,
  ["sign"] = function(self) return isNegative(self) and -1 or 1 end,
  ["isNegative"] = isNegative, ["negative"] = isNegative,
  ["isPositive"] = function(self) return not isNegative(self) end,
  ["positive"] = function(self) return not isNegative(self) end,
  ["isZero"] = function() return false end,
  ["isNumber"] = function() return true end,
  ["isInteger"] = function() return true end,
  ["even"] = function(self) return string.byte(self._bytes) % 2 == 0 end,
  ["isEven"] = function(self) return string.byte(self._bytes) % 2 == 0 end,
  ["odd"] = function(self) return string.byte(self._bytes) % 2 == 1 end,
  ["isOdd"] = function(self) return string.byte(self._bytes) % 2 == 1 end,
  ["sqrt"] = function(self) return math.sqrt(toNumber(self)) end,
  ["log"] = function(self) return math.log(toNumber(self)) end,
  ["pow:"] = power, ["raisedTo:"] = power,
  ["gcd:"] = gcd,
  ["max:"] = function(self, other) return K.lt(self, other) and other or self end,
  ["min:"] = function(self, other) return K.gt(self, other) and other or self end,
  ["between:and:"] = K.between,
  ["concat:"] = function(self, other) return K.str(self) .. K.str(other) end,
  ["copy"] = itself,
})
K.method(Big, "_keyText", function(self) return "b" .. self._bytes end)
