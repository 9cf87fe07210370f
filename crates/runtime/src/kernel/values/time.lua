-- Dates: exact moments in seconds and nanoseconds, read in a time zone; printed as RFC 3339 text.
local K = ...
local type, setmetatable, floor, abs, tonumber = type, setmetatable, math.floor, math.abs, tonumber
local format, match = string.format, string.match
local throw, duration = K.throw, K.duration
local Duration = K.classes.Duration

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
K.daysOf, K.civil = daysOf, civil

local function monthLength(year, month)
  if month == 2 then
    return (year % 4 == 0 and year % 100 ~= 0 or year % 400 == 0) and 29 or 28
  end
  return (month == 4 or month == 6 or month == 9 or month == 11) and 30 or 31
end
K.monthLength = monthLength

-- The day that is some months after another; a day that its month lacks becomes the last of it.
function K.monthsAfter(days, months)
  local year, month, day = civil(days)
  local count = year * 12 + month - 1 + months
  year, month = floor(count / 12), count % 12 + 1
  return daysOf(year, month, math.min(day, monthLength(year, month)))
end

local dayNames = { "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday" }
local monthNames = {
  "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
  "November", "December",
}

-- What a calendar date answers, by the function that gives the day, counted from 1970-01-01, of a value.
-- Weekdays are from 1 for Monday to 7 for Sunday; 1970-01-01 was a Thursday.
function K.calendarMessages(daysIn)
  local function part(n)
    return function(self) return (select(n, civil(daysIn(self)))) end
  end
  local function weekday(self) return (daysIn(self) + 3) % 7 + 1 end
  return {
    ["year"] = part(1), ["month"] = part(2), ["day"] = part(3),
    ["weekday"] = weekday,
    ["weekdayName"] = function(self) return dayNames[weekday(self)] end,
    ["monthName"] = function(self) return monthNames[part(2)(self)] end,
    ["dayOfYear"] = function(self) return daysIn(self) - daysOf(part(1)(self), 1, 1) + 1 end,
    -- ISO 8601: the week belongs to the year of its Thursday.
    ["week"] = function(self)
      local thursday = daysIn(self) - weekday(self) + 4
      return floor((thursday - daysOf((civil(thursday)), 1, 1)) / 7) + 1
    end,
    ["daysInMonth"] = function(self) return monthLength(part(1)(self), part(2)(self)) end,
    ["isLeapYear"] = function(self) return monthLength(part(1)(self), 2) == 29 end,
  }
end

-- Making -----------------------------------------------------------------------------------------

local Date = K.newClass("Date", K.classes.Object)
K.alias("NSDate", Date)
K.alias("DateTime", Date)
K.alias("Moment", Date)
K.method(Date, "_isDate", true)
K.method(Date, "_kind", K.kinds.date)

-- What RFC 3339 can write: the years 0000 to 9999.
local EARLIEST, LATEST = -62167219200, 253402300799

-- An exact moment: seconds since 1970 in UTC, and nanoseconds. A zone is a name such as `Europe/Berlin`,
-- or nil for UTC; the parts of the date are those that clocks in the zone show.
local function moment(seconds, nanos, zone)
  if not (seconds >= EARLIEST and seconds <= LATEST) then
    throw("outOfRange", "a Date lies in the years 0 to 9999")
  end
  local self = { _time = seconds, _nanos = nanos, _zone = zone }
  if zone then self._offset = K.native.zoneOffset(zone, seconds) end
  return setmetatable(self, Date._methods)
end

-- The moment that lies some seconds after another, with a fraction to the nanosecond, or to the
-- microsecond where the number holds no more.
local function after(time, nanos, seconds, zone)
  local whole = floor(seconds)
  local unit = abs(seconds) < 100000 and 1e9 or 1e6
  nanos = nanos + floor((seconds - whole) * unit + 0.5) * (1e9 / unit)
  local over = floor(nanos / 1e9)
  return moment(time + whole + over, nanos - over * 1e9, zone)
end

-- A moment from a number of seconds since 1970, which keeps microseconds.
function K.date(seconds)
  if not (seconds >= EARLIEST and seconds < LATEST + 1) then
    throw("outOfRange", "a Date lies in the years 0 to 9999")
  end
  local whole = floor(seconds)
  local micros = floor((seconds - whole) * 1e6 + 0.5)
  if micros >= 1e6 then whole, micros = whole + 1, 0 end
  return moment(whole, micros * 1000)
end

-- The moment of a calendar time, in seconds since 1970 began there.
local function atLocal(seconds, nanos, zone)
  if zone then seconds = K.native.zoneMoment(zone, seconds) end
  return moment(seconds, nanos, zone)
end
K.dateAtLocal = atLocal

-- The name of a zone as dates keep it: nil for UTC.
local function expectZone(zone, selector)
  zone = K.expectText(zone, selector)
  if zone == "UTC" or zone == "Z" then return nil end
  K.native.zoneOffset(zone, 0)
  return zone
end
K.expectZone = expectZone

-- Parts ------------------------------------------------------------------------------------------

local function localSeconds(self) return self._time + (self._offset or 0) end
local function localDays(self) return floor(localSeconds(self) / 86400) end
local function localTime(self) return localSeconds(self) % 86400 end

local function fractionText(nanos)
  if nanos == 0 then return "" end
  if nanos % 1e6 == 0 then return format(".%03d", nanos / 1e6) end
  if nanos % 1000 == 0 then return format(".%06d", nanos / 1000) end
  return format(".%09d", nanos)
end
K.fractionText = fractionText

local function offsetText(offset)
  if not offset then return "Z" end
  local minutes = floor(abs(offset) / 60 + 0.5)
  return format("%s%02d:%02d", offset < 0 and "-" or "+", floor(minutes / 60), minutes % 60)
end

local function rfc3339(self)
  local year, month, day = civil(localDays(self))
  local rest = localTime(self)
  return format("%04d-%02d-%02dT%02d:%02d:%02d%s%s", year, month, day, floor(rest / 3600),
    floor(rest / 60) % 60, rest % 60, fractionText(self._nanos), offsetText(self._offset))
end

local function valid(year, month, day, hour, minute, second)
  return month >= 1 and month <= 12 and day >= 1 and day <= monthLength(year, month)
    and hour >= 0 and hour <= 23 and minute >= 0 and minute <= 59 and second >= 0 and second <= 60
end

-- The nanoseconds that the digits of a fraction write; digits beyond are dropped.
function K.nanosOf(digits)
  return tonumber(string.sub(digits .. "00000000", 1, 9)) or 0
end

-- Reading and writing ------------------------------------------------------------------------------

-- What follows the day in RFC 3339: seconds from midnight, the digits of the fraction, and the zone.
local function clock(text)
  local hour, minute, rest = match(text, "^[Tt ](%d%d):(%d%d)(.*)$")
  if not hour then return nil end
  local second, digits, after = match(rest, "^:(%d%d)%.(%d+)(.*)$")
  if not second then second, after = match(rest, "^:(%d%d)(.*)$") end
  return tonumber(hour), tonumber(minute), tonumber(second or 0), digits or "", after or rest
end

-- The moment of an RFC 3339 text (also a date alone, or a blank for the T), or nil. With a zone in
-- brackets (RFC 9557) it is read there.
local function parse(text)
  if #text > 128 then return nil end
  local year, month, day, rest = match(text, "^%s*(%d%d%d%d)-(%d%d)-(%d%d)(.-)%s*$")
  if not year then return nil end
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  local hour, minute, second, digits, zone = 0, 0, 0, "", ""
  if rest ~= "" then
    hour, minute, second, digits, zone = clock(rest)
    if not hour then return nil end
  end
  if not valid(year, month, day, hour, minute, second) then return nil end
  local written, named = match(zone, "^([^%[]+)%[([%w_+/-]+)%]$")
  zone = written or zone
  local offset = 0
  if zone ~= "" and zone ~= "Z" and zone ~= "z" then
    local sign, zoneHour, zoneMinute = match(zone, "^([+-])(%d%d):?(%d%d)$")
    if not sign then return nil end
    offset = (tonumber(zoneHour) * 60 + tonumber(zoneMinute)) * (sign == "-" and -60 or 60)
  end
  local seconds = daysOf(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
  if seconds < EARLIEST or seconds > LATEST then return nil end
  return moment(seconds, K.nanosOf(digits), named and expectZone(named, "asDate"))
end
K.parseDate = parse

-- Text by a pattern as of strftime, such as %Y-%m-%d %H:%M.
local function formatted(self, pattern)
  return K.native.formatDate("moment", K.expectText(pattern, "format:"), self._time, self._nanos,
    self._zone or "UTC")
end

-- The moment that a text writes by a pattern, in a zone where it names none; nil where it does not fit.
local function read(text, pattern, zone)
  local found = K.native.readDate("moment", K.expectText(pattern, "asDate:"), text, zone or "UTC")
  if not found or found[1] < EARLIEST or found[1] > LATEST then return nil end
  local named = found[3]
  if named == K.NULL then named = zone elseif named == "UTC" then named = nil end
  return moment(found[1], found[2], named)
end

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

-- Arithmetic and order ------------------------------------------------------------------------------

local function daysLater(self, days)
  return atLocal(days * 86400 + localTime(self), self._nanos, self._zone)
end

local function plus(self, other, sign, name)
  if type(other) == "table" then
    if other._isDuration then return after(self._time, self._nanos, sign * other._seconds, self._zone) end
    if other._isPeriod then
      return daysLater(self, K.monthsAfter(localDays(self), sign * other._months))
    end
  end
  K.operandError(name, self, other)
end

local function compare(a, b)
  if a._time ~= b._time then return a._time < b._time and -1 or 1 end
  return a._nanos == b._nanos and 0 or a._nanos < b._nanos and -1 or 1
end

local function comparison(name, test)
  return function(self, other)
    if type(other) ~= "table" or not other._isDate then K.operandError(name, self, other) end
    return test(compare(self, other))
  end
end

local function seconds(self) return self._time + self._nanos / 1e9 end

K.methods(Date, K.calendarMessages(localDays))
K.methods(Date, {
  ["hour"] = function(self) return floor(localTime(self) / 3600) end,
  ["minute"] = function(self) return floor(localTime(self) / 60) % 60 end,
  ["second"] = function(self) return localTime(self) % 60 end,
  ["microsecond"] = function(self) return floor(self._nanos / 1000) end,
  ["nanosecond"] = function(self) return self._nanos end,
  ["startOfDay"] = function(self) return atLocal(localDays(self) * 86400, 0, self._zone) end,
  ["in:"] = function(self, zone) return moment(self._time, self._nanos, expectZone(zone, "in:")) end,
  ["zone"] = function(self) return self._zone or "UTC" end,
  ["offset"] = function(self) return duration(self._offset or 0) end,
  ["asSeconds"] = seconds, ["timeIntervalSince1970"] = seconds, ["floatValue"] = seconds,
  ["timeIntervalSinceNow"] = function(self) return seconds(self) - K.native.now() end,
  ["intValue"] = function(self) return self._time end,
  ["add:"] = function(self, other) return plus(self, other, 1, "add_") end,
  ["addDays:"] = function(self, days)
    return daysLater(self, localDays(self) + K.expectInteger(days, "addDays:"))
  end,
  ["sub:"] = function(self, other)
    if type(other) == "table" and other._isDate then
      return duration(self._time - other._time + (self._nanos - other._nanos) / 1e9)
    end
    return plus(self, other, -1, "sub_")
  end,
  ["isLessThan:"] = comparison("isLessThan_", function(r) return r < 0 end),
  ["isGreaterThan:"] = comparison("isGreaterThan_", function(r) return r > 0 end),
  ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", function(r) return r <= 0 end),
  ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", function(r) return r >= 0 end),
  ["compare:"] = function(self, other) return K.order(self, other) end,
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isDate == true and compare(self, other) == 0
  end,
  ["format:"] = formatted,
  ["dateString"] = function(self) return formatted(self, "%F") end,
  ["timeString"] = function(self) return formatted(self, "%T") end,
  -- RFC 9110, section 5.6.7.
  ["httpDate"] = function(self)
    return K.native.formatDate("moment", "%a, %d %b %Y %H:%M:%S GMT", self._time, 0, "UTC")
  end,
  ["asDate"] = function(self) return self end,
  ["copy"] = function(self) return self end,
  ["description"] = rfc3339,
})
K.method(Date, "_keyText", function(self) return format("T%.0f.%09d", self._time, self._nanos) end)
-- The calendar day and the time of day that clocks in its zone show.
K.method(Date, "_localDays", localDays)
K.method(Date, "_localTime", localTime)

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
K.methods(K.classes.String, {
  ["asDate"] = parse,
  ["asDate:"] = function(text, pattern) return read(text, pattern) end,
  ["asDate:in:"] = function(text, pattern, zone)
    return read(text, pattern, expectZone(zone, "asDate:in:"))
  end,
  ["asHTTPDate"] = function(text)
    local found = K.native.readHTTPDate(text)
    return found and moment(found, 0)
  end,
})
K.methods(K.classes.Number, { ["asDate"] = function(self) return K.date(self) end })
K.methods(Duration, {
  ["ago"] = function(self) return K.date(K.native.now() - self._seconds) end,
  ["fromNow"] = function(self) return K.date(K.native.now() + self._seconds) end,
})
