-- Durations: `5 seconds`, `1 hours + 30 minutes`.
local K = ...
local type, setmetatable, floor, abs = type, setmetatable, math.floor, math.abs
local throw = K.throw
local Object = K.classes.Object

local Duration = K.newClass("Duration", Object)
K.method(Duration, "_isDuration", true)

local function duration(seconds)
  return setmetatable({ _seconds = seconds }, Duration._methods)
end
K.duration = duration

-- The seconds of an argument: a Duration, or a number of milliseconds as in `timeout: 800`.
function K.secondsOf(value, selector)
  if type(value) == "table" and value._isDuration then return value._seconds end
  if type(value) == "number" then return value / 1000 end
  throw("typeError", selector .. " expects a Duration or a number of milliseconds, got "
    .. K.nameOf(value))
end

local function expectDuration(self, other, name)
  if type(other) == "table" and other._isDuration then return other._seconds end
  K.operandError(name, self, other)
end

local units = { { "d", 86400 }, { "h", 3600 }, { "min", 60 } }

local function spelled(self)
  local seconds = self._seconds
  if seconds == 0 then return "0 s" end
  local sign = seconds < 0 and "-" or ""
  local rest, parts = abs(seconds), {}
  if rest < 1 then return sign .. K.str(floor(rest * 1e9 + 0.5) / 1e6) .. " ms" end
  for i = 1, #units do
    local count = floor(rest / units[i][2])
    if count > 0 then
      parts[#parts + 1] = K.str(count) .. " " .. units[i][1]
      rest = rest - count * units[i][2]
    end
  end
  rest = floor(rest * 1e6 + 0.5) / 1e6
  if rest > 0 then parts[#parts + 1] = K.str(rest) .. " s" end
  return sign .. table.concat(parts, " ")
end

local function scaled(factor)
  return function(self) return self._seconds / factor end
end

local function comparison(name, test)
  return function(self, other) return test(self._seconds, expectDuration(self, other, name)) end
end

local function over(self, other)
  if type(other) == "table" and other._isDuration then return K.div(self._seconds,
    other._seconds) end
  return duration(K.div(self._seconds, K.expectNumber(other, "/")))
end
K.method(Duration, "_over", over)
K.method(Duration, "_reverse", function(self, name, number)
  if name == "mul_" then return duration(K.expectNumber(number, "*") * self._seconds) end
  K.operandError(name, number, self)
end)

K.methods(Duration, {
  ["asSeconds"] = scaled(1), ["asMilliseconds"] = scaled(0.001), ["asMinutes"] = scaled(60),
  ["asHours"] = scaled(3600), ["asDays"] = scaled(86400),
  ["intValue"] = function(self) return self._seconds:intValue() end,
  ["floatValue"] = scaled(1), ["asNumber"] = scaled(1),
  ["add:"] = function(self, other)
    if type(other) == "table" and other._isDate then return other:add_(self) end
    return duration(self._seconds + expectDuration(self, other, "add_"))
  end,
  ["sub:"] = function(self, other)
    return duration(self._seconds - expectDuration(self, other, "sub_"))
  end,
  ["mul:"] = function(self, factor)
    return duration(self._seconds * K.expectNumber(factor, "*"))
  end,
  ["div:"] = over,
  ["isLessThan:"] = comparison("isLessThan_", function(a, b) return a < b end),
  ["isGreaterThan:"] = comparison("isGreaterThan_", function(a, b) return a > b end),
  ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", function(a, b) return a <= b end),
  ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", function(a, b)
    return a >= b
  end),
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isDuration == true and other._seconds == self._seconds
  end,
  ["negated"] = function(self) return duration(-self._seconds) end,
  ["abs"] = function(self) return duration(abs(self._seconds)) end,
  ["copy"] = function(self) return self end,
  ["description"] = spelled,
})
K.method(Duration, "_keyText", function(self) return "t" .. K.str(self._seconds) end)
K.classMethods(Duration, {
  ["new"] = function() return duration(0) end,
  ["seconds:"] = function(_, seconds) return duration(K.expectNumber(seconds, "seconds:")) end,
})

local inSeconds = {
  microsecond = 1e-6, millisecond = 1e-3, second = 1, minute = 60, hour = 3600, day = 86400,
    week = 604800,
}
for unit, factor in pairs(inSeconds) do
  -- Dividing by 1000 is exact where multiplying by 0.001 is not.
  local divisor = factor < 1 and floor(1 / factor + 0.5) or nil
  local function make(self)
    if divisor then return duration(self / divisor) end
    return duration(self * factor)
  end
  K.method(K.classes.Number, unit, make)
  K.method(K.classes.Number, unit .. "s", make)
end
K.methods(K.classes.Number, { ["asDuration"] = function(self) return duration(self) end })
-- How long a block takes.
K.methods(K.classes.Block, {
  ["durationToRun"] = function(self)
    local from = K.native.now()
    self()
    return duration(K.native.now() - from)
  end,
})
