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
    --- Date -<Number> year
    --- Day -<Number> year
    --- The year, from 0 to 9999, that the calendar shows.
    --- > '2026-11-21' asDay year ⇒ 2026

    --- Date -<Number> month
    --- Day -<Number> month
    --- The month from 1 to 12 that the calendar shows.
    --- > '2026-11-21' asDay month ⇒ 11

    --- Date -<Number> day
    --- Day -<Number> day
    --- The day of the month, from 1 to 31.
    --- > '2026-11-21' asDay day ⇒ 21
    ["year"] = part(1), ["month"] = part(2), ["day"] = part(3),
    --- Date -<Number> weekday
    --- Day -<Number> weekday
    --- The day of the week, from 1 for Monday to 7 for Sunday.
    --- > '2026-11-21' asDay weekday ⇒ 6
    ["weekday"] = weekday,
    --- Date -<String> weekdayName
    --- Day -<String> weekdayName
    --- The English name of the day of the week.
    --- > '2026-11-21' asDay weekdayName ⇒ 'Saturday'
    ["weekdayName"] = function(self) return dayNames[weekday(self)] end,
    --- Date -<String> monthName
    --- Day -<String> monthName
    --- The English name of the month.
    --- > '2026-11-21' asDay monthName ⇒ 'November'
    ["monthName"] = function(self) return monthNames[part(2)(self)] end,
    --- Date -<Number> dayOfYear
    --- Day -<Number> dayOfYear
    --- The day of the year, from 1 to 366.
    --- > '2026-02-01' asDay dayOfYear ⇒ 32
    ["dayOfYear"] = function(self) return daysIn(self) - daysOf(part(1)(self), 1, 1) + 1 end,
    -- ISO 8601: the week belongs to the year of its Thursday.
    --- Date -<Number> week
    --- Day -<Number> week
    --- The week by ISO 8601, from 1 to 53. The first days of January may belong to the last week of the year before,
    --- and the last days of December to week 1.
    --- > '2026-11-21' asDay week ⇒ 47
    ["week"] = function(self)
      local thursday = daysIn(self) - weekday(self) + 4
      return floor((thursday - daysOf((civil(thursday)), 1, 1)) / 7) + 1
    end,
    --- Date -<Number> weekYear
    --- Day -<Number> weekYear
    --- The year that the week of ISO 8601 belongs to; around New Year it can differ from `year`.
    --- > '2027-01-01' asDay weekYear ⇒ 2026
    ["weekYear"] = function(self) return (civil(daysIn(self) - weekday(self) + 4)) end,
    --- Date -<Number> daysInMonth
    --- Day -<Number> daysInMonth
    --- The count of days of the month, from 28 to 31.
    --- > '2026-02-01' asDay daysInMonth ⇒ 28
    ["daysInMonth"] = function(self) return monthLength(part(1)(self), part(2)(self)) end,
    --- Date -<Boolean> isLeapYear
    --- Day -<Boolean> isLeapYear
    --- Whether the year has a 29th of February.
    --- > '2028-02-01' asDay isLeapYear ⇒ true
    ["isLeapYear"] = function(self) return monthLength(part(1)(self), 2) == 29 end,
  }
end

-- Making -----------------------------------------------------------------------------------------

--- An exact moment, to the nanosecond, in the years 0 to 9999. Its parts are those that clocks in its time zone show,
--- which is UTC unless `in:` chooses another. It reads and prints RFC 3339 text. For a date without a time see `Day`.
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
  if named then
    -- A zone that is not known makes the text no date, as any other wrong part does.
    local known, name = K.try(expectZone, named, "asDate")
    if not known then return nil end
    named = name
  end
  return moment(seconds, K.nanosOf(digits), named)
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
  --- -<Number> hour
  --- The hour from 0 to 23 that clocks in the time zone show.
  --- > '2026-11-21T10:30:05Z' asDate hour ⇒ 10
  ["hour"] = function(self) return floor(localTime(self) / 3600) end,
  --- -<Number> minute
  --- The minute from 0 to 59.
  --- > '2026-11-21T10:30:05Z' asDate minute ⇒ 30
  ["minute"] = function(self) return floor(localTime(self) / 60) % 60 end,
  --- -<Number> second
  --- The whole second from 0 to 59.
  --- > '2026-11-21T10:30:05Z' asDate second ⇒ 5
  ["second"] = function(self) return localTime(self) % 60 end,
  --- -<Number> microsecond
  --- The fraction of the second in whole microseconds, from 0 to 999,999.
  --- > '2026-11-21T10:30:05.5Z' asDate microsecond ⇒ 500000
  ["microsecond"] = function(self) return floor(self._nanos / 1000) end,
  --- -<Number> nanosecond
  --- The fraction of the second in nanoseconds, from 0 to 999,999,999.
  --- > '2026-11-21T10:30:05.123456789Z' asDate nanosecond ⇒ 123456789
  ["nanosecond"] = function(self) return self._nanos end,
  --- -<Date> startOfDay
  --- The moment at which the day begins in the time zone.
  --- > '2026-11-21T10:30:05Z' asDate startOfDay ⇒ '2026-11-21' asDate
  ["startOfDay"] = function(self) return atLocal(localDays(self) * 86400, 0, self._zone) end,
  --- -<Date> in:<String>zone
  --- The same moment with the clocks of another time zone: a name of the tz database, `UTC` or an offset such as
  --- `+05:30`. An unknown name is an error. Both dates are equal.
  --- > ('2026-11-21T23:30:00Z' asDate in: 'Europe/Berlin') hour ⇒ 0
  ["in:"] = function(self, zone) return moment(self._time, self._nanos, expectZone(zone, "in:")) end,
  --- -<String> zone
  --- The name of the time zone.
  --- > ('2026-11-21' asDate in: 'Europe/Berlin') zone ⇒ 'Europe/Berlin'
  ["zone"] = function(self) return self._zone or "UTC" end,
  --- -<Duration> offset
  --- How far clocks in the time zone are ahead of UTC at this moment; negative if they are behind.
  --- > ('2026-11-21' asDate in: 'Europe/Berlin') offset ⇒ 1 hours
  ["offset"] = function(self) return duration(self._offset or 0) end,
  --- -<Number> asSeconds
  --- -<Number> timeIntervalSince1970
  --- -<Number> floatValue
  --- Seconds since 1970-01-01T00:00:00Z, with a fraction; negative before.
  --- > '2026-11-21T10:30:05Z' asDate asSeconds ⇒ 1795257005
  ["asSeconds"] = seconds, ["timeIntervalSince1970"] = seconds, ["floatValue"] = seconds,
  --- -<Number> timeIntervalSinceNow
  --- Seconds from now to the moment; negative if it has passed.
  --- > '1999-12-31' asDate timeIntervalSinceNow < 0 ⇒ true
  ["timeIntervalSinceNow"] = function(self) return seconds(self) - K.native.now() end,
  --- -<Number> intValue
  --- Whole seconds since 1970-01-01T00:00:00Z.
  --- > '2026-11-21T10:30:05.5Z' asDate intValue ⇒ 1795257005
  ["intValue"] = function(self) return self._time end,
  --- -<Date> + <Duration|Period>length
  --- -<Date> add:<Duration|Period>length
  --- The moment that is later by the length. A Duration is exact time; a Period of months keeps the time on the clock,
  --- and takes the last day of a month that lacks the day.
  --- > '2026-11-21T10:30:00Z' asDate + 90 seconds ⇒ '2026-11-21T10:31:30Z' asDate
  --- > '2026-01-31' asDate + 1 months ⇒ '2026-02-28' asDate
  ["add:"] = function(self, other) return plus(self, other, 1, "add_") end,
  --- -<Date> addDays:<Number>days
  --- The same time on the clock this many days later, or earlier if negative.
  --- > '2026-11-21' asDate addDays: 10 ⇒ '2026-12-01' asDate
  ["addDays:"] = function(self, days)
    return daysLater(self, localDays(self) + K.expectInteger(days, "addDays:"))
  end,
  --- -<Duration|Date> - <Date|Duration|Period>other
  --- -<Duration|Date> sub:<Date|Duration|Period>other
  --- The Duration between two dates; minus a Duration or Period, the moment that is earlier by it.
  --- > '2026-11-21' asDate - '2026-11-20' asDate ⇒ 1 days
  --- > '2026-11-21' asDate - 1 days ⇒ '2026-11-20' asDate
  ["sub:"] = function(self, other)
    if type(other) == "table" and other._isDate then
      return duration(self._time - other._time + (self._nanos - other._nanos) / 1e9)
    end
    return plus(self, other, -1, "sub_")
  end,
  --- -<Boolean> isLessThan:<Date>other
  --- Whether the moment is before the other. Anything but a Date is an error.
  --- > '2026-11-20' asDate < '2026-11-21' asDate ⇒ true
  ["isLessThan:"] = comparison("isLessThan_", function(r) return r < 0 end),
  --- -<Boolean> > <Date>other
  --- -<Boolean> isGreaterThan:<Date>other
  --- Whether the moment is after the other. Anything but a Date is an error.
  --- > '2026-11-20' asDate > '2026-11-21' asDate ⇒ false
  ["isGreaterThan:"] = comparison("isGreaterThan_", function(r) return r > 0 end),
  --- -<Boolean> ≤ <Date>other
  --- -<Boolean> isLessThanOrEqualTo:<Date>other
  --- Whether the moment is not after the other. Anything but a Date is an error.
  --- > '2026-11-20' asDate <= '2026-11-21' asDate ⇒ true
  ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", function(r) return r <= 0 end),
  --- -<Boolean> ≥ <Date>other
  --- -<Boolean> isGreaterThanOrEqualTo:<Date>other
  --- Whether the moment is not before the other. Anything but a Date is an error.
  --- > '2026-11-20' asDate >= '2026-11-21' asDate ⇒ false
  ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", function(r) return r >= 0 end),
  --- -<Number> compare:<Date?>other
  --- The order of both moments: -1 if the receiver is earlier, 0 if both are equal, 1 if it is later. nil is first.
  --- > '2026-11-20' asDate compare: '2026-11-21' asDate ⇒ -1
  ["compare:"] = function(self, other) return K.order(self, other) end,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Whether the other is a Date of the same moment, in any time zone.
  --- > '2026-11-21T10:00:00Z' asDate = '2026-11-21T12:00:00+02:00' asDate ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isDate == true and compare(self, other) == 0
  end,
  --- -<String> format:<String>pattern
  --- The date as text by a pattern of strftime, with English names. A wrong pattern is an error.
  --- > '2026-11-21' asDate format: '%d.%m.%Y' ⇒ '21.11.2026'
  ["format:"] = formatted,
  --- -<String> dateString
  --- The date alone, as in `%F`.
  --- > '2026-11-21T10:30:05Z' asDate dateString ⇒ '2026-11-21'
  ["dateString"] = function(self) return formatted(self, "%F") end,
  --- -<String> timeString
  --- The time of day alone, in hours, minutes and seconds, as in `%T`.
  --- > '2026-11-21T10:30:05Z' asDate timeString ⇒ '10:30:05'
  ["timeString"] = function(self) return formatted(self, "%T") end,
  -- RFC 9110, section 5.6.7.
  --- -<String> httpDate
  --- The moment in UTC in the format of HTTP headers (RFC 9110), without a fraction of the second.
  --- > '2026-11-21T10:30:00Z' asDate httpDate ⇒ 'Sat, 21 Nov 2026 10:30:00 GMT'
  ["httpDate"] = function(self)
    return K.native.formatDate("moment", "%a, %d %b %Y %H:%M:%S GMT", self._time, 0, "UTC")
  end,
  --- -<Date> asDate
  --- The date itself.
  --- > '2026-11-21' asDate asDate ⇒ '2026-11-21' asDate
  ["asDate"] = function(self) return self end,
  --- As in Object.
  ["copy"] = function(self) return self end,
  --- -<String> description
  --- The moment as text of RFC 3339, with the fraction of the second if it has one.
  --- > '2026-11-21' asDate description ⇒ '2026-11-21T00:00:00Z'
  ["description"] = rfc3339,
})
K.method(Date, "_keyText", function(self) return format("T%.0f.%09d", self._time, self._nanos) end)
-- The calendar day and the time of day that clocks in its zone show.
K.method(Date, "_localDays", localDays)
K.method(Date, "_localTime", localTime)

local function now() return K.date(floor(K.native.now() * 1e6) / 1e6) end
K.classMethods(Date, {
  --- +<Date> now
  --- +<Date> new
  --- +<Date> date
  --- The current moment in UTC, to the microsecond.
  --- > Date now > '2026-01-01' asDate ⇒ true
  ["now"] = now, ["new"] = now, ["date"] = now,
  --- +<Date> today
  --- The moment at which the current day began in UTC. `Day today` answers a day without a time.
  --- > Date today <= Date now ⇒ true
  ["today"] = function() return now():startOfDay() end,
  --- +<Date> fromString:<String>text
  --- The moment that the text writes, as `asDate` reads it; an error for any other text.
  --- > Date fromString: '2026-11-21T10:30:00Z' ⇒ '2026-11-21T10:30:00Z' asDate
  ["fromString:"] = function(_, text)
    text = K.expectText(text, "fromString:")
    return parse(text) or throw("invalid", "'" .. text
      .. "' is not a date as in 2026-01-31T12:00:00Z")
  end,
  --- +<Date> fromSeconds:<Number|BigInteger|Decimal>seconds
  --- +<Date> dateWithTimeIntervalSince1970:<Number|BigInteger|Decimal>seconds
  --- The moment this many seconds after 1970-01-01T00:00:00Z, before it if negative. It keeps microseconds.
  --- > Date fromSeconds: 0.5 ⇒ '1970-01-01T00:00:00.5Z' asDate
  ["fromSeconds:"] = function(_, value) return K.date(K.expectNumber(value, "fromSeconds:")) end,
  ["dateWithTimeIntervalSince1970:"] = function(_, value)
    return K.date(K.expectNumber(value, "dateWithTimeIntervalSince1970:"))
  end,
  --- +<Date> year:<Number>year month:<Number>month day:<Number>day
  --- The moment at which this day begins in UTC. An error if the calendar has no such day.
  --- > Date year: 2026 month: 11 day: 21 ⇒ '2026-11-21' asDate
  ["year:month:day:"] = made,
  --- +<Date> year:<Number>y month:<Number>m day:<Number>d hour:<Number>h minute:<Number>min second:<Number>s
  --- The moment of this day and time in UTC. The second may have a fraction. An error if there is no such day or time.
  --- > Date year: 2026 month: 11 day: 21 hour: 10 minute: 30 second: 0 ⇒ '2026-11-21T10:30:00Z' asDate
  ["year:month:day:hour:minute:second:"] = made,
})
K.methods(K.classes.String, {
  --- -<Date?> asDate
  --- The moment that the text writes by RFC 3339; a date alone, a blank for the `T` and a time without seconds or zone
  --- (UTC) are allowed. nil for any other text. A zone in brackets at the end (RFC 9557) is kept; an unknown one is an
  --- error.
  --- > '2026-11-21T12:00:00+02:00' asDate hour ⇒ 10
  --- > 'tomorrow' asDate ⇒ nil
  ["asDate"] = parse,
  --- -<Date?> asDate:<String>pattern
  --- The moment that the text writes by a pattern of strftime, in UTC unless it names a zone. nil if it does not fit.
  --- > '21.11.2026 10:30' asDate: '%d.%m.%Y %H:%M' ⇒ '2026-11-21T10:30:00Z' asDate
  ["asDate:"] = function(text, pattern) return read(text, pattern) end,
  --- -<Date?> asDate:<String>pattern in:<String>zone
  --- The moment that the text writes by a pattern of strftime, in this time zone unless it names another.
  --- nil if it does not fit.
  --- > ('21.11.2026 10:30' asDate: '%d.%m.%Y %H:%M' in: 'Europe/Berlin') ⇒ '2026-11-21T09:30:00Z' asDate
  ["asDate:in:"] = function(text, pattern, zone)
    return read(text, pattern, expectZone(zone, "asDate:in:"))
  end,
  --- -<Date?> asHTTPDate
  --- The moment that the text writes in one of the three formats of HTTP dates (RFC 9110). nil for any other text.
  --- > 'Sat, 21 Nov 2026 10:30:00 GMT' asHTTPDate ⇒ '2026-11-21T10:30:00Z' asDate
  ["asHTTPDate"] = function(text)
    local found = K.native.readHTTPDate(text)
    return found and moment(found, 0)
  end,
})
K.methods(K.classes.Number, {
  --- -<Date> asDate
  --- The moment this many seconds after 1970-01-01T00:00:00Z, before it if negative. It keeps microseconds.
  --- > 1795257005 asDate ⇒ '2026-11-21T10:30:05Z' asDate
  ["asDate"] = function(self) return K.date(self) end,
})
K.methods(Duration, {
  --- -<Date> ago
  --- The moment that lies the duration before now.
  --- > 5 minutes ago < Date now ⇒ true
  ["ago"] = function(self) return K.date(K.native.now() - self._seconds) end,
  --- -<Date> fromNow
  --- The moment that lies the duration after now.
  --- > 5 minutes fromNow > Date now ⇒ true
  ["fromNow"] = function(self) return K.date(K.native.now() + self._seconds) end,
})
