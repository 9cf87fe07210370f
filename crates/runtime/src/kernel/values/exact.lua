-- Exact whole numbers: big integers as bytes. What fits becomes a plain number again.
-- The digits are bytes in two's complement, least significant first; the arithmetic is native.
local K = ...
local type, setmetatable = type, setmetatable
local throw = K.throw

--- A whole number beyond ±2^53, exact at any size. Arithmetic with whole numbers makes one where a plain number
--- would round, and answers a plain number where the result fits into one. It is not a kind of `Number`.
local Big = K.newClass("BigInteger", K.classes.Object)
K.alias("MPWBigInteger", Big)
K.method(Big, "_isBig", true)
K.method(Big, "_kind", K.kinds.big)
K.method(Big, "_equalsPlain", true)
local methods = Big._methods

local LARGEST = 9007199254740991
local EDGE = LARGEST + 1

-- The value of a result: a plain number when it fits, which is up to 2^53. Seven bytes hold 2^55,
-- and the conversion rounds nothing below 2^53, so what is in range after it was in range before;
-- at 2^53 itself a look back tells.
local function fromBytes(bytes)
  if #bytes <= 7 then
    local number = K.native.bigToNumber(bytes)
    if number <= LARGEST and number >= -LARGEST then return number end
    if (number == EDGE or number == -EDGE) and K.native.bigFromNumber(number) == bytes then
      return number
    end
  end
  return setmetatable({ _bytes = bytes }, methods)
end

local function toBytes(value)
  if type(value) == "number" then return K.native.bigFromNumber(value) end
  return value._bytes
end

local function operate(operation, a, b)
  return fromBytes(K.native.big(operation, toBytes(a), toBytes(b)))
end

K.bigOperation = operate

-- For operands that are plain whole numbers whose result leaves their range.
function K.bigAdd(a, b) return operate("add", a, b) end
function K.bigSub(a, b) return operate("sub", a, b) end
function K.bigMul(a, b) return operate("mul", a, b) end
function K.bigPower(base, exponent) return operate("pow", base, exponent) end

-- The exact whole number of a decimal text with an optional sign.
function K.integerFromText(text)
  if #text <= 16 then
    local number = tonumber(text)
    if number <= LARGEST and number >= -LARGEST then return number end
  end
  if #text > 300000 then throw("tooLarge", "a whole number has at most 300000 digits") end
  if string.byte(text) == 43 then text = string.sub(text, 2) end
  return fromBytes(K.native.bigFromText(text))
end

-- The nearest plain number (a float).
function K.bigToNumber(big) return K.native.bigToNumber(big._bytes) end
