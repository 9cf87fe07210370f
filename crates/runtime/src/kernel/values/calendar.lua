-- Days of the calendar, times of day, and periods of months: dates without a moment.
local K = ...
local type, setmetatable, floor = type, setmetatable, math.floor
local format, match, tonumber = string.format, string.match, tonumber
local throw, duration = K.throw, K.duration
local String, Number, Date, Object = K.classes.String, K.classes.Number, K.classes.Date, K.classes.Object

-- Periods ------------------------------------------------------------------------------------------

--- A length of time in months and years of the calendar: `2 months`, `1 years`. Added to a Date or Day it keeps the day
--- of the month; a month that lacks the day gives its last one. For exact lengths see `Duration`.
local Period = K.newClass("Period", Object)
K.method(Period, "_isPeriod", true)

-- Months that a period has at most: those of 10,000 years.
local MOST_MONTHS = 120000

local function period(months)
  if math.abs(months) > MOST_MONTHS then throw("tooLarge", "a Period has at most 10000 years") end
  return setmetatable({ _months = months }, Period._methods)
end

local function counted(factor, selector)
  return function(self) return period(K.expectInteger(self, selector) * factor) end
end

local function named(count, unit)
  return count ~= 0 and K.str(count) .. " " .. unit .. (math.abs(count) == 1 and "" or "s") or nil
end

local function sum(sign, name)
  return function(self, other)
    if type(other) == "table" then
      if other._isPeriod then return period(self._months + sign * other._months) end
      if sign == 1 and (other._isDate or other._isDay) then return other:add_(self) end
    end
    K.operandError(name, self, other)
  end
end

K.methods(Period, {
  --- -<Number> asMonths
  --- The length in months.
  --- > (1 years + 2 months) asMonths ⇒ 14
  ["asMonths"] = function(self) return self._months end,
  --- -<Period|Date|Day> + <Period|Date|Day>other
  --- -<Period|Date|Day> add:<Period|Date|Day>other
  --- The sum; with a Date or Day, the one that is later by the period.
  --- > 1 years + 2 months ⇒ 14 months
  ["add:"] = sum(1, "add_"),
  --- -<Period> - <Period>other
  --- -<Period> sub:<Period>other
  --- The difference.
  --- > 1 years - 2 months ⇒ 10 months
  ["sub:"] = sum(-1, "sub_"),
  --- -<Period> * <Number>factor
  --- -<Period> mul:<Number>factor
  --- The multiple of the period by a whole number.
  --- > 3 months * 4 ⇒ 1 years
  ["mul:"] = function(self, factor) return period(self._months * K.expectInteger(factor, "*")) end,
  --- -<Period> negated
  --- The period with the other sign.
  --- > 3 months negated + 4 months ⇒ 1 months
  ["negated"] = function(self) return period(-self._months) end,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Whether the other is a Period of the same length.
  --- > 12 months = 1 years ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isPeriod == true and other._months == self._months
  end,
  --- As in Object.
  ["copy"] = function(self) return self end,
  --- -<String> description
  --- The length in years and months.
  --- > 14 months description ⇒ '1 year 2 months'
  ["description"] = function(self)
    local months = math.fmod(self._months, 12)
    local years = named((self._months - months) / 12, "year")
    months = named(months, "month")
    return years and months and years .. " " .. months or years or months or "0 months"
  end,
})
K.classMethods(Period, {
  --- +<Period> new
  --- The period of 0 months.
  --- > Period new + 2 months ⇒ 2 months
  ["new"] = function() return period(0) end,
})
K.method(Period, "_keyText", function(self) return "p" .. self._months end)
K.method(Period, "_reverse", function(self, name, number)
  if name == "mul_" then return self:mul_(number) end
  K.operandError(name, number, self)
end)
--- Number -<Period> months
--- Number -<Period> month
--- The number of months as a Period. It must be whole, and a Period has at most 10,000 years.
--- > '2026-01-31' asDay + 1 months ⇒ '2026-02-28' asDay

--- Number -<Period> years
--- Number -<Period> year
--- The number of years as a Period. It must be whole and at most 10,000.
--- > '2026-01-31' asDay + 2 years ⇒ '2028-01-31' asDay
for _, unit in ipairs { { "month", 1 }, { "year", 12 } } do
  for _, name in ipairs { unit[1], unit[1] .. "s" } do
    K.method(Number, name, counted(unit[2], name))
  end
end

-- Order --------------------------------------------------------------------------------------------

-- The order of values with a flag and a key.
local function ordered(class, flag, keyOf)
  local function comparison(name, test)
    return function(self, other)
      if type(other) ~= "table" or not other[flag] then K.operandError(name, self, other) end
      return test(keyOf(self), keyOf(other))
    end
  end
  K.methods(class, {
    --- Day -<Boolean> isLessThan:<Day>other
    --- Whether the day is before the other. Anything but a Day is an error.
    --- > '2026-01-31' asDay < '2026-02-01' asDay ⇒ true

    --- TimeOfDay -<Boolean> isLessThan:<TimeOfDay>other
    --- Whether the time is before the other. Anything but a TimeOfDay is an error.
    --- > '09:30' asTime < '10:00' asTime ⇒ true
    ["isLessThan:"] = comparison("isLessThan_", function(a, b) return a < b end),
    --- Day -<Boolean> > <Day>other
    --- Day -<Boolean> isGreaterThan:<Day>other
    --- Whether the day is after the other. Anything but a Day is an error.
    --- > '2026-01-31' asDay > '2026-02-01' asDay ⇒ false

    --- TimeOfDay -<Boolean> > <TimeOfDay>other
    --- TimeOfDay -<Boolean> isGreaterThan:<TimeOfDay>other
    --- Whether the time is after the other. Anything but a TimeOfDay is an error.
    --- > '09:30' asTime > '10:00' asTime ⇒ false
    ["isGreaterThan:"] = comparison("isGreaterThan_", function(a, b) return a > b end),
    --- Day -<Boolean> ≤ <Day>other
    --- Day -<Boolean> isLessThanOrEqualTo:<Day>other
    --- Whether the day is not after the other. Anything but a Day is an error.
    --- > '2026-01-31' asDay <= '2026-02-01' asDay ⇒ true

    --- TimeOfDay -<Boolean> ≤ <TimeOfDay>other
    --- TimeOfDay -<Boolean> isLessThanOrEqualTo:<TimeOfDay>other
    --- Whether the time is not after the other. Anything but a TimeOfDay is an error.
    --- > '09:30' asTime <= '10:00' asTime ⇒ true
    ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", function(a, b) return a <= b end),
    --- Day -<Boolean> ≥ <Day>other
    --- Day -<Boolean> isGreaterThanOrEqualTo:<Day>other
    --- Whether the day is not before the other. Anything but a Day is an error.
    --- > '2026-01-31' asDay >= '2026-02-01' asDay ⇒ false

    --- TimeOfDay -<Boolean> ≥ <TimeOfDay>other
    --- TimeOfDay -<Boolean> isGreaterThanOrEqualTo:<TimeOfDay>other
    --- Whether the time is not before the other. Anything but a TimeOfDay is an error.
    --- > '09:30' asTime >= '10:00' asTime ⇒ false
    ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", function(a, b)
      return a >= b
    end),
    --- Day -<Number> compare:<Day?>other
    --- The order of both days: -1 if the receiver is earlier, 0 if both are equal, 1 if it is later. nil is first.
    --- > '2026-01-31' asDay compare: '2026-02-01' asDay ⇒ -1

    --- TimeOfDay -<Number> compare:<TimeOfDay?>other
    --- The order of both times: -1 if the receiver is earlier, 0 if both are equal, 1 if it is later. nil is first.
    --- > '09:30' asTime compare: '10:00' asTime ⇒ -1
    ["compare:"] = function(self, other) return K.order(self, other) end,
    --- Day -<Boolean> = <any>other
    --- Day -<Boolean> isEqual:<any>other
    --- Whether the other is the same day. A Date is never equal to a Day.
    --- > '2026-01-31' asDay = (Day year: 2026 month: 1 day: 31) ⇒ true

    --- TimeOfDay -<Boolean> = <any>other
    --- TimeOfDay -<Boolean> isEqual:<any>other
    --- Whether the other is the same time of day.
    --- > '09:30' asTime = '09:30:00' asTime ⇒ true
    ["isEqual:"] = function(self, other)
      return type(other) == "table" and other[flag] == true and keyOf(self) == keyOf(other)
    end,
    --- Day -<String> description
    --- The day as `2026-11-21`.
    --- > '2026-11-21' asDay description ⇒ '2026-11-21'

    --- TimeOfDay -<String> description
    --- The time as `09:30:00`, with the fraction of the second if it has one.
    --- > '09:30' asTime description ⇒ '09:30:00'
    ["description"] = function(self) return self._text end,
    --- Day -<Day> copy
    --- TimeOfDay -<TimeOfDay> copy
    --- The value itself: it does not change.
    --- > '2026-11-21' asDay copy ⇒ '2026-11-21' asDay
    ["copy"] = function(self) return self end,
  })
  K.method(class, flag, true)
  -- Content holds the field `_text`.
  K.method(class, "_kind", K.kinds.text)
end

-- Days ---------------------------------------------------------------------------------------------

--- A day of the calendar without a time and time zone, in the years 0 to 9999: `'2026-11-21' asDay`. It moves by whole
--- days and by Periods.
local Day = K.newClass("Day", Object)

-- The days of the years 0 to 9999, counted from 1970-01-01.
local FIRST, LAST = -719528, 2932896

local function dayAt(days)
  if not (days >= FIRST and days <= LAST) then
    throw("outOfRange", "a Day lies in the years 0 to 9999")
  end
  local year, month, day = K.civil(days)
  local text = format("%04d-%02d-%02d", year, month, day)
  return setmetatable({ _day = days, _text = text }, Day._methods)
end

local function dayOf(year, month, day)
  if month < 1 or month > 12 or day < 1 or day > K.monthLength(year, month) then return nil end
  return dayAt(K.daysOf(year, month, day))
end

local function parseDay(text)
  local year, month, day = match(text, "^(%d%d%d%d)-(%d%d)-(%d%d)$")
  return year and dayOf(tonumber(year), tonumber(month), tonumber(day))
end

local function daysIn(self) return self._day end
ordered(Day, "_isDay", daysIn)

local function dayPlus(self, other, sign, name)
  if type(other) == "table" then
    if other._isPeriod then return dayAt(K.monthsAfter(self._day, sign * other._months)) end
    if other._isDuration then
      local days = other._seconds / 86400
      if days == floor(days) then return dayAt(self._day + sign * days) end
      throw("typeError", "a Day moves by whole days, not by " .. K.str(other))
    end
  end
  K.operandError(name, self, other)
end

-- The moment of a time of day, which may be its text.
local function at(self, time, zone)
  if type(time) == "string" then
    time = time:asTime() or throw("invalid", "'" .. time .. "' is not a time as in 09:30")
  end
  if type(time) ~= "table" or not time._isTimeOfDay then
    throw("typeError", "at: expects a TimeOfDay or text such as '09:30', got " .. K.nameOf(time))
  end
  return K.dateAtLocal(self._day * 86400 + time._seconds, time._nanos, zone)
end

K.methods(Day, K.calendarMessages(daysIn))
K.methods(Day, {
  --- -<Day> + <Duration|Period>length
  --- -<Day> add:<Duration|Period>length
  --- The day that is later by the length: a Duration of whole days, or a Period. A month that lacks the day gives its
  --- last one. A number is an error: see `addDays:`.
  --- > '2026-01-31' asDay + 1 months ⇒ '2026-02-28' asDay
  ["add:"] = function(self, other) return dayPlus(self, other, 1, "add_") end,
  --- -<Duration|Day> - <Day|Duration|Period>other
  --- -<Duration|Day> sub:<Day|Duration|Period>other
  --- The Duration between two days; minus a Duration of whole days or a Period, the day that is earlier by it.
  --- > '2026-01-31' asDay - '2026-01-01' asDay ⇒ 30 days
  --- > '2026-01-31' asDay - 1 days ⇒ '2026-01-30' asDay
  ["sub:"] = function(self, other)
    if type(other) == "table" and other._isDay then
      return duration((self._day - other._day) * 86400)
    end
    return dayPlus(self, other, -1, "sub_")
  end,
  --- -<Day> addDays:<Number>days
  --- The day this many days later, or earlier if negative.
  --- > '2026-01-31' asDay addDays: 1 ⇒ '2026-02-01' asDay
  ["addDays:"] = function(self, days) return dayAt(self._day + K.expectInteger(days, "addDays:")) end,
  --- -<Day> startOfMonth
  --- The first day of the month.
  --- > '2026-01-31' asDay startOfMonth ⇒ '2026-01-01' asDay
  ["startOfMonth"] = function(self) return dayAt(self._day - self:day() + 1) end,
  --- -<Day> endOfMonth
  --- The last day of the month.
  --- > '2026-02-01' asDay endOfMonth ⇒ '2026-02-28' asDay
  ["endOfMonth"] = function(self) return dayAt(self._day - self:day() + self:daysInMonth()) end,
  --- -<Date> at:<TimeOfDay|String>time
  --- The moment of this time on the day in UTC. A text that is no time is an error.
  --- > '2026-01-31' asDay at: '09:30' ⇒ '2026-01-31T09:30:00Z' asDate
  ["at:"] = function(self, time) return at(self, time) end,
  --- -<Date> at:<TimeOfDay|String>time in:<String>zone
  --- The moment of this time on the day in a time zone. A time that clocks skip becomes as much later; of a time that
  --- occurs twice it is the first.
  --- > ('2026-01-31' asDay at: '09:30' in: 'Europe/Berlin') ⇒ '2026-01-31T08:30:00Z' asDate
  ["at:in:"] = function(self, time, zone) return at(self, time, K.expectZone(zone, "at:in:")) end,
  --- -<Date> asDate
  --- The moment at which the day begins in UTC.
  --- > '2026-01-31' asDay asDate ⇒ '2026-01-31T00:00:00Z' asDate
  ["asDate"] = function(self) return K.dateAtLocal(self._day * 86400, 0) end,
  --- -<Day> asDay
  --- The day itself.
  --- > '2026-01-31' asDay asDay ⇒ '2026-01-31' asDay
  ["asDay"] = function(self) return self end,
  --- -<String> format:<String>pattern
  --- The day as text by a pattern of strftime, with English names. A wrong pattern, or a part of a time, is an error.
  --- > '2026-01-31' asDay format: '%d.%m.%Y' ⇒ '31.01.2026'
  ["format:"] = function(self, pattern)
    return K.native.formatDate("day", K.expectText(pattern, "format:"), self._day * 86400, 0)
  end,
})
K.method(Day, "_keyText", function(self) return "Y" .. self._text end)

local function localDay(date) return dayAt(date:_localDays()) end
local function refused(name, hint)
  return function() throw("invalid", name .. " new: has no value", { i_hint = hint }) end
end
local noDay = refused("Day", "write Day today, Day year:month:day: or '2026-11-21' asDay")
K.classMethods(Day, {
  --- +<Day> new
  --- +<Day> alloc
  --- An error: a Day is made by `today`, `year:month:day:` or `asDay`.
  --- > Day new ⇒ error: Day new: has no value
  ["new"] = noDay, ["alloc"] = noDay,
  --- +<Day> today
  --- The current day in UTC.
  --- > Day today ⇒ Date now asDay
  ["today"] = function() return localDay(Date:now()) end,
  --- +<Day> todayIn:<String>zone
  --- The current day in a time zone: a name of the tz database or an offset. An unknown name is an error.
  --- > (Day todayIn: 'Asia/Tokyo') >= Day today ⇒ true
  ["todayIn:"] = function(_, zone) return localDay(Date:now():in_(zone)) end,
  --- +<Day> year:<Number>year month:<Number>month day:<Number>day
  --- The day with these whole numbers. An error if the calendar has no such day.
  --- > Day year: 2026 month: 1 day: 31 ⇒ '2026-01-31' asDay
  ["year:month:day:"] = function(_, year, month, day)
    local what = "year:month:day:"
    year, month, day = K.expectInteger(year, what), K.expectInteger(month, what),
      K.expectInteger(day, what)
    return dayOf(year, month, day)
      or throw("outOfRange", format("there is no day %s-%s-%s", year, month, day))
  end,
})

-- Times of day -------------------------------------------------------------------------------------

--- A time of day, to the nanosecond, without a day and time zone: `'09:30' asTime`. It continues at midnight.
local TimeOfDay = K.newClass("TimeOfDay", Object)

local function timeAt(seconds, nanos)
  local text = format("%02d:%02d:%02d%s", floor(seconds / 3600), floor(seconds / 60) % 60,
    seconds % 60, K.fractionText(nanos))
  return setmetatable({ _seconds = seconds, _nanos = nanos, _text = text }, TimeOfDay._methods)
end

local function timeOf(hour, minute, second, nanos)
  if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59 then return nil end
  return timeAt(hour * 3600 + minute * 60 + second, nanos)
end

local function parseTime(text)
  if #text > 32 then return nil end
  local hour, minute, rest = match(text, "^(%d%d):(%d%d)(.*)$")
  if not hour then return nil end
  local second, digits = match(rest, "^:(%d%d)%.(%d+)$")
  second = second or match(rest, "^:(%d%d)$")
  if rest ~= "" and not second then return nil end
  return timeOf(tonumber(hour), tonumber(minute), tonumber(second or 0), K.nanosOf(digits or ""))
end

ordered(TimeOfDay, "_isTimeOfDay", function(self) return self._seconds + self._nanos / 1e9 end)

-- Times go on at midnight: 23:30 and an hour is 00:30.
local function timePlus(self, other, sign, name)
  if type(other) ~= "table" or not other._isDuration then K.operandError(name, self, other) end
  local moved = sign * other._seconds
  local whole = floor(moved)
  local nanos = self._nanos + floor((moved - whole) * 1e9 + 0.5)
  local over = floor(nanos / 1e9)
  return timeAt((self._seconds + whole + over) % 86400, nanos - over * 1e9)
end

K.methods(TimeOfDay, {
  --- -<Number> hour
  --- The hour from 0 to 23.
  --- > '09:30' asTime hour ⇒ 9
  ["hour"] = function(self) return floor(self._seconds / 3600) end,
  --- -<Number> minute
  --- The minute from 0 to 59.
  --- > '09:30' asTime minute ⇒ 30
  ["minute"] = function(self) return floor(self._seconds / 60) % 60 end,
  --- -<Number> second
  --- The whole second from 0 to 59.
  --- > '09:30:15' asTime second ⇒ 15
  ["second"] = function(self) return self._seconds % 60 end,
  --- -<Number> nanosecond
  --- The fraction of the second in nanoseconds, from 0 to 999,999,999.
  --- > '09:30:15.25' asTime nanosecond ⇒ 250000000
  ["nanosecond"] = function(self) return self._nanos end,
  --- -<Number> asSeconds
  --- Seconds since midnight, with a fraction.
  --- > '01:00:15.25' asTime asSeconds ⇒ 3615.25
  ["asSeconds"] = function(self) return self._seconds + self._nanos / 1e9 end,
  --- -<TimeOfDay> asTime
  --- The time itself.
  --- > '09:30' asTime asTime ⇒ '09:30' asTime
  ["asTime"] = function(self) return self end,
  --- -<TimeOfDay> + <Duration>length
  --- -<TimeOfDay> add:<Duration>length
  --- The time that is later by the duration. It continues at midnight.
  --- > '23:30' asTime + 1 hours ⇒ '00:30' asTime
  ["add:"] = function(self, other) return timePlus(self, other, 1, "add_") end,
  --- -<Duration|TimeOfDay> - <TimeOfDay|Duration>other
  --- -<Duration|TimeOfDay> sub:<TimeOfDay|Duration>other
  --- The Duration between two times of one day; minus a Duration, the time that is earlier by it.
  --- > '09:30' asTime - '08:00' asTime ⇒ 90 minutes
  --- > '00:30' asTime - 1 hours ⇒ '23:30' asTime
  ["sub:"] = function(self, other)
    if type(other) == "table" and other._isTimeOfDay then
      return duration(self._seconds - other._seconds + (self._nanos - other._nanos) / 1e9)
    end
    return timePlus(self, other, -1, "sub_")
  end,
  --- -<String> format:<String>pattern
  --- The time as text by a pattern of strftime. A wrong pattern, or a part of a date, is an error.
  --- > '21:30' asTime format: '%I:%M %p' ⇒ '09:30 PM'
  ["format:"] = function(self, pattern)
    return K.native.formatDate("time", K.expectText(pattern, "format:"), self._seconds, self._nanos)
  end,
})
K.method(TimeOfDay, "_keyText", function(self) return "C" .. self._text end)

local function made(_, hour, minute, second)
  local what = "hour:minute:"
  hour, minute = K.expectInteger(hour, what), K.expectInteger(minute, what)
  second = K.expectInteger(second or 0, what)
  return timeOf(hour, minute, second, 0)
    or throw("outOfRange", format("there is no time %s:%s:%s", hour, minute, second))
end
local noTime = refused("TimeOfDay", "write TimeOfDay hour:minute: or '09:30' asTime")
K.classMethods(TimeOfDay, {
  --- +<TimeOfDay> new
  --- +<TimeOfDay> alloc
  --- An error: a TimeOfDay is made by `hour:minute:` or `asTime`.
  --- > TimeOfDay new ⇒ error: TimeOfDay new: has no value
  ["new"] = noTime, ["alloc"] = noTime,
  --- +<TimeOfDay> hour:<Number>hour minute:<Number>minute
  --- +<TimeOfDay> hour:<Number>hour minute:<Number>minute second:<Number>second
  --- The time with these whole numbers; the second is 0 if it is not given. An error if there is no such time.
  --- > TimeOfDay hour: 9 minute: 30 ⇒ '09:30' asTime
  ["hour:minute:"] = made, ["hour:minute:second:"] = made,
})

-- Conversion ---------------------------------------------------------------------------------------

K.methods(Date, {
  --- -<Day> asDay
  --- The day that the calendar shows at the moment, in its time zone.
  --- > ('2026-11-21T23:30:00Z' asDate in: 'Europe/Berlin') asDay ⇒ '2026-11-22' asDay
  ["asDay"] = localDay,
  --- -<TimeOfDay> asTime
  --- The time that clocks show at the moment, in its time zone.
  --- > '2026-11-21T23:30:00Z' asDate asTime ⇒ '23:30' asTime
  ["asTime"] = function(self) return timeAt(self:_localTime(), self._nanos) end,
})
K.methods(String, {
  --- -<Day?> asDay
  --- The day that the text writes as `2026-11-21`; nil for any other text.
  --- > '2026-02-28' asDay month ⇒ 2
  --- > '2026-02-30' asDay ⇒ nil
  ["asDay"] = parseDay,
  --- -<TimeOfDay?> asTime
  --- The time that the text writes as `09:30`, `09:30:15` or `09:30:15.25`; nil for any other text.
  --- > '09:30' asTime minute ⇒ 30
  --- > '25:00' asTime ⇒ nil
  ["asTime"] = parseTime,
  --- -<Day?> asDay:<String>pattern
  --- The day that the text writes by a pattern of strftime; nil if it does not fit.
  --- > '05/11/26' asDay: '%d/%m/%y' ⇒ '2026-11-05' asDay
  ["asDay:"] = function(text, pattern)
    local found = K.native.readDate("day", K.expectText(pattern, "asDay:"), text, "UTC")
    return found and dayAt(found[1] / 86400)
  end,
  --- -<TimeOfDay?> asTime:<String>pattern
  --- The time that the text writes by a pattern of strftime; nil if it does not fit.
  --- > '9:30 PM' asTime: '%I:%M %p' ⇒ '21:30' asTime
  ["asTime:"] = function(text, pattern)
    local found = K.native.readDate("time", K.expectText(pattern, "asTime:"), text, "UTC")
    return found and timeAt(found[1], found[2])
  end,
})
