-- Durations: `5 seconds`, `1 hours + 30 minutes`.
local K = ...
local type, setmetatable, floor, abs = type, setmetatable, math.floor, math.abs
local throw = K.throw
local Object = K.classes.Object

--- A length of time: `5 seconds`, `1 hours + 30 minutes`. It may be negative. Months and years, which differ in length,
--- are a `Period`.
local Duration = K.newClass("Duration", Object)
K.method(Duration, "_isDuration", true)

local function duration(seconds)
  return setmetatable({ _seconds = seconds }, Duration._methods)
end
K.duration = duration

-- A number as a duration: only 0 is the same in all units.
local function unitless(number, name)
  if number == 0 then return 0 end
  local shown, ending = K.str(number), number == 1 and "" or "s"
  throw("invalid", string.format("%s %s has no unit: write %s second%s or %s millisecond%s",
    name, shown, shown, ending, shown, ending))
end

-- The seconds of an option or an argument, or nil for anything else; `name` is what a program writes: `per:`.
function K.durationOf(value, name)
  if type(value) == "table" and value._isDuration then return value._seconds end
  if type(value) == "number" then return unitless(value, name) end
end

-- The seconds of an argument, which must be a duration.
function K.secondsOf(value, name)
  local seconds = K.durationOf(value, name)
  if seconds then return seconds end
  throw("typeError", name .. " expects a Duration, got " .. K.nameOf(value))
end

-- A duration for options that Rust reads, which takes no number without a unit.
function K.secondsText(seconds) return string.format("%.17g s", seconds) end

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
  --- -<Number> asSeconds
  --- -<Number> floatValue
  --- -<Number> asNumber
  --- The length in seconds, with a fraction.
  --- > (1 hours + 30 minutes) asSeconds ⇒ 5400
  ["asSeconds"] = scaled(1), ["floatValue"] = scaled(1), ["asNumber"] = scaled(1),
  --- -<Number> asMilliseconds
  --- The length in milliseconds, with a fraction.
  --- > 1.5 seconds asMilliseconds ⇒ 1500
  ["asMilliseconds"] = scaled(0.001),
  --- -<Number> asMinutes
  --- The length in minutes, with a fraction.
  --- > 90 seconds asMinutes ⇒ 1.5
  ["asMinutes"] = scaled(60),
  --- -<Number> asHours
  --- The length in hours, with a fraction.
  --- > 90 minutes asHours ⇒ 1.5
  ["asHours"] = scaled(3600),
  --- -<Number> asDays
  --- The length in days of 24 hours, with a fraction.
  --- > 36 hours asDays ⇒ 1.5
  ["asDays"] = scaled(86400),
  --- -<Number> intValue
  --- The whole seconds, rounded toward 0.
  --- > 1500 milliseconds intValue ⇒ 1
  ["intValue"] = function(self) return self._seconds:intValue() end,
  --- -<Duration|Date> + <Duration|Date>other
  --- -<Duration|Date> add:<Duration|Date>other
  --- The sum; with a Date, the moment that is later by the duration. A number is an error: it has no unit.
  --- > 1 minutes + 30 seconds ⇒ 90 seconds
  ["add:"] = function(self, other)
    if type(other) == "table" and other._isDate then return other:add_(self) end
    return duration(self._seconds + expectDuration(self, other, "add_"))
  end,
  --- -<Duration> - <Duration>other
  --- -<Duration> sub:<Duration>other
  --- The difference.
  --- > 2 minutes - 30 seconds ⇒ 90 seconds
  ["sub:"] = function(self, other)
    return duration(self._seconds - expectDuration(self, other, "sub_"))
  end,
  --- -<Duration> * <Number|BigInteger|Decimal|Boolean?>factor
  --- -<Duration> mul:<Number|BigInteger|Decimal|Boolean?>factor
  --- The multiple of the duration. nil counts as 0.
  --- > 90 seconds * 2 ⇒ 3 minutes
  ["mul:"] = function(self, factor)
    return duration(self._seconds * K.expectNumber(factor, "*"))
  end,
  --- -<Duration|Number> / <Duration|Number|BigInteger|Decimal>other
  --- The quotient as a Duration; divided by a Duration, the ratio as a number. Both keep the fraction.
  --- Division by 0 is an error.
  --- > 3 minutes / 2 ⇒ 90 seconds
  --- > 3 minutes / 90 seconds ⇒ 2
  ["div:"] = over,
  --- -<Boolean> isLessThan:<Duration>other
  --- Whether the duration is shorter than the other. Anything but a Duration is an error.
  --- > 90 seconds < 2 minutes ⇒ true
  ["isLessThan:"] = comparison("isLessThan_", function(a, b) return a < b end),
  --- -<Boolean> > <Duration>other
  --- -<Boolean> isGreaterThan:<Duration>other
  --- Whether the duration is longer than the other. Anything but a Duration is an error.
  --- > 90 seconds > 2 minutes ⇒ false
  ["isGreaterThan:"] = comparison("isGreaterThan_", function(a, b) return a > b end),
  --- -<Boolean> ≤ <Duration>other
  --- -<Boolean> isLessThanOrEqualTo:<Duration>other
  --- Whether the duration is at most as long as the other. Anything but a Duration is an error.
  --- > 90 seconds <= 90 seconds ⇒ true
  ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", function(a, b) return a <= b end),
  --- -<Boolean> ≥ <Duration>other
  --- -<Boolean> isGreaterThanOrEqualTo:<Duration>other
  --- Whether the duration is at least as long as the other. Anything but a Duration is an error.
  --- > 90 seconds >= 2 minutes ⇒ false
  ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", function(a, b)
    return a >= b
  end),
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Whether the other is a Duration of the same length. A number is never equal.
  --- > 2 minutes = 120 seconds ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isDuration == true and other._seconds == self._seconds
  end,
  --- -<Duration> negated
  --- The duration with the other sign.
  --- > 5 seconds negated + 5 seconds ⇒ 0 seconds
  ["negated"] = function(self) return duration(-self._seconds) end,
  --- -<Duration> abs
  --- The duration without its sign.
  --- > -5 seconds abs ⇒ 5 seconds
  ["abs"] = function(self) return duration(abs(self._seconds)) end,
  --- As in Object.
  ["copy"] = function(self) return self end,
  --- -<String> description
  --- The length in days, hours, minutes and seconds; in milliseconds below one second.
  --- > 90 seconds description ⇒ '1 min 30 s'
  ["description"] = spelled,
})
K.method(Duration, "_keyText", function(self) return "t" .. K.str(self._seconds) end)
K.classMethods(Duration, {
  --- +<Duration> new
  --- The duration of 0 seconds.
  --- > Duration new ⇒ 0 seconds
  ["new"] = function() return duration(0) end,
  --- +<Duration> seconds:<Number|BigInteger|Decimal>seconds
  --- The number of seconds as a Duration.
  --- > Duration seconds: 90 ⇒ 90 seconds
  ["seconds:"] = function(_, seconds) return duration(K.expectNumber(seconds, "seconds:")) end,
})

local inSeconds = {
  microsecond = 1e-6, millisecond = 1e-3, second = 1, minute = 60, hour = 3600, day = 86400,
    week = 604800,
}
--- Number -<Duration> microseconds
--- Number -<Duration> microsecond
--- The number of microseconds as a Duration.
--- > 500 microseconds ⇒ 0.5 milliseconds

--- Number -<Duration> milliseconds
--- Number -<Duration> millisecond
--- The number of milliseconds as a Duration.
--- > 1500 milliseconds ⇒ 1.5 seconds

--- Number -<Duration> seconds
--- Number -<Duration> second
--- The number of seconds as a Duration.
--- > 90 seconds asMinutes ⇒ 1.5

--- Number -<Duration> minutes
--- Number -<Duration> minute
--- The number of minutes as a Duration.
--- > 2 minutes ⇒ 120 seconds

--- Number -<Duration> hours
--- Number -<Duration> hour
--- The number of hours as a Duration.
--- > 1 hours + 30 minutes ⇒ 90 minutes

--- Number -<Duration> days
--- Number -<Duration> day
--- The number of days as a Duration. A day has 24 hours; `addDays:` of a Date keeps the time on the clock.
--- > 2 days asHours ⇒ 48

--- Number -<Duration> weeks
--- Number -<Duration> week
--- The number of weeks as a Duration. A week has 7 days of 24 hours.
--- > 2 weeks ⇒ 14 days
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
K.methods(K.classes.Number, {
  --- -<Duration> asDuration
  --- The number of seconds as a Duration.
  --- > 90 asDuration ⇒ 90 seconds
  ["asDuration"] = function(self) return duration(self) end,
})
-- How long a block takes.
K.methods(K.classes.Block, {
  --- -<Duration> durationToRun
  --- Runs the block, which takes no parameters, and answers how long that took.
  --- > { (1 to: 1000) sum } durationToRun < 1 minutes ⇒ true
  ["durationToRun"] = function(self)
    local from = K.native.now()
    self()
    return duration(K.native.now() - from)
  end,
})
