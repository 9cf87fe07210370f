-- Durations (`5 seconds`) and dates (moments, printed as RFC 3339 text in UTC).
local K = ...
local type, setmetatable, floor, abs, tonumber = type, setmetatable, math.floor, math.abs, tonumber
local format, match, gsub = string.format, string.match, string.gsub
local throw = K.throw
local Object = K.classes.Object

-- Durations -------------------------------------------------------------------------------------

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
  ["ago"] = function(self) return K.date(K.native.now() - self._seconds) end,
  ["fromNow"] = function(self) return K.date(K.native.now() + self._seconds) end,
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

-- The calendar ----------------------------------------------------------------------------------
-- Days since 1970-01-01 and back, in the proleptic Gregorian calendar: years are counted from
-- March, in eras of 400 years = 146,097 days.

local function daysOf(year, month, day)
  if month <= 2 then year = year - 1 end
  local era = floor(year / 400)
  local yearOfEra = year - era * 400
  local dayOfYear = floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
  local dayOfEra = yearOfEra * 365 + floor(yearOfEra / 4) - floor(yearOfEra / 100) + dayOfYear
  return era * 146097 + dayOfEra - 719468
end

local function civil(days)
  days = days + 719468
  local era = floor(days / 146097)
  local dayOfEra = days - era * 146097
  local leapDays = floor(dayOfEra / 1460) - floor(dayOfEra / 36524) + floor(dayOfEra / 146096)
  local yearOfEra = floor((dayOfEra - leapDays) / 365)
  local dayOfYear = dayOfEra - (365 * yearOfEra + floor(yearOfEra / 4) - floor(yearOfEra / 100))
  local shifted = floor((5 * dayOfYear + 2) / 153)
  local month = shifted < 10 and shifted + 3 or shifted - 9
  return yearOfEra + era * 400 + (month <= 2 and 1 or 0), month,
    dayOfYear - floor((153 * shifted + 2) / 5) + 1
end

-- Dates -----------------------------------------------------------------------------------------

local Date = K.newClass("Date", Object)
K.alias("NSDate", Date)
K.alias("DateTime", Date)
K.method(Date, "_isDate", true)
K.method(Date, "_kind", K.kinds.date)

-- What RFC 3339 can write: the years 0000 to 9999.
local EARLIEST, LATEST = -62167219200, 253402300799.999999

-- A moment, as seconds since 1970 in UTC; kept to the microsecond.
function K.date(seconds)
  if not (seconds >= EARLIEST and seconds <= LATEST) then
    throw("outOfRange", "a Date lies in the years 0 to 9999")
  end
  return setmetatable({ _time = seconds }, Date._methods)
end

-- Year, month, day, hour, minute, second, microsecond.
local function fields(self)
  local micros = floor(self._time * 1e6 + 0.5)
  local seconds = floor(micros / 1e6)
  local days = floor(seconds / 86400)
  local rest = seconds - days * 86400
  local year, month, day = civil(days)
  return year, month, day, floor(rest / 3600), floor(rest / 60) % 60, rest % 60,
    micros - seconds * 1e6, days
end

local function rfc3339(self)
  local year, month, day, hour, minute, second, micros = fields(self)
  local fraction = ""
  if micros > 0 then
    fraction = micros % 1000 == 0 and format(".%03d", micros / 1000) or format(".%06d", micros)
  end
  return format("%04d-%02d-%02dT%02d:%02d:%02d%sZ", year, month, day, hour, minute, second,
    fraction)
end

local function monthLength(year, month)
  if month == 2 then
    return (year % 4 == 0 and year % 100 ~= 0 or year % 400 == 0) and 29 or 28
  end
  return (month == 4 or month == 6 or month == 9 or month == 11) and 30 or 31
end

local function valid(year, month, day, hour, minute, second)
  return month >= 1 and month <= 12 and day >= 1 and day <= monthLength(year, month)
    and hour >= 0 and hour <= 23 and minute >= 0 and minute <= 59 and second >= 0 and second <= 60
end

-- The moment of an RFC 3339 text (also a date alone, or a blank for the T), or nil.
local function parse(text)
  local year, month, day, rest = match(text, "^%s*(%d%d%d%d)-(%d%d)-(%d%d)(.-)%s*$")
  if not year then return nil end
  local hour, minute, second, fraction, zone = 0, 0, 0, "", "Z"
  if rest ~= "" then
    hour, minute, rest = match(rest, "^[Tt ](%d%d):(%d%d)(.*)$")
    if not hour then return nil end
    local seconds, after = match(rest, "^:(%d%d)(.*)$")
    if seconds then
      second, rest = seconds, after
      fraction = match(rest, "^(%.%d+)") or ""
      rest = string.sub(rest, #fraction + 1)
    end
    zone = rest == "" and "Z" or rest
  end
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  hour, minute, second = tonumber(hour), tonumber(minute), tonumber(second)
  if not valid(year, month, day, hour, minute, second) then return nil end
  local offset = 0
  if zone ~= "Z" and zone ~= "z" then
    local sign, zoneHour, zoneMinute = match(zone, "^([+-])(%d%d):?(%d%d)$")
    if not sign then return nil end
    offset = (tonumber(zoneHour) * 60 + tonumber(zoneMinute)) * (sign == "-" and -60 or 60)
  end
  return K.date(daysOf(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
    + (fraction ~= "" and tonumber("0" .. fraction) or 0))
end
K.parseDate = parse

local function made(_, year, month, day, hour, minute, second)
  local what = "year:month:day:"
  year, month, day = K.expectInteger(year, what), K.expectInteger(month, what),
    K.expectInteger(day, what)
  hour, minute = K.expectInteger(hour or 0, what), K.expectInteger(minute or 0, what)
  second = K.expectNumber(second or 0, what)
  if not valid(year, month, day, hour, minute, second) then
    throw("outOfRange", format("there is no date %s-%s-%s %s:%s:%s", K.str(year), K.str(month),
      K.str(day),
      K.str(hour), K.str(minute), K.str(second)))
  end
  return K.date(daysOf(year, month, day) * 86400 + hour * 3600 + minute * 60 + second)
end

local dayNames = { "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday" }
local monthNames = {
  "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
  "November", "December",
}

-- 1 for Monday to 7 for Sunday; 1970-01-01 was a Thursday.
local function weekday(days) return (days + 3) % 7 + 1 end

-- Text by a pattern as of strftime: %Y %m %d %H %M %S %y %e %j %a %A %b %B %F %T %%.
local function formatted(self, pattern)
  local year, month, day, hour, minute, second, _, days = fields(self)
  local known = {
    Y = format("%04d", year), m = format("%02d", month), d = format("%02d", day),
    H = format("%02d", hour), M = format("%02d", minute), S = format("%02d", second),
    y = format("%02d", year % 100), e = format("%2d", day),
    j = format("%03d", days - daysOf(year, 1, 1) + 1),
    A = dayNames[weekday(days)], B = monthNames[month],
    a = string.sub(dayNames[weekday(days)], 1, 3), b = string.sub(monthNames[month], 1, 3),
    F = format("%04d-%02d-%02d", year, month, day), T = format("%02d:%02d:%02d", hour, minute,
      second),
    ["%"] = "%",
  }
  return (gsub(K.expectText(pattern, "format:"), "%%(.)", function(letter)
    return known[letter] or throw("typeError", "the date format has an unknown part %" .. letter)
  end))
end

local function field(n)
  return function(self) return (select(n, fields(self))) end
end

local function compareDates(name, test)
  return function(self, other)
    if type(other) ~= "table" or not other._isDate then K.operandError(name, self, other) end
    return test(self._time, other._time)
  end
end

local function seconds(self) return self._time end

K.methods(Date, {
  ["year"] = field(1), ["month"] = field(2), ["day"] = field(3), ["hour"] = field(4),
  ["minute"] = field(5), ["second"] = field(6), ["microsecond"] = field(7),
  ["weekday"] = function(self) return weekday(floor(self._time / 86400)) end,
  ["weekdayName"] = function(self) return dayNames[weekday(floor(self._time / 86400))] end,
  ["monthName"] = function(self) return monthNames[select(2, fields(self))] end,
  ["dayOfYear"] = function(self)
    local year = fields(self)
    return floor(self._time / 86400) - daysOf(year, 1, 1) + 1
  end,
  ["startOfDay"] = function(self) return K.date(floor(self._time / 86400) * 86400) end,
  ["asSeconds"] = seconds, ["timeIntervalSince1970"] = seconds, ["floatValue"] = seconds,
  ["timeIntervalSinceNow"] = function(self) return self._time - K.native.now() end,
  ["intValue"] = function(self) return floor(self._time) end,
  ["add:"] = function(self, other)
    if type(other) ~= "table" or not other._isDuration then K.operandError("add_", self, other) end
    return K.date(self._time + other._seconds)
  end,
  ["sub:"] = function(self, other)
    if type(other) == "table" and other._isDate then return duration(self._time - other._time) end
    if type(other) ~= "table" or not other._isDuration then K.operandError("sub_", self, other) end
    return K.date(self._time - other._seconds)
  end,
  ["isLessThan:"] = compareDates("isLessThan_", function(a, b) return a < b end),
  ["isGreaterThan:"] = compareDates("isGreaterThan_", function(a, b) return a > b end),
  ["isLessThanOrEqualTo:"] = compareDates("isLessThanOrEqualTo_", function(a, b) return a <= b end),
  ["isGreaterThanOrEqualTo:"] = compareDates("isGreaterThanOrEqualTo_", function(a, b)
    return a >= b
  end),
  ["compare:"] = function(self, other) return K.order(self, other) end,
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isDate == true and other._time == self._time
  end,
  ["format:"] = formatted,
  ["dateString"] = function(self) return formatted(self, "%F") end,
  ["timeString"] = function(self) return formatted(self, "%T") end,
  ["asDate"] = function(self) return self end,
  ["copy"] = function(self) return self end,
  ["description"] = rfc3339,
})
K.method(Date, "_keyText", function(self) return "T" .. format("%.6f", self._time) end)

local function now() return K.date(floor(K.native.now() * 1e6) / 1e6) end
K.classMethods(Date, {
  ["now"] = now, ["new"] = now, ["date"] = now,
  ["today"] = function() return now():startOfDay() end,
  ["fromString:"] = function(_, text)
    text = K.expectText(text, "fromString:")
    return parse(text) or throw("invalid", "'" .. text
      .. "' is not a date as in 2026-01-31T12:00:00Z")
  end,
  ["fromSeconds:"] = function(_, value) return K.date(K.expectNumber(value, "fromSeconds:")) end,
  ["dateWithTimeIntervalSince1970:"] = function(_, value)
    return K.date(K.expectNumber(value, "dateWithTimeIntervalSince1970:"))
  end,
  ["year:month:day:"] = made, ["year:month:day:hour:minute:second:"] = made,
})
K.methods(K.classes.String, { ["asDate"] = parse })
K.methods(K.classes.Number, {
  ["asDate"] = function(self) return K.date(self) end,
  ["asDuration"] = function(self) return duration(self) end,
})
-- How long a block takes.
K.methods(K.classes.Block, {
  ["durationToRun"] = function(self)
    local from = K.native.now()
    self()
    return duration(K.native.now() - from)
  end,
})
