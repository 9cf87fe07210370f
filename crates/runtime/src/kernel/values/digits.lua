-- Numbers as digits: other bases, fixed decimals, padding, bits.
local K = ...
local floor, abs = math.floor, math.abs
local format, sub, rep, reverse = string.format, string.sub, string.rep, string.reverse
local concat = table.concat
local band, bor, bxor = bit.band, bit.bor, bit.bxor
local throw = K.throw
local Number = K.classes.Number

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

-- The number with that many digits after the point, halves away from zero as written in decimal.
local function fixed(self, places)
  places = K.expectInteger(places, "fixed:")
  if places < 0 or places > 30 then
    throw("outOfRange", "fixed: is from 0 to 30, not " .. K.str(places))
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

local function shift(self, places)
  places = K.expectInteger(places, "bitShift:")
  if places >= 0 then return K.mul(self, (2):raisedTo_(places)) end
  return floor(self / 2 ^ -places)
end

K.methods(Number, {
  ["printString:"] = inBase,
  ["radix:"] = inBase,
  ["asHex"] = function(self) return inBase(self, 16) end,
  ["asBinary"] = function(self) return inBase(self, 2) end,
  ["fixed:"] = fixed,
  ["padded:"] = padded,
  ["bitAnd:"] = bitwise(band, "bitAnd:"),
  ["bitOr:"] = bitwise(bor, "bitOr:"),
  ["bitXor:"] = bitwise(bxor, "bitXor:"),
  ["bitShift:"] = shift,
  ["bitInvert"] = function(self) return -1 - self end,
})
