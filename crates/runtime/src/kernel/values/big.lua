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
  --- BigInteger -<Number|BigInteger|Decimal|Point> + <Number|BigInteger|Decimal|Point|Boolean?>other
  --- BigInteger -<Number|BigInteger|Decimal|Point> add:<Number|BigInteger|Decimal|Point|Boolean?>other
  --- The sum: exact among whole numbers, a floating-point number if the other has a fraction.
  --- > 9007199254740993 + 1 ⇒ 9007199254740994
  add_ = operator("add_", exact("add"), function(a, b) return a + b end),
  --- BigInteger -<Number|BigInteger|Decimal|Point> - <Number|BigInteger|Decimal|Point|Boolean?>other
  --- BigInteger -<Number|BigInteger|Decimal|Point> sub:<Number|BigInteger|Decimal|Point|Boolean?>other
  --- The difference: exact among whole numbers, a floating-point number if the other has a fraction.
  --- > (2 pow: 64) - (2 pow: 64) ⇒ 0
  sub_ = operator("sub_", exact("sub"), function(a, b) return a - b end),
  --- BigInteger -<Number|BigInteger|Decimal|Point|Duration> * <Number|BigInteger|Decimal|Point|Duration|Boolean?>other
  --- BigInteger -<Number|BigInteger|Decimal|Point|Duration> mul:<Number|BigInteger|Decimal|Point|Duration|Boolean?>other
  --- The product: exact among whole numbers, a floating-point number if the other has a fraction.
  --- > (2 pow: 64) * 2 ⇒ 2 pow: 65
  mul_ = operator("mul_", exact("mul"), function(a, b) return a * b end),
  --- BigInteger -<Number|BigInteger|Point> div:<Number|BigInteger|Decimal|Point|Boolean?>other
  --- The quotient rounded down to a whole number; `/` keeps the fraction. Division by 0 is an error.
  --- > (2 pow: 64) div: 3 ⇒ 6148914691236517205
  div_ = operator("divFloor_", nonZero(exact("div"), " cannot be divided by 0"),
    function(a, b) return floor(a / b) end),
  --- BigInteger -<Number|BigInteger|Decimal|Point> mod:<Number|BigInteger|Decimal|Point|Boolean?>other
  --- BigInteger -<Number|BigInteger|Decimal|Point> % <Number|BigInteger|Decimal|Point|Boolean?>other
  --- The remainder of `div:`, with the sign of the divisor.
  --- > (2 pow: 64) mod: 10 ⇒ 6
  mod_ = operator("mod_", nonZero(exact("mod"), " has no remainder by 0"),
    function(a, b) return a:mod_(b) end),
  --- BigInteger -<Number|BigInteger|Decimal|Point> / <Number|BigInteger|Decimal|Point|Boolean?>other
  --- The quotient: exact if it is whole, the nearest floating-point number otherwise. Division by 0 is an error.
  --- > (2 pow: 100) / (2 pow: 98) ⇒ 4
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

--- BigInteger -<Boolean> isLessThan:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether the number is less than the other, compared exactly. A comparison with nil is an error.
--- > (2 pow: 64) < (2 pow: 65) ⇒ true
operators.isLessThan_ = comparison("isLessThan_", function(r) return r < 0 end)
--- BigInteger -<Boolean> > <Number|BigInteger|Decimal|Point|Boolean>other
--- BigInteger -<Boolean> isGreaterThan:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether the number is greater than the other, compared exactly. A comparison with nil is an error.
--- > (2 pow: 64) > 3 ⇒ true
operators.isGreaterThan_ = comparison("isGreaterThan_", function(r) return r > 0 end)
--- BigInteger -<Boolean> ≤ <Number|BigInteger|Decimal|Point|Boolean>other
--- BigInteger -<Boolean> isLessThanOrEqualTo:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether the number is at most the other, compared exactly. A comparison with nil is an error.
--- > (2 pow: 64) <= (2 pow: 64) ⇒ true
operators.isLessThanOrEqualTo_ = comparison("isLessThanOrEqualTo_", function(r) return r <= 0 end)
--- BigInteger -<Boolean> ≥ <Number|BigInteger|Decimal|Point|Boolean>other
--- BigInteger -<Boolean> isGreaterThanOrEqualTo:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether the number is at least the other, compared exactly. A comparison with nil is an error.
--- > (2 pow: 64) >= 3 ⇒ true
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
  if type(b) == "number" then K.expectInteger(b, "gcd:") end
  while b ~= 0 do a, b = b, native("mod", a, b) end
  return K.lt(a, 0) and K.sub(0, a) or a
end

K.methods(Big, {
  --- -<String> description
  --- All digits of the number.
  --- > (2 pow: 64) description ⇒ '18446744073709551616'
  ["description"] = function(self) return K.native.bigToText(self._bytes) end,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- -<Boolean> isEqualToNumber:<any>other
  --- Whether both are the same number.
  --- > (2 pow: 64) = 18446744073709551616 ⇒ true
  ["isEqual:"] = isEqual, ["isEqualToNumber:"] = isEqual,
  --- -<Number> compare:<Number|BigInteger|Decimal|Boolean?>other
  --- The order of both numbers: -1 if the receiver is less, 0 if both are equal, 1 if it is greater. nil is the least.
  --- > (2 pow: 64) compare: 3 ⇒ 1
  ["compare:"] = function(self, other) return K.order(self, other) end,
  --- -<self> intValue
  --- -<self> integerValue
  --- -<self> asInteger
  --- -<self> asNumber
  --- -<self> truncated
  --- -<self> rounded
  --- -<self> floor
  --- -<self> ceiling
  --- The number itself: it is whole. `floatValue` answers a plain number.
  --- > (2 pow: 64) rounded ⇒ 2 pow: 64
  ["intValue"] = itself, ["integerValue"] = itself, ["asInteger"] = itself, ["asNumber"] = itself,
  ["truncated"] = itself, ["rounded"] = itself, ["floor"] = itself, ["ceiling"] = itself,
  --- -<Number> floatValue
  --- -<Number> doubleValue
  --- -<Number> asFloat
  --- The nearest floating-point number; infinity from about 1.8e308.
  --- > (2 pow: 64) floatValue ⇒ 18446744073709551616
  ["floatValue"] = toNumber, ["doubleValue"] = toNumber, ["asFloat"] = toNumber,
  --- -<Boolean> boolValue
  --- true: the number is not 0.
  --- > (2 pow: 64) boolValue ⇒ true
  ["boolValue"] = function() return true end,
  --- -<self> negated
  --- The number with the other sign.
  --- > (2 pow: 64) negated ⇒ -18446744073709551616
  ["negated"] = negated,
  --- -<self> abs
  --- The number without its sign.
  --- > -18446744073709551616 abs ⇒ 2 pow: 64
  ["abs"] = function(self) return isNegative(self) and negated(self) or self end,
  --- -<self> squared
  --- The product of the number with itself.
  --- > (2 pow: 64) squared ⇒ 2 pow: 128
  ["squared"] = function(self) return native("mul", self, self) end,
  --- -<Number> sign
  --- 1 for a number above 0, -1 for one below 0.
  --- > (2 pow: 64) sign ⇒ 1
  ["sign"] = function(self) return isNegative(self) and -1 or 1 end,
  --- -<Boolean> isNegative
  --- -<Boolean> negative
  --- Whether the number is less than 0.
  --- > (2 pow: 64) isNegative ⇒ false
  ["isNegative"] = isNegative, ["negative"] = isNegative,
  --- -<Boolean> isPositive
  --- -<Boolean> positive
  --- Whether the number is greater than 0.
  --- > (2 pow: 64) isPositive ⇒ true
  ["isPositive"] = function(self) return not isNegative(self) end,
  ["positive"] = function(self) return not isNegative(self) end,
  --- -<Boolean> isZero
  --- false: 0 is a plain number.
  --- > (2 pow: 64) isZero ⇒ false
  ["isZero"] = function() return false end,
  --- -<Boolean> isNumber
  --- true for every number.
  --- > (2 pow: 64) isNumber ⇒ true
  ["isNumber"] = function() return true end,
  --- -<Boolean> isInteger
  --- true: the number is whole.
  --- > (2 pow: 64) isInteger ⇒ true
  ["isInteger"] = function() return true end,
  --- -<Boolean> even
  --- -<Boolean> isEven
  --- Whether the number is a multiple of 2.
  --- > (2 pow: 64) isEven ⇒ true
  ["even"] = function(self) return string.byte(self._bytes) % 2 == 0 end,
  ["isEven"] = function(self) return string.byte(self._bytes) % 2 == 0 end,
  --- -<Boolean> odd
  --- -<Boolean> isOdd
  --- Whether the number is not a multiple of 2.
  --- > (2 pow: 64) isOdd ⇒ false
  ["odd"] = function(self) return string.byte(self._bytes) % 2 == 1 end,
  ["isOdd"] = function(self) return string.byte(self._bytes) % 2 == 1 end,
  --- -<Number> sqrt
  --- The square root as a floating-point number; nan for a negative number.
  --- > (2 pow: 64) sqrt ⇒ 4294967296
  ["sqrt"] = function(self) return math.sqrt(toNumber(self)) end,
  --- -<Number> log
  --- The natural logarithm; nan for a negative number.
  --- > (2 pow: 64) log ⇒ 44.3614195558365
  ["log"] = function(self) return math.log(toNumber(self)) end,
  --- -<Number|BigInteger> pow:<Number>exponent
  --- -<Number|BigInteger> raisedTo:<Number>exponent
  --- The exact power for a whole exponent from 0 on, a floating-point number for a negative one.
  --- A result of more than 1,000,000 bits is an error of kind `tooLarge`.
  --- > (2 pow: 64) pow: 2 ⇒ 2 pow: 128
  ["pow:"] = power, ["raisedTo:"] = power,
  --- -<Number|BigInteger> gcd:<Number|BigInteger>other
  --- The greatest common divisor of two whole numbers. A fraction is an error.
  --- > (2 pow: 64) gcd: 12 ⇒ 4
  ["gcd:"] = gcd,
  --- -<Number|BigInteger|Decimal> max:<Number|BigInteger|Decimal>other
  --- The greater of both numbers.
  --- > (2 pow: 64) max: 3 ⇒ 2 pow: 64
  ["max:"] = function(self, other) return K.lt(self, other) and other or self end,
  --- -<Number|BigInteger|Decimal> min:<Number|BigInteger|Decimal>other
  --- The smaller of both numbers.
  --- > (2 pow: 64) min: 3 ⇒ 3
  ["min:"] = function(self, other) return K.gt(self, other) and other or self end,
  --- -<Boolean> between:<Number|BigInteger|Decimal>low and:<Number|BigInteger|Decimal>high
  --- Whether the number is at least `low` and at most `high`.
  --- > (2 pow: 64) between: 1 and: 2 ⇒ false
  ["between:and:"] = K.between,
  --- -<String> , <any>other
  --- -<String> concat:<any>other
  --- All digits of the number, followed by the text of the other.
  --- > (2 pow: 64) , ' bytes' ⇒ '18446744073709551616 bytes'
  ["concat:"] = function(self, other) return K.str(self) .. K.str(other) end,
  --- As in Object.
  ["copy"] = itself,
})
K.classMethods(Big, {
  --- +<Number> new
  --- The plain number 0, which is not large enough to be a BigInteger.
  --- > BigInteger new ⇒ 0
  ["new"] = function() return 0 end,
})
K.method(Big, "_keyText", function(self) return "b" .. #self._bytes .. ":" .. self._bytes end)
