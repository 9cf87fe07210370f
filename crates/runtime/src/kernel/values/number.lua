-- Numbers: arithmetic as messages, comparison, rounding, and what scripts ask of them.
local K = ...
local type, floor, ceil, abs, fmod = type, math.floor, math.ceil, math.abs, math.fmod
local throw, truth, format = K.throw, K.truth, string.format
local expectBlock = K.expectBlock
local Object = K.classes.Object

--- A number: a whole number, exact up to ±(2^53 - 1), or a 64-bit floating-point number. A larger whole result becomes
--- a `BigInteger`. In arithmetic nil counts as 0, true as 1 and false as 0.
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
    if value._isSize then return value._bytes end
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
  if type(value) == "table" and value._isSize then return value._bytes end
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
  --- -<Number|BigInteger|Decimal|Point|ByteSize> + <Number|BigInteger|Decimal|Point|Boolean?>other
  --- -<Number|BigInteger|Decimal|Point|ByteSize> add:<Number|BigInteger|Decimal|Point|Boolean?>other
  --- The sum. An operand that does not count as a number, such as a text, is an error.
  --- > 3 + 4.5 ⇒ 7.5
  ["add:"] = operator("add_", K.add),
  --- -<Number|BigInteger|Decimal|Point|ByteSize> - <Number|BigInteger|Decimal|Point|Boolean?>other
  --- -<Number|BigInteger|Decimal|Point|ByteSize> sub:<Number|BigInteger|Decimal|Point|Boolean?>other
  --- The difference.
  --- > 3 - 4 ⇒ -1
  ["sub:"] = operator("sub_", K.sub),
  --- -<Number|BigInteger|Decimal|Point|Duration|ByteSize|Period> * <Number|BigInteger|Decimal|Point|Duration|Period|Boolean?>other
  --- -<Number|BigInteger|Decimal|Point|Duration|ByteSize|Period> mul:<Number|BigInteger|Decimal|Point|Duration|Period|Boolean?>other
  --- The product. With a `Duration` or `Period` it is the multiple of that.
  --- > 3 * 4 ⇒ 12
  --- > 2 * 90 seconds ⇒ 3 minutes
  ["mul:"] = operator("mul_", K.mul),
  --- -<Number|BigInteger|Point> div:<Number|BigInteger|Decimal|Point|Boolean?>other
  --- The quotient rounded down to a whole number; `/` keeps the fraction. Division by 0 is an error.
  --- > 7 div: 2 ⇒ 3
  --- > -7 div: 2 ⇒ -4
  ["div:"] = operator("divFloor_", floorDivide),
  --- -<Number|BigInteger|Decimal|Point> mod:<Number|BigInteger|Decimal|Point|Boolean?>other
  --- -<Number|BigInteger|Decimal|Point> % <Number|BigInteger|Decimal|Point|Boolean?>other
  --- The remainder with the sign of the divisor, as for `div:`; that of `rem:` has the sign of the receiver.
  --- > -7 mod: 3 ⇒ 2
  ["mod:"] = operator("mod_", modulo),
  --- -<Number> rem:<Number|Boolean?>other
  --- The remainder with the sign of the receiver; that of `mod:` has the sign of the divisor.
  --- > -7 rem: 3 ⇒ -1
  ["rem:"] = operator("rem_", function(a, b)
    if b == 0 then throw("divisionByZero", K.str(a) .. " has no remainder by 0") end
    return fmod(a, b)
  end),
  --- -<Boolean> isLessThan:<Number|BigInteger|Decimal|Point|Boolean>other
  --- Whether the number is less than the other. A comparison with nil is an error.
  --- > 3 < 4 ⇒ true
  ["isLessThan:"] = comparison("isLessThan_", function(a, b) return a < b end),
  --- -<Boolean> > <Number|BigInteger|Decimal|Point|Boolean>other
  --- -<Boolean> isGreaterThan:<Number|BigInteger|Decimal|Point|Boolean>other
  --- Whether the number is greater than the other. A comparison with nil is an error.
  --- > 3 > 4 ⇒ false
  ["isGreaterThan:"] = comparison("isGreaterThan_", function(a, b) return a > b end),
  --- -<Boolean> ≤ <Number|BigInteger|Decimal|Point|Boolean>other
  --- -<Boolean> isLessThanOrEqualTo:<Number|BigInteger|Decimal|Point|Boolean>other
  --- Whether the number is at most the other. A comparison with nil is an error.
  --- > 3 <= 3 ⇒ true
  ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", function(a, b) return a <= b end),
  --- -<Boolean> ≥ <Number|BigInteger|Decimal|Point|Boolean>other
  --- -<Boolean> isGreaterThanOrEqualTo:<Number|BigInteger|Decimal|Point|Boolean>other
  --- Whether the number is at least the other. A comparison with nil is an error.
  --- > 3 >= 4 ⇒ false
  ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", function(a, b)
    return a >= b
  end),
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- -<Boolean> isEqualToNumber:<any>other
  --- Whether both are the same number. `true` is not equal to 1, and a text never equals a number.
  --- > [3 = 3.0, 3 = '3'] ⇒ [true, false]
  ["isEqual:"] = function(self, other) return K.eq(self, other) end,
  ["isEqualToNumber:"] = function(self, other) return K.eq(self, other) end,
  --- -<Number> compare:<Number|BigInteger|Decimal|Boolean?>other
  --- The order of both numbers: -1 if the receiver is less, 0 if both are equal, 1 if it is greater. nil is the least.
  --- > 3 compare: 5 ⇒ -1
  ["compare:"] = function(self, other) return K.order(self, other) end,
  --- -<Number|BigInteger|Decimal> max:<Number|BigInteger|Decimal>other
  --- The greater of both numbers.
  --- > 3 max: 4 ⇒ 4
  ["max:"] = function(self, other) return K.lt(self, other) and other or self end,
  --- -<Number|BigInteger|Decimal> min:<Number|BigInteger|Decimal>other
  --- The smaller of both numbers.
  --- > 3 min: 4 ⇒ 3
  ["min:"] = function(self, other) return K.gt(self, other) and other or self end,
  --- -<Number|BigInteger|Decimal> min:<Number|BigInteger|Decimal>low max:<Number|BigInteger|Decimal>high
  --- The number, but at least `low` and at most `high`.
  --- > 250 min: 1 max: 100 ⇒ 100
  ["min:max:"] = function(self, low, high)
    return K.lt(self, low) and low or K.gt(self, high) and high or self
  end,
  --- -<Boolean> between:<Number|BigInteger|Decimal>low and:<Number|BigInteger|Decimal>high
  --- Whether the number is at least `low` and at most `high`.
  --- > 3 between: 1 and: 3 ⇒ true
  ["between:and:"] = K.between,
  --- -<String> , <any>other
  --- -<String> concat:<any>other
  --- The text of the number, followed by that of the other.
  --- > 42 , ' tasks' ⇒ '42 tasks'
  ["concat:"] = function(self, other) return K.str(self) .. K.str(other) end,
})

-- Conversion ------------------------------------------------------------------------------------

local function truncate(x)
  if x ~= x or x == math.huge or x == -math.huge then
    throw("typeError", K.str(x) .. " has no whole part")
  end
  return x >= 0 and floor(x) or ceil(x)
end

local function itself(self) return self end

K.methods(Number, {
  --- -<Number> intValue
  --- -<Number> integerValue
  --- -<Number> longValue
  --- -<Number> asInteger
  --- -<Number> truncated
  --- The number without its fraction: rounded toward 0. An error for infinite numbers and nan.
  --- > -3.7 intValue ⇒ -3
  ["intValue"] = truncate, ["integerValue"] = truncate, ["longValue"] = truncate,
  ["asInteger"] = truncate, ["truncated"] = truncate,
  --- -<Number> floatValue
  --- -<Number> doubleValue
  --- -<Number> asFloat
  --- -<Number> asNumber
  --- -<Number> numberValue
  --- The number itself. A text or a Decimal answers these messages with a plain number.
  --- > 3.5 floatValue ⇒ 3.5
  ["floatValue"] = itself, ["doubleValue"] = itself, ["asFloat"] = itself, ["asNumber"] = itself,
  ["numberValue"] = itself,
  --- -<Boolean> boolValue
  --- false for 0, true for any other number.
  --- > 3 boolValue ⇒ true
  ["boolValue"] = function(self) return self ~= 0 end,
  --- -<String> description
  --- The shortest text that reads back as the same number.
  --- > (1 / 4) description ⇒ '0.25'
  ["description"] = function(self) return K.numberText(self) end,
  --- -<Number> abs
  --- The number without its sign.
  --- > -3 abs ⇒ 3
  ["abs"] = function(self) return abs(self) end,
  --- -<Number> negated
  --- The number with the other sign.
  --- > 3 negated ⇒ -3
  ["negated"] = function(self) return 0 - self end,
  --- -<Number|BigInteger> squared
  --- The product of the number with itself.
  --- > 12 squared ⇒ 144
  ["squared"] = function(self) return K.mul(self, self) end,
  --- -<Number|BigInteger> cubed
  --- The third power of the number.
  --- > 3 cubed ⇒ 27
  ["cubed"] = function(self) return K.mul(K.mul(self, self), self) end,
  --- -<Number> reciprocal
  --- 1 divided by the number. An error for 0.
  --- > 4 reciprocal ⇒ 0.25
  ["reciprocal"] = function(self) return K.div(1, self) end,
  --- -<Number> sign
  --- 1 for a number above 0, -1 for one below 0, and 0 for 0.
  --- > -3 sign ⇒ -1
  ["sign"] = function(self) return self > 0 and 1 or self < 0 and -1 or 0 end,
})

-- Functions -------------------------------------------------------------------------------------

-- The largest result of a power or factorial, in bits: a million, about 300,000 digits.
local MAX_BITS = 1e6

local function power(base, exponent)
  if type(exponent) == "table" and exponent._isBig and K.integral(base) and abs(base) > 1 and exponent:positive() then
    throw("tooLarge", K.str(base) .. " raisedTo: " .. K.str(exponent)
      .. " has more than " .. K.str(MAX_BITS) .. " bits")
  end
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
  a = abs(K.expectInteger(a, "gcd:"))
  if type(b) == "table" and b._isBig then return b:gcd_(a) end
  b = abs(K.expectInteger(b, "gcd:"))
  while b ~= 0 do a, b = b, modulo(a, b) end
  return a
end

K.methods(Number, {
  --- -<Number> sqrt
  --- The square root; nan for a negative number.
  --- > 144 sqrt ⇒ 12
  ["sqrt"] = function(self) return math.sqrt(self) end,
  --- -<Number> sin
  --- The sine of the angle in radians.
  --- > 0 sin ⇒ 0
  ["sin"] = function(self) return math.sin(self) end,
  --- -<Number> cos
  --- The cosine of the angle in radians.
  --- > 0 cos ⇒ 1
  ["cos"] = function(self) return math.cos(self) end,
  --- -<Number> tan
  --- The tangent of the angle in radians.
  --- > 0 tan ⇒ 0
  ["tan"] = function(self) return math.tan(self) end,
  --- -<Number> arcSin
  --- The angle in radians that has this sine; nan outside -1 to 1.
  --- > 0 arcSin ⇒ 0
  ["arcSin"] = function(self) return math.asin(self) end,
  --- -<Number> arcCos
  --- The angle in radians that has this cosine; nan outside -1 to 1.
  --- > 1 arcCos ⇒ 0
  ["arcCos"] = function(self) return math.acos(self) end,
  --- -<Number> arcTan
  --- The angle in radians that has this tangent.
  --- > 1 arcTan * 4 ⇒ Number pi
  ["arcTan"] = function(self) return math.atan(self) end,
  --- -<Number> arcTan:<Number|BigInteger|Decimal>x
  --- The angle in radians, from -π to π, of the point whose y is the receiver and whose x is the argument.
  --- > 1 arcTan: 0 ⇒ Number pi / 2
  ["arcTan:"] = function(self, x) return math.atan2(self, expectNumber(x, "arcTan:")) end,
  --- -<Number> log
  --- -<Number> ln
  --- The natural logarithm: -inf for 0, nan for a negative number.
  --- > 1 ln ⇒ 0
  ["log"] = function(self) return math.log(self) end,
  ["ln"] = function(self) return math.log(self) end,
  --- -<Number> log10
  --- The logarithm to base 10.
  --- > 1000 log10 ⇒ 3
  ["log10"] = function(self) return math.log10(self) end,
  --- -<Number> log2
  --- The logarithm to base 2.
  --- > 8 log2 ⇒ 3
  ["log2"] = function(self) return math.log(self) / math.log(2) end,
  --- -<Number> log:<Number|BigInteger|Decimal>base
  --- The logarithm to a base.
  --- > 64 log: 4 ⇒ 3
  ["log:"] = function(self, base) return math.log(self) / math.log(expectNumber(base, "log:")) end,
  --- -<Number> exp
  --- e to the power of the number.
  --- > 0 exp ⇒ 1
  ["exp"] = function(self) return math.exp(self) end,
  --- -<Number|BigInteger> pow:<Number|BigInteger|Decimal>exponent
  --- -<Number|BigInteger> raisedTo:<Number|BigInteger|Decimal>exponent
  --- The power. That of whole numbers is exact; one of more than 1,000,000 bits is an error of kind `tooLarge`.
  --- > 2 pow: 10 ⇒ 1024
  ["pow:"] = power,
  ["raisedTo:"] = power,
  --- -<Number|BigInteger> factorial
  --- The product of the whole numbers from 1 to this one, which must be whole, not negative and at most 20,000.
  --- > 5 factorial ⇒ 120
  ["factorial"] = factorial,
  --- -<Number|BigInteger> gcd:<Number|BigInteger>other
  --- The greatest common divisor of two whole numbers. A fraction is an error.
  --- > 12 gcd: 18 ⇒ 6
  ["gcd:"] = gcd,
  --- -<Number|BigInteger> lcm:<Number|BigInteger>other
  --- The least common multiple of two whole numbers; 0 if one of them is 0.
  --- > 4 lcm: 6 ⇒ 12
  ["lcm:"] = function(self, other)
    if self == 0 or other == 0 then return 0 end
    return K.mul(self:div_(gcd(self, other)), other):abs()
  end,
  -- A whole number from 0 up to this one, without it. `1.0` is the number 1, so that a fraction
  -- cannot be asked for this way: `Number random` is one.
  --- -<Number> random
  --- A random whole number from 0 (included) to this one (excluded), which must be whole and from 1 to 2^53.
  --- `Number random` answers a fraction. Not for tokens and codes: see `SecureRandom`.
  --- > 6 random between: 0 and: 5 ⇒ true
  ["random"] = function(self)
    if self ~= floor(self) or self < 1 or self > 2 ^ 53 then
      throw("outOfRange", K.str(self) .. " random: a whole number from 1 to 2^53 is needed",
        { i_hint = "`Number random` is a fraction from 0 up to 1: multiply it" })
    end
    return floor(math.random() * self)
  end,
  --- -<Boolean> isZero
  --- Whether the number is 0.
  --- > 0 isZero ⇒ true
  ["isZero"] = function(self) return self == 0 end,
  --- -<Boolean> isNumber
  --- true for every number; other values answer false.
  --- > [3 isNumber, '3' isNumber] ⇒ [true, false]
  ["isNumber"] = function() return true end,
  --- -<Boolean> isInteger
  --- Whether the number is whole and finite.
  --- > [3.5 isInteger, 3.0 isInteger] ⇒ [false, true]
  ["isInteger"] = function(self) return self == floor(self) and abs(self) < math.huge end,
  --- -<Boolean> isNaN
  --- Whether the number is nan, the result of an undefined operation.
  --- > -1 sqrt isNaN ⇒ true
  ["isNaN"] = function(self) return self ~= self end,
  --- -<Boolean> isInfinite
  --- Whether the number is infinity or its negative.
  --- > Number infinity isInfinite ⇒ true
  ["isInfinite"] = function(self) return abs(self) == math.huge end,
  --- -<Boolean> isNegative
  --- -<Boolean> negative
  --- Whether the number is less than 0.
  --- > -3 isNegative ⇒ true
  ["isNegative"] = function(self) return self < 0 end,
  --- -<Boolean> isPositive
  --- -<Boolean> strictlyPositive
  --- Whether the number is greater than 0.
  --- > [3 isPositive, 0 isPositive] ⇒ [true, false]
  ["isPositive"] = function(self) return self > 0 end,
  ["negative"] = function(self) return self < 0 end,
  --- -<Boolean> positive
  --- Whether the number is 0 or greater; `isPositive` is false for 0.
  --- > 0 positive ⇒ true
  ["positive"] = function(self) return self >= 0 end,
  ["strictlyPositive"] = function(self) return self > 0 end,
  --- -<Boolean> even
  --- -<Boolean> isEven
  --- Whether the number is a multiple of 2.
  --- > 4 isEven ⇒ true
  ["even"] = function(self) return self % 2 == 0 end,
  ["isEven"] = function(self) return self % 2 == 0 end,
  --- -<Boolean> odd
  --- -<Boolean> isOdd
  --- Whether the number is whole and not a multiple of 2.
  --- > 4 isOdd ⇒ false
  ["odd"] = function(self) return self % 2 == 1 end,
  ["isOdd"] = function(self) return self % 2 == 1 end,
  --- -<Boolean> isDivisibleBy:<Number|BigInteger|Decimal>other
  --- Whether the number is a multiple of the other, which must not be 0.
  --- > 10 isDivisibleBy: 5 ⇒ true
  ["isDivisibleBy:"] = function(self, other)
    return modulo(self, expectNumber(other, "isDivisibleBy:")) == 0
  end,
})
K.classMethods(Number, {
  --- +<Number> new
  --- +<Number> alloc
  --- 0.
  --- > Number new ⇒ 0
  ["new"] = function() return 0 end,
  ["alloc"] = function() return 0 end,
  --- +<Number> random
  --- A random fraction from 0 (included) to 1 (excluded). A whole number answers `random` with a whole one.
  --- > Number random < 1 ⇒ true
  ["random"] = function() return math.random() end,
  --- +<Number> pi
  --- The ratio of a circle's circumference to its diameter; `π` means the same.
  --- > Number pi ⇒ 3.141592653589793
  ["pi"] = function() return math.pi end,
  --- +<Number> infinity
  --- The number that is greater than all others. It prints as `inf`.
  --- > Number infinity > 1e300 ⇒ true
  ["infinity"] = function() return math.huge end,
  --- +<Number> integer:<Number|BigInteger|Decimal>value
  --- +<Number> numberWithInt:<Number|BigInteger|Decimal>value
  --- +<Number> numberWithInteger:<Number|BigInteger|Decimal>value
  --- The value without its fraction, as with `intValue`. A text is an error: send it `intValue`.
  --- > Number integer: 3.7 ⇒ 3
  ["integer:"] = function(_, value) return truncate(expectNumber(value, "integer:")) end,
  --- +<Number> float:<Number|BigInteger|Decimal>value
  --- +<Number> numberWithFloat:<Number|BigInteger|Decimal>value
  --- +<Number> numberWithDouble:<Number|BigInteger|Decimal>value
  --- The value as a plain number. A text is an error: send it `floatValue`.
  --- > Number float: 3.5 ⇒ 3.5
  ["float:"] = function(_, value) return expectNumber(value, "float:") end,
  ["numberWithInt:"] = function(_, value)
    return truncate(expectNumber(value, "numberWithInt:"))
  end,
  ["numberWithInteger:"] = function(_, value)
    return truncate(expectNumber(value, "numberWithInteger:"))
  end,
  ["numberWithFloat:"] = function(_, value) return expectNumber(value, "numberWithFloat:") end,
  ["numberWithDouble:"] = function(_, value) return expectNumber(value, "numberWithDouble:") end,
  --- +<Boolean> numberWithBool:<Boolean|Number?>value
  --- The value as true or false: false for nil and 0.
  --- > Number numberWithBool: true ⇒ true
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
  --- -<nothing> to:<Number>last do:<Block(number)>block
  --- Runs the block with each number from this one to `last`, in steps of 1; not at all if `last` is less.
  --- > list := []. 1 to: 3 do: { :i | list add: i * i }. list ⇒ [1, 4, 9]
  ["to:do:"] = function(self, last, block)
    expectBlock(block, "to:do:")
    for i = self, expectNumber(last, "to:do:") do block(i) end
  end,
  --- -<nothing> to:<Number>last by:<Number>step do:<Block(number)>block
  --- Runs the block with each number from this one to `last`, in steps that may be negative. A step of 0 is an error.
  --- > list := []. 5 to: 1 by: -2 do: { :i | list add: i }. list ⇒ [5, 3, 1]
  ["to:by:do:"] = function(self, last, step, block)
    expectBlock(block, "to:by:do:")
    for i = self, expectNumber(last, "to:by:do:"), K.step(step, "to:by:do:") do block(i) end
  end,
  --- -<nothing> timesRepeat:<Block(index)>block
  --- -<nothing> repeat:<Block(index)>block
  --- Runs the block this many times, with the index of the run from 0.
  --- > list := []. 3 timesRepeat: { :i | list add: i }. list ⇒ [0, 1, 2]
  ["timesRepeat:"] = repeated, ["repeat:"] = repeated,
})

--- Number -<Number|BigInteger|Decimal|Point> / <Number|BigInteger|Decimal|Point|Boolean?>other
--- The quotient, with a fraction where needed; `div:` rounds down. Division by 0 is an error.
--- > 7 / 2 ⇒ 3.5
K.method(Number, "_over", exactDivide)
