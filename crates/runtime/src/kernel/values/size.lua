-- Sizes: `5 megabytes`, `10 bytes`.
--
-- A limit in the wrong unit limits nothing and goes unseen, so what takes a size takes no number without its unit. A
-- size in turn counts as its bytes wherever a number is taken: lengths of data are numbers.
local K = ...
local type, setmetatable, rawset, sub = type, setmetatable, rawset, string.sub
local throw, native = K.throw, K.native
local Object, Number = K.classes.Object, K.classes.Number

--- A number of bytes with its unit: `5 megabytes`, `10 bytes`. In arithmetic, in comparisons and in the other messages
--- of a number it counts as its bytes.
local Size = K.newClass("ByteSize", Number)
K.method(Size, "_isSize", true)
K.method(Size, "_kind", K.kinds.size)
K.method(Size, "_equalsPlain", true)
for name, method in pairs(Number._methods) do
  if type(method) == "function" and sub(name, 1, 2) ~= "__" and method ~= Object._methods[name] then
    rawset(Size._methods, name, function(self, ...) return method(self._bytes, ...) end)
  end
end

local function size(bytes)
  if type(bytes) ~= "number" then return bytes end
  return setmetatable({ _bytes = bytes }, Size._methods)
end

local function plain(value)
  if type(value) == "table" and value._isSize then return value._bytes end
  return value
end

-- The whole bytes of an option or an argument, or nil for anything else; `name` is what a program writes: `maxSize:`.
function K.sizeOf(value, name)
  if type(value) == "table" then
    if value._isSize then return math.floor(value._bytes) end
    if value._isText then value = value:_string() end
  end
  if type(value) == "string" then return native.parseSize(value) end
  if value == 0 then return 0 end
  if type(value) == "number" then
    throw("invalid", string.format("%s %s has no unit: %s", name, K.str(value), native.sizeHint(value)))
  end
end

-- The bytes of an argument, which must be a size that is not negative.
function K.expectSize(value, name)
  local bytes = K.sizeOf(value, name)
  if not bytes then throw("typeError", name .. " expects a size such as `5 megabytes`, got " .. K.nameOf(value)) end
  if bytes < 0 then throw("outOfRange", name .. " expects a size from 0 bytes on, got " .. K.str(value)) end
  return bytes
end

-- A size for options that Rust reads, which takes no number without a unit.
function K.sizeText(bytes) return string.format("%.0f B", bytes) end

--- ByteSize -<ByteSize|Number> / <Number|Boolean>other
--- The size divided by a number; divided by a size, the ratio as a number. Division by 0 is an error.
--- > 5 kilobytes / 2 ⇒ 2560 bytes
--- > 3 megabytes / 1 kilobyte ⇒ 3072
K.method(Size, "_over", function(self, other)
  local result = K.div(self._bytes, plain(other))
  return type(other) == "table" and other._isSize and result or size(result)
end)
-- With a number on the left side.
K.method(Size, "_reverse", function(self, name, number)
  if name == "add_" then return size(K.add(number, self._bytes)) end
  if name == "sub_" then return size(K.sub(number, self._bytes)) end
  if name == "mul_" then return size(K.mul(number, self._bytes)) end
  if name == "div_" then return K.div(number, self._bytes) end
  return number[name == "divFloor_" and "div_" or name](number, self._bytes)
end)

local function extreme(isLess)
  return function(self, other) return isLess(self, other) and other or self end
end

K.methods(Size, {
  --- -<ByteSize> + <Number>other
  --- -<ByteSize> add:<Number>other
  --- The sum. A number counts as bytes.
  --- > 1 kilobyte + 24 bytes ⇒ 1048 bytes
  ["add:"] = function(self, other) return size(K.add(self._bytes, plain(other))) end,
  --- -<ByteSize> - <Number>other
  --- -<ByteSize> sub:<Number>other
  --- The difference. A number counts as bytes.
  --- > 1 kilobyte - 24 bytes ⇒ 1000 bytes
  ["sub:"] = function(self, other) return size(K.sub(self._bytes, plain(other))) end,
  --- -<ByteSize> * <Number|Boolean?>factor
  --- -<ByteSize> mul:<Number|Boolean?>factor
  --- The multiple of the size; of two sizes there is none.
  --- > 5 megabytes * 2 ⇒ 10 megabytes
  ["mul:"] = function(self, factor)
    if type(factor) == "table" and factor._isSize then K.operandError("mul_", self, factor) end
    return size(K.mul(self._bytes, factor))
  end,
  --- -<ByteSize> max:<Number>other
  --- The larger of both.
  --- > 5 megabytes max: 6 kilobytes ⇒ 5 megabytes
  ["max:"] = extreme(K.lt),
  --- -<ByteSize> min:<Number>other
  --- The smaller of both.
  --- > 5 megabytes min: 6 kilobytes ⇒ 6 kilobytes
  ["min:"] = extreme(K.gt),
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Whether the other is a size or a number of as many bytes.
  --- > 1 megabyte = 1048576 ⇒ true
  ["isEqual:"] = function(self, other) return K.eq(self._bytes, plain(other)) end,
  --- -<Number> asBytes
  --- The number of bytes.
  --- > 2 kilobytes asBytes ⇒ 2048
  ["asBytes"] = plain,
  --- As in Object.
  ["copy"] = function(self) return self end,
  --- -<String> , <any>other
  --- -<String> concat:<any>other
  --- The text of the size, followed by that of the other.
  --- > 5 megabytes , ' at most' ⇒ '5 MB at most'
  ["concat:"] = function(self, other) return K.str(self) .. K.str(other) end,
  --- -<String> description
  --- The size in the largest unit that divides it.
  --- > 2048 bytes description ⇒ '2 KB'
  ["description"] = function(self)
    local bytes = self._bytes
    if bytes < 0 or bytes ~= math.floor(bytes) then return K.str(bytes) .. " bytes" end
    return native.sizeText(bytes)
  end,
})
K.method(Size, "_keyText", function(self) return K.keyText(self._bytes) end)
K.classMethods(Size, {
  --- +<ByteSize> new
  --- The size of 0 bytes.
  --- > ByteSize new ⇒ 0 bytes
  ["new"] = function() return size(0) end,
  --- +<ByteSize> bytes:<Number>bytes
  --- The number of bytes as a ByteSize.
  --- > ByteSize bytes: 2048 ⇒ 2 kilobytes
  ["bytes:"] = function(_, bytes) return size(K.expectNumber(bytes, "bytes:")) end,
})

--- Number -<ByteSize> bytes
--- Number -<ByteSize> byte
--- The number of bytes as a ByteSize.
--- > 512 bytes < 1 kilobyte ⇒ true

--- Number -<ByteSize> kilobytes
--- Number -<ByteSize> kilobyte
--- The number of kilobytes, each 1,024 bytes, as a ByteSize.
--- > 2 kilobytes ⇒ 2048 bytes

--- Number -<ByteSize> megabytes
--- Number -<ByteSize> megabyte
--- The number of megabytes, each 1,048,576 (1024^2) bytes, as a ByteSize.
--- > 1 megabyte ⇒ 1024 kilobytes

--- Number -<ByteSize> gigabytes
--- Number -<ByteSize> gigabyte
--- The number of gigabytes, each 1,073,741,824 (1024^3) bytes, as a ByteSize.
--- > 1 gigabyte ⇒ 1024 megabytes
for unit, factor in pairs { byte = 1, kilobyte = 1024, megabyte = 1048576, gigabyte = 1073741824 } do
  local function make(self) return size(self * factor) end
  K.method(Number, unit, make)
  K.method(Number, unit .. "s", make)
end
K.methods(K.classes.String, {
  --- String -<ByteSize?> asByteSize
  --- The size that a text writes with its unit, such as `64M`, `5 MB` or `10 bytes`; nil for other texts.
  --- > '64K' asByteSize ⇒ 64 kilobytes
  --- > '64' asByteSize ⇒ nil
  ["asByteSize"] = function(text)
    local bytes = native.parseSize(text)
    return bytes and size(bytes) or nil
  end,
})
