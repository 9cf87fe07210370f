-- Numbers as digits: rounding, other bases, fixed decimals, padding, bits.
local K = ...
local floor, ceil, abs = math.floor, math.ceil, math.abs
local format, sub, rep, reverse = string.format, string.sub, string.rep, string.reverse
local concat, find, match = table.concat, string.find, string.match
local band, bor, bxor = bit.band, bit.bor, bit.bxor
local throw = K.throw
local Number = K.classes.Number

-- Rounding --------------------------------------------------------------------------------------

-- Halves are rounded away from zero.
local function round(x)
  if x < 0 then return -round(-x) end
  local whole = floor(x)
  return x - whole >= 0.5 and whole + 1 or whole
end

K.methods(Number, {
  --- -<Number> rounded
  --- -<Number> round
  --- The nearest whole number. Halves round away from 0.
  --- > [2.5 rounded, -2.5 rounded] ⇒ [3, -3]
  ["rounded"] = round,
  ["round"] = round,
  --- -<Number> floor
  --- The largest whole number that is not greater.
  --- > -3.7 floor ⇒ -4
  ["floor"] = function(self) return floor(self) end,
  --- -<Number> ceiling
  --- -<Number> ceil
  --- The smallest whole number that is not less.
  --- > 3.2 ceiling ⇒ 4
  ["ceiling"] = function(self) return ceil(self) end,
  ["ceil"] = function(self) return ceil(self) end,
  --- -<Number> roundTo:<Number|BigInteger|Decimal>step
  --- The nearest multiple of the step. Halves round away from 0; a step of 0 is an error.
  --- > 3.14159 roundTo: 0.01 ⇒ 3.14
  --- > 43 roundTo: 5 ⇒ 45
  ["roundTo:"] = function(self, step)
    -- A step such as 0.01 is not exact in binary, but its reciprocal 100 is.
    step = K.expectNumber(step, "roundTo:")
    if step == 0 then throw("invalid", "roundTo: needs a step above 0, such as 0.01, not 0") end
    local perUnit = 1 / step
    if perUnit == floor(perUnit) then return round(self * perUnit) / perUnit end
    return round(self / step) * step
  end,
  --- -<Number> fractionPart
  --- The digits after the point, with the sign of the number.
  --- > -7.5 fractionPart ⇒ -0.5
  ["fractionPart"] = function(self) return self - self:truncated() end,
})

-- Digits and bits -------------------------------------------------------------------------------

local DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

local function inBase(self, base)
  base = K.expectInteger(base, "printString:")
  if base < 2 or base > 36 then
    throw("outOfRange", "a base is from 2 to 36, not " .. K.str(base))
  end
  if base == 10 then return K.str(self) end
  local rest = K.expectInteger(self, "printString:")
  if rest == 0 then return "0" end
  local digits, n = {}, 0
  rest = abs(rest)
  while rest > 0 do
    local digit = rest % base
    n = n + 1
    digits[n] = sub(DIGITS, digit + 1, digit + 1)
    rest = (rest - digit) / base
  end
  return (self < 0 and "-" or "") .. reverse(concat(digits))
end

-- The number with that many digits after the point, halves away from zero as written in decimal: `1.005` is less
-- than that in binary, so Decimal rounds it.
local function fixed(self, places)
  places = K.expectInteger(places, "fixed:")
  if places < 0 or places > 30 then
    throw("outOfRange", "fixed: is from 0 to 30, not " .. K.str(places))
  end
  local text = K.numberText(self)
  local fraction = match(text, "%.(%d*5)$")
  if fraction and #fraction == places + 1 or find(text, "e-", 1, true) then
    return self:asDecimal():fixed_(places)
  end
  return format("%." .. places .. "f", self)
end

local function padded(self, width)
  local text = K.str(self)
  local missing = K.expectInteger(width, "padded:") - #text
  if missing <= 0 then return text end
  if missing > 1000 then throw("tooLarge", "padded: adds at most 1000 digits") end
  if self < 0 then return "-" .. rep("0", missing) .. sub(text, 2) end
  return rep("0", missing) .. text
end

-- Bits: the `bit` library knows 32 of them, so wider numbers are taken in two parts (two's
-- complement: the high part carries the sign).
local function bitwise(operation, selector)
  return function(self, other)
    local a, b = K.expectInteger(self, selector), K.expectInteger(other, selector)
    if not K.integral(a) or not K.integral(b) then
      throw("outOfRange", selector .. " works on whole numbers up to 2^53")
    end
    local aHigh, bHigh = floor(a / 4294967296), floor(b / 4294967296)
    local high = operation(aHigh, bHigh)
    local low = operation(a - aHigh * 4294967296, b - bHigh * 4294967296)
    if low < 0 then low = low + 4294967296 end
    return high * 4294967296 + low
  end
end

local function expectWhole(self, selector)
  if self ~= floor(self) then
    throw("typeError", selector .. " needs a whole number, not " .. K.str(self))
  end
end

local function shift(self, places)
  expectWhole(self, "bitShift:")
  places = K.expectInteger(places, "bitShift:")
  if places >= 0 then return K.mul(self, (2):raisedTo_(places)) end
  return floor(self / 2 ^ -places)
end

K.methods(Number, {
  --- -<String> printString:<Number>base
  --- -<String> radix:<Number>base
  --- The digits of the number in a base from 2 to 36, in lower case. A fraction is an error unless the base is 10.
  --- > 255 printString: 16 ⇒ 'ff'
  ["printString:"] = inBase,
  ["radix:"] = inBase,
  --- -<String> asHex
  --- The hexadecimal digits of a whole number, in lower case and without a prefix.
  --- > 255 asHex ⇒ 'ff'
  ["asHex"] = function(self) return inBase(self, 16) end,
  --- -<String> asBinary
  --- The binary digits of a whole number, without a prefix.
  --- > 5 asBinary ⇒ '101'
  ["asBinary"] = function(self) return inBase(self, 2) end,
  --- -<String> fixed:<Number>places
  --- The number as text with this count of digits after the point, from 0 to 30. Halves round away from 0.
  --- > 2.5 fixed: 2 ⇒ '2.50'
  --- > 1.005 fixed: 2 ⇒ '1.01'
  ["fixed:"] = fixed,
  --- -<String> padded:<Number>width
  --- The number as text of at least this width, filled with zeros on the left, at most 1,000 of them.
  --- > 7 padded: 3 ⇒ '007'
  --- > -7 padded: 4 ⇒ '-007'
  ["padded:"] = padded,
  --- -<Number> bitAnd:<Number|Boolean>other
  --- The bits that both whole numbers have, in two's complement. Both lie within ±2^53.
  --- > 6 bitAnd: 3 ⇒ 2
  ["bitAnd:"] = bitwise(band, "bitAnd:"),
  --- -<Number> bitOr:<Number|Boolean>other
  --- The bits that one of the whole numbers has, in two's complement. Both lie within ±2^53.
  --- > 6 bitOr: 3 ⇒ 7
  ["bitOr:"] = bitwise(bor, "bitOr:"),
  --- -<Number> bitXor:<Number|Boolean>other
  --- The bits that exactly one of the whole numbers has, in two's complement. Both lie within ±2^53.
  --- > 6 bitXor: 3 ⇒ 5
  ["bitXor:"] = bitwise(bxor, "bitXor:"),
  --- -<Number|BigInteger> bitShift:<Number>places
  --- The bits moved to the left, or to the right for negative places: the number times 2 to that power, rounded down.
  --- > 1 bitShift: 10 ⇒ 1024
  --- > 1024 bitShift: -3 ⇒ 128
  ["bitShift:"] = shift,
  --- -<Number> bitInvert
  --- The whole number with all bits inverted, in two's complement: -1 minus the number.
  --- > 5 bitInvert ⇒ -6
  ["bitInvert"] = function(self)
    expectWhole(self, "bitInvert")
    return -1 - self
  end,
})
