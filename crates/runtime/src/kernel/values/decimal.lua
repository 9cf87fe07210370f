-- Decimals: exact decimal numbers, as whole units and a number of digits after the point (the scale).
local K = ...
local type, setmetatable, floor = type, setmetatable, math.floor
local match, find, rep, sub, byte = string.match, string.find, string.rep, string.sub, string.byte
local throw = K.throw
local String, Number, Big = K.classes.String, K.classes.Number, K.classes.BigInteger

--- An exact decimal number, for money and measures: `'12.30' asDecimal`. It keeps the digits of its text, at most 1,000
--- after the point. A number with a fraction counts as the digits that it prints. It is not a kind of `Number`.
local Decimal = K.newClass("Decimal", K.classes.Object)
K.method(Decimal, "_isDecimal", true)
K.method(Decimal, "_kind", K.kinds.decimal)
K.method(Decimal, "_equalsPlain", true)

-- Digits after the point: at most, and of a quotient that does not end earlier.
local MAX_SCALE = 1000
local QUOTIENT_SCALE = 20
-- Characters of a text that becomes a Decimal.
local LONGEST = 10000

-- Making -----------------------------------------------------------------------------------------

local powers = {}

local function tenTo(n)
  local known = powers[n]
  if not known then
    known = n <= 15 and 10 ^ n or K.integerFromText("1" .. rep("0", n))
    powers[n] = known
  end
  return known
end

local function decimal(units, scale)
  if scale > MAX_SCALE then
    throw("tooLarge", "a Decimal has at most " .. MAX_SCALE .. " digits after the point", {
      i_hint = "round it with roundTo:",
    })
  end
  return setmetatable({ _units = units, _scale = scale }, Decimal._methods)
end

-- The Decimal that a text spells, as in `-12.30` or `1.5e-7`; nil when it spells none. Part by part: one
-- pattern with several ways to match the same digits would take cubic time.
local function fromText(text)
  if #text > LONGEST then return nil end
  local sign, whole, at = match(text, "^%s*([+-]?)(%d+)()")
  if not whole then return nil end
  local fraction, afterFraction = match(text, "^%.(%d+)()", at)
  at = afterFraction or at
  local exponent, afterExponent = match(text, "^[eE]([+-]?%d%d?%d?%d?)()", at)
  at = afterExponent or at
  if find(text, "%S", at) then return nil end
  fraction = fraction or ""
  local units = K.integerFromText((sign == "-" and "-" or "") .. whole .. fraction)
  local scale = #fraction - (tonumber(exponent) or 0)
  if scale > MAX_SCALE or scale < -MAX_SCALE then return nil end
  if scale < 0 then units, scale = K.mul(units, tenTo(-scale)), 0 end
  return decimal(units, scale)
end

K.decimalFromText = fromText

-- What an operand counts as; nil when it is no number. A fraction counts as the digits it prints.
local function decimalOf(value)
  if type(value) == "number" then
    if K.integral(value) then return decimal(value, 0) end
    return fromText(K.numberText(value))
  end
  if value == nil or value == false then return decimal(0, 0) end
  if value == true then return decimal(1, 0) end
  if type(value) == "table" then
    if value._isDecimal then return value end
    if value._isBig then return decimal(value, 0) end
  end
end

local function expectDecimal(value, selector)
  if value == nil then throw("typeError", selector .. " expects a number, got nil") end
  return decimalOf(value) or throw("typeError", selector .. " expects a number, got " .. K.nameOf(value))
end

-- The units of a Decimal at a scale that is not smaller than its own.
local function unitsAt(self, scale)
  if scale == self._scale then return self._units end
  return K.mul(self._units, tenTo(scale - self._scale))
end

-- Arithmetic --------------------------------------------------------------------------------------

local function absolute(units) return K.lt(units, 0) and K.sub(0, units) or units end

-- The quotient of whole numbers to the nearest whole number; halves go away from zero, or to the even
-- neighbour.
local function nearest(a, b, toEven)
  local isNegative = K.lt(a, 0) ~= K.lt(b, 0)
  a, b = absolute(a), absolute(b)
  local whole = a:div_(b)
  local order = K.order(K.mul(K.sub(a, K.mul(whole, b)), 2), b)
  if order > 0 or order == 0 and (not toEven or whole:odd()) then whole = K.add(whole, 1) end
  return isNegative and K.sub(0, whole) or whole
end

local function zeroDivisor(a, what)
  throw("divisionByZero", K.str(a) .. what)
end

-- Without zeros at the end of the fraction, but with at least `least` digits.
local function shortened(units, scale, least)
  while scale > least do
    local tenth = units:div_(10)
    if not K.eq(K.mul(tenth, 10), units) then break end
    units, scale = tenth, scale - 1
  end
  return decimal(units, scale)
end

local function quotient(a, b)
  if b._units == 0 then zeroDivisor(a, " cannot be divided by 0") end
  local least = math.max(a._scale, b._scale)
  local scale = math.max(least, QUOTIENT_SCALE)
  local units = nearest(K.mul(a._units, tenTo(scale + b._scale - a._scale)), b._units)
  return shortened(units, scale, least)
end

local function floorQuotient(a, b)
  if b._units == 0 then zeroDivisor(a, " cannot be divided by 0") end
  local scale = math.max(a._scale, b._scale)
  return unitsAt(a, scale):div_(unitsAt(b, scale))
end

local function sum(operation)
  return function(a, b)
    local scale = math.max(a._scale, b._scale)
    return decimal(operation(unitsAt(a, scale), unitsAt(b, scale)), scale)
  end
end

local operations = {
  add_ = sum(K.add), sub_ = sum(K.sub),
  mul_ = function(a, b) return decimal(K.mul(a._units, b._units), a._scale + b._scale) end,
  div_ = quotient, divFloor_ = floorQuotient,
  mod_ = function(a, b)
    if b._units == 0 then zeroDivisor(a, " has no remainder by 0") end
    local scale = math.max(a._scale, b._scale)
    return decimal(unitsAt(a, scale):mod_(unitsAt(b, scale)), scale)
  end,
}

local function compare(a, b)
  local scale = math.max(a._scale, b._scale)
  return K.order(unitsAt(a, scale), unitsAt(b, scale))
end
for name, test in pairs {
  isLessThan_ = function(r) return r < 0 end, isGreaterThan_ = function(r) return r > 0 end,
  isLessThanOrEqualTo_ = function(r) return r <= 0 end,
  isGreaterThanOrEqualTo_ = function(r) return r >= 0 end,
} do
  operations[name] = function(a, b) return test(compare(a, b)) end
end

local function operator(name, operation)
  local isOrder = find(name, "^is") ~= nil
  return function(self, other)
    if other == nil and isOrder then K.refuseNil(self) end
    local number = decimalOf(other)
    if number then return operation(self, number) end
    if type(other) == "table" and other._reverse then return other:_reverse(name, self) end
    K.operandError(name, self, other)
  end
end
--- Decimal -<Decimal|Point> + <Number|BigInteger|Decimal|Point|Boolean?>other
--- Decimal -<Decimal|Point> add:<Number|BigInteger|Decimal|Point|Boolean?>other
--- The exact sum, with the digits after the point of the operand that has more. nil counts as 0, true as 1.
--- > '12.30' asDecimal + 0.2 ⇒ '12.50' asDecimal

--- Decimal -<Decimal|Point> - <Number|BigInteger|Decimal|Point|Boolean?>other
--- Decimal -<Decimal|Point> sub:<Number|BigInteger|Decimal|Point|Boolean?>other
--- The exact difference, with the digits after the point of the operand that has more.
--- > '12.30' asDecimal - 2 ⇒ '10.30' asDecimal

--- Decimal -<Decimal|Point|Duration|Period> * <Number|BigInteger|Decimal|Point|Duration|Period|Boolean?>other
--- Decimal -<Decimal|Point|Duration|Period> mul:<Number|BigInteger|Decimal|Point|Duration|Period|Boolean?>other
--- The exact product, with the digits after the point of both operands together.
--- > '12.30' asDecimal * 3 ⇒ '36.90' asDecimal

--- Decimal -<Decimal|Point> mod:<Number|BigInteger|Decimal|Point|Boolean?>other
--- Decimal -<Decimal|Point> % <Number|BigInteger|Decimal|Point|Boolean?>other
--- The exact remainder of `div:`, with the sign of the divisor. A divisor of 0 is an error.
--- > '7.5' asDecimal mod: 2 ⇒ '1.5' asDecimal

--- Decimal -<Boolean> isLessThan:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether the number is less than the other. A comparison with nil is an error.
--- > '12.30' asDecimal < 13 ⇒ true

--- Decimal -<Boolean> > <Number|BigInteger|Decimal|Point|Boolean>other
--- Decimal -<Boolean> isGreaterThan:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether the number is greater than the other. A comparison with nil is an error.
--- > '12.30' asDecimal > 12 ⇒ true

--- Decimal -<Boolean> ≤ <Number|BigInteger|Decimal|Point|Boolean>other
--- Decimal -<Boolean> isLessThanOrEqualTo:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether the number is at most the other. A comparison with nil is an error.
--- > '12.30' asDecimal <= 12.3 ⇒ true

--- Decimal -<Boolean> ≥ <Number|BigInteger|Decimal|Point|Boolean>other
--- Decimal -<Boolean> isGreaterThanOrEqualTo:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether the number is at least the other. A comparison with nil is an error.
--- > '12.30' asDecimal >= 13 ⇒ false
for name, operation in pairs(operations) do
  if name ~= "div_" and name ~= "divFloor_" then K.method(Decimal, name, operator(name, operation)) end
end
--- Decimal -<Decimal|Point> / <Number|BigInteger|Decimal|Point|Boolean?>other
--- The quotient, with at most 20 digits after the point, or as many as the operands have. Halves round away from 0.
--- Division by 0 is an error.
--- > '10.00' asDecimal / 4 ⇒ '2.50' asDecimal
K.method(Decimal, "_over", operator("div_", quotient))
--- Decimal -<Number|BigInteger|Point> div:<Number|BigInteger|Decimal|Point|Boolean?>other
--- The quotient rounded down to a whole number; `/` keeps the fraction. Division by 0 is an error.
--- > '7.5' asDecimal div: 2 ⇒ 3
K.method(Decimal, "div_", operator("divFloor_", floorQuotient))
-- A plain number or a big integer on the left side.
K.method(Decimal, "_reverse", function(self, name, number)
  local left, operation = decimalOf(number), operations[name]
  if not left or not operation then K.operandError(name, number, self) end
  return operation(left, self)
end)

-- Rounding ----------------------------------------------------------------------------------------

local function rounder(selector, toEven)
  return function(self, step)
    step = expectDecimal(step, selector)
    if not K.gt(step._units, 0) then
      throw("invalid", selector .. " needs a step above 0, such as 0.01, not " .. K.str(step))
    end
    local scale = math.max(self._scale, step._scale)
    local count = nearest(unitsAt(self, scale), unitsAt(step, scale), toEven)
    return decimal(K.mul(count, step._units), step._scale)
  end
end

-- The Decimal with `scale` digits after the point.
local function atScale(self, scale)
  if scale >= self._scale then return decimal(unitsAt(self, scale), scale) end
  return decimal(nearest(self._units, tenTo(self._scale - scale)), scale)
end

local function description(self)
  local text, scale = K.str(self._units), self._scale
  if scale == 0 then return text end
  local sign = byte(text) == 45 and "-" or ""
  if sign ~= "" then text = sub(text, 2) end
  if #text <= scale then text = rep("0", scale + 1 - #text) .. text end
  return sign .. sub(text, 1, -scale - 1) .. "." .. sub(text, -scale)
end

local function whole(self) return floorQuotient(self, decimal(1, 0)) end
local function truncated(self)
  if K.lt(self._units, 0) then return K.sub(0, whole(decimal(K.sub(0, self._units), self._scale))) end
  return whole(self)
end
local function isNegative(self) return K.lt(self._units, 0) end
local function isPositive(self) return K.gt(self._units, 0) end
local function itself(self) return self end
local function asFloat(self) return tonumber(description(self)) end
local function isEqual(self, other)
  if other == nil or type(other) == "boolean" then return false end
  local number = decimalOf(other)
  return number ~= nil and compare(self, number) == 0
end

K.methods(Decimal, {
  --- -<String> description
  --- The digits of the number, with all that it has after the point.
  --- > '12.30' asDecimal description ⇒ '12.30'
  ["description"] = description,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- -<Boolean> isEqualToNumber:<any>other
  --- Whether both are the same number; zeros at the end do not count. nil, booleans and texts are never equal.
  --- > '12.30' asDecimal = 12.3 ⇒ true
  ["isEqual:"] = isEqual, ["isEqualToNumber:"] = isEqual,
  --- -<Number> compare:<Number|BigInteger|Decimal|Boolean?>other
  --- The order of both numbers: -1 if the receiver is less, 0 if both are equal, 1 if it is greater. nil is the least.
  --- > '12.30' asDecimal compare: 12 ⇒ 1
  ["compare:"] = function(self, other) return K.order(self, other) end,
  --- -<self> roundTo:<Number|BigInteger|Decimal>step
  --- The nearest multiple of a step above 0, with the digits of the step. Halves round away from 0.
  --- > '2.345' asDecimal roundTo: 0.01 ⇒ '2.35' asDecimal
  ["roundTo:"] = rounder("roundTo:", false),
  --- -<self> roundHalfEvenTo:<Number|BigInteger|Decimal>step
  --- The nearest multiple of a step above 0, with the digits of the step. Halves round to the even neighbour.
  --- > '2.345' asDecimal roundHalfEvenTo: 0.01 ⇒ '2.34' asDecimal
  ["roundHalfEvenTo:"] = rounder("roundHalfEvenTo:", true),
  --- -<Number|BigInteger> rounded
  --- The nearest whole number. Halves round away from 0.
  --- > '-2.5' asDecimal rounded ⇒ -3
  ["rounded"] = function(self) return atScale(self, 0)._units end,
  --- -<Number|BigInteger> floor
  --- The largest whole number that is not greater.
  --- > '-2.5' asDecimal floor ⇒ -3
  ["floor"] = whole,
  --- -<Number|BigInteger> truncated
  --- -<Number|BigInteger> intValue
  --- -<Number|BigInteger> asInteger
  --- The number without its fraction: rounded toward 0.
  --- > '-2.5' asDecimal intValue ⇒ -2
  ["truncated"] = truncated, ["intValue"] = truncated, ["asInteger"] = truncated,
  --- -<Number|BigInteger> ceiling
  --- The smallest whole number that is not less.
  --- > '2.1' asDecimal ceiling ⇒ 3
  ["ceiling"] = function(self) return K.sub(0, whole(decimal(K.sub(0, self._units), self._scale))) end,
  --- -<String> fixed:<Number>places
  --- The number as text with this count of digits after the point, from 0 to 30. Halves round away from 0.
  --- > '2.345' asDecimal fixed: 2 ⇒ '2.35'
  ["fixed:"] = function(self, places)
    places = K.expectInteger(places, "fixed:")
    if places < 0 or places > 30 then
      throw("outOfRange", "fixed: is from 0 to 30, not " .. K.str(places))
    end
    return description(atScale(self, places))
  end,
  --- -<Number> scale
  --- The count of digits after the point.
  --- > '2.50' asDecimal scale ⇒ 2
  ["scale"] = function(self) return self._scale end,
  --- -<self> asDecimal
  --- The number itself.
  --- > '2.50' asDecimal asDecimal ⇒ '2.5' asDecimal
  ["asDecimal"] = itself,
  --- As in Object.
  ["copy"] = itself,
  --- -<Number> asNumber
  --- -<Number> floatValue
  --- -<Number> doubleValue
  --- -<Number> asFloat
  --- The nearest floating-point number. Its arithmetic is not exact.
  --- > '2.50' asDecimal asNumber ⇒ 2.5
  ["asNumber"] = asFloat, ["floatValue"] = asFloat, ["doubleValue"] = asFloat, ["asFloat"] = asFloat,
  --- -<self> negated
  --- The number with the other sign.
  --- > '2.50' asDecimal negated ⇒ '-2.50' asDecimal
  ["negated"] = function(self) return decimal(K.sub(0, self._units), self._scale) end,
  --- -<self> abs
  --- The number without its sign.
  --- > '-2.50' asDecimal abs ⇒ 2.5
  ["abs"] = function(self) return decimal(absolute(self._units), self._scale) end,
  --- -<self> squared
  --- The exact product of the number with itself.
  --- > '1.5' asDecimal squared ⇒ '2.25' asDecimal
  ["squared"] = function(self) return operations.mul_(self, self) end,
  --- -<Number> sign
  --- 1 for a number above 0, -1 for one below 0, and 0 for 0.
  --- > '-2.50' asDecimal sign ⇒ -1
  ["sign"] = function(self) return K.order(self._units, 0) end,
  --- -<Boolean> isNegative
  --- -<Boolean> negative
  --- Whether the number is less than 0.
  --- > '-2.50' asDecimal isNegative ⇒ true
  ["isNegative"] = isNegative, ["negative"] = isNegative,
  --- -<Boolean> isPositive
  --- Whether the number is greater than 0.
  --- > '0.00' asDecimal isPositive ⇒ false
  ["isPositive"] = isPositive,
  --- -<Boolean> positive
  --- Whether the number is 0 or greater; `isPositive` is false for 0.
  --- > '0.00' asDecimal positive ⇒ true
  ["positive"] = function(self) return not isNegative(self) end,
  --- -<Boolean> isZero
  --- Whether the number is 0.
  --- > '0.00' asDecimal isZero ⇒ true
  ["isZero"] = function(self) return self._units == 0 end,
  --- -<Boolean> isNumber
  --- true for every number.
  --- > '2.50' asDecimal isNumber ⇒ true
  ["isNumber"] = function() return true end,
  --- -<Boolean> isInteger
  --- Whether the number is whole; zeros after the point do not count.
  --- > '2.00' asDecimal isInteger ⇒ true
  ["isInteger"] = function(self) return shortened(self._units, self._scale, 0)._scale == 0 end,
  --- -<Number|BigInteger|Decimal> max:<Number|BigInteger|Decimal>other
  --- The greater of both numbers.
  --- > '2.50' asDecimal max: 3 ⇒ 3
  ["max:"] = function(self, other) return K.lt(self, other) and other or self end,
  --- -<Number|BigInteger|Decimal> min:<Number|BigInteger|Decimal>other
  --- The smaller of both numbers.
  --- > '2.50' asDecimal min: 3 ⇒ 2.5
  ["min:"] = function(self, other) return K.gt(self, other) and other or self end,
  --- -<Boolean> between:<Number|BigInteger|Decimal>low and:<Number|BigInteger|Decimal>high
  --- Whether the number is at least `low` and at most `high`.
  --- > '2.50' asDecimal between: 2 and: 3 ⇒ true
  ["between:and:"] = K.between,
  --- -<String> , <any>other
  --- -<String> concat:<any>other
  --- The digits of the number, followed by the text of the other.
  --- > '2.50' asDecimal , ' EUR' ⇒ '2.50 EUR'
  ["concat:"] = function(self, other) return K.str(self) .. K.str(other) end,
})
K.classMethods(Decimal, {
  --- +<Decimal> new
  --- The Decimal 0.
  --- > Decimal new + 1 ⇒ 1
  ["new"] = function() return decimal(0, 0) end,
})
K.method(Decimal, "_keyText", function(self)
  return "m" .. description(shortened(self._units, self._scale, 0))
end)

local function asDecimal(self)
  return decimalOf(self) or throw("typeError", K.nameOf(self) .. " is no decimal number")
end
K.methods(String, {
  --- -<Decimal?> asDecimal
  --- The Decimal that the text writes, with all its digits; an exponent is allowed. nil for any other text, for one of
  --- more than 10,000 characters, and for more than 1,000 digits after the point.
  --- > '12.30' asDecimal + 1 ⇒ '13.30' asDecimal
  --- > '12,30' asDecimal ⇒ nil
  ["asDecimal"] = fromText,
})
K.methods(Number, {
  --- -<Decimal> asDecimal
  --- The number as a Decimal, with the digits that it prints. An error for infinity and nan.
  --- > 0.1 asDecimal + 0.2 ⇒ '0.3' asDecimal
  ["asDecimal"] = asDecimal,
})
K.methods(Big, {
  --- -<Decimal> asDecimal
  --- The same whole number as a Decimal.
  --- > (2 pow: 64) asDecimal + '0.5' asDecimal ⇒ '18446744073709551616.5' asDecimal
  ["asDecimal"] = asDecimal,
})
