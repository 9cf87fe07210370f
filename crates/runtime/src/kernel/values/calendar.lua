-- Days of the calendar, times of day, and periods of months: dates without a moment.
local K = ...
local type, setmetatable, floor = type, setmetatable, math.floor
local format, match, tonumber = string.format, string.match, tonumber
local throw, duration = K.throw, K.duration
local String, Number, Date, Object = K.classes.String, K.classes.Number, K.classes.Date, K.classes.Object

-- Periods ------------------------------------------------------------------------------------------

local Period = K.newClass("Period", Object)
K.method(Period, "_isPeriod", true)

local function period(months)
  return setmetatable({ _months = months }, Period._methods)
end

-- Months that a period has at most: those of 10,000 years.
local MOST_MONTHS = 120000

local function counted(factor, selector)
  return function(self)
    local months = K.expectInteger(self, selector) * factor
    if math.abs(months) > MOST_MONTHS then throw("tooLarge", "a Period has at most 10000 years") end
    return period(months)
  end
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
  ["asMonths"] = function(self) return self._months end,
  ["add:"] = sum(1, "add_"), ["sub:"] = sum(-1, "sub_"),
  ["mul:"] = function(self, factor) return period(self._months * K.expectInteger(factor, "*")) end,
  ["negated"] = function(self) return period(-self._months) end,
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isPeriod == true and other._months == self._months
  end,
  ["copy"] = function(self) return self end,
  ["description"] = function(self)
    local months = math.fmod(self._months, 12)
    local years = named((self._months - months) / 12, "year")
    months = named(months, "month")
    return years and months and years .. " " .. months or years or months or "0 months"
  end,
})
K.method(Period, "_keyText", function(self) return "p" .. self._months end)
K.method(Period, "_reverse", function(self, name, number)
  if name == "mul_" then return self:mul_(number) end
  K.operandError(name, number, self)
end)
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
    ["isLessThan:"] = comparison("isLessThan_", function(a, b) return a < b end),
    ["isGreaterThan:"] = comparison("isGreaterThan_", function(a, b) return a > b end),
    ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", function(a, b) return a <= b end),
    ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", function(a, b)
      return a >= b
    end),
    ["compare:"] = function(self, other) return K.order(self, other) end,
    ["isEqual:"] = function(self, other)
      return type(other) == "table" and other[flag] == true and keyOf(self) == keyOf(other)
    end,
    ["description"] = function(self) return self._text end,
    ["copy"] = function(self) return self end,
  })
  K.method(class, flag, true)
  -- Content holds the field `_text`.
  K.method(class, "_kind", K.kinds.text)
end

-- Days ---------------------------------------------------------------------------------------------

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
  ["add:"] = function(self, other) return dayPlus(self, other, 1, "add_") end,
  ["sub:"] = function(self, other)
    if type(other) == "table" and other._isDay then
      return duration((self._day - other._day) * 86400)
    end
    return dayPlus(self, other, -1, "sub_")
  end,
  ["addDays:"] = function(self, days) return dayAt(self._day + K.expectInteger(days, "addDays:")) end,
  ["startOfMonth"] = function(self) return dayAt(self._day - self:day() + 1) end,
  ["endOfMonth"] = function(self) return dayAt(self._day - self:day() + self:daysInMonth()) end,
  ["at:"] = function(self, time) return at(self, time) end,
  ["at:in:"] = function(self, time, zone) return at(self, time, K.expectZone(zone, "at:in:")) end,
  ["asDate"] = function(self) return K.dateAtLocal(self._day * 86400, 0) end,
  ["asDay"] = function(self) return self end,
  ["format:"] = function(self, pattern)
    return K.native.formatDate("day", K.expectText(pattern, "format:"), self._day * 86400, 0)
  end,
})
K.method(Day, "_keyText", function(self) return "D" .. self._text end)

local function localDay(date) return dayAt(date:_localDays()) end
K.classMethods(Day, {
  ["today"] = function() return localDay(Date:now()) end,
  ["todayIn:"] = function(_, zone) return localDay(Date:now():in_(zone)) end,
  ["year:month:day:"] = function(_, year, month, day)
    local what = "year:month:day:"
    year, month, day = K.expectInteger(year, what), K.expectInteger(month, what),
      K.expectInteger(day, what)
    return dayOf(year, month, day)
      or throw("outOfRange", format("there is no day %s-%s-%s", year, month, day))
  end,
})

-- Times of day -------------------------------------------------------------------------------------

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
  ["hour"] = function(self) return floor(self._seconds / 3600) end,
  ["minute"] = function(self) return floor(self._seconds / 60) % 60 end,
  ["second"] = function(self) return self._seconds % 60 end,
  ["nanosecond"] = function(self) return self._nanos end,
  ["asSeconds"] = function(self) return self._seconds + self._nanos / 1e9 end,
  ["asTime"] = function(self) return self end,
  ["add:"] = function(self, other) return timePlus(self, other, 1, "add_") end,
  ["sub:"] = function(self, other)
    if type(other) == "table" and other._isTimeOfDay then
      return duration(self._seconds - other._seconds + (self._nanos - other._nanos) / 1e9)
    end
    return timePlus(self, other, -1, "sub_")
  end,
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
K.classMethods(TimeOfDay, { ["hour:minute:"] = made, ["hour:minute:second:"] = made })

-- Conversion ---------------------------------------------------------------------------------------

K.methods(Date, {
  ["asDay"] = localDay,
  ["asTime"] = function(self) return timeAt(self:_localTime(), self._nanos) end,
})
K.methods(String, {
  ["asDay"] = parseDay, ["asTime"] = parseTime,
  ["asDay:"] = function(text, pattern)
    local found = K.native.readDate("day", K.expectText(pattern, "asDay:"), text, "UTC")
    return found and dayAt(found[1] / 86400)
  end,
  ["asTime:"] = function(text, pattern)
    local found = K.native.readDate("time", K.expectText(pattern, "asTime:"), text, "UTC")
    return found and timeAt(found[1], found[2])
  end,
})
