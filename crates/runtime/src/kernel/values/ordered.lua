-- Messages that all ordered values share: the greater and the lesser, limits, and those of numbers that the exact
-- kinds of them lacked.
local K = ...
local type, floor, match, tonumber = type, math.floor, string.match, tonumber
local throw = K.throw
local classes = K.classes

local function clamped(self, low, high)
  return K.lt(self, low) and low or K.gt(self, high) and high or self
end

local messages = {
  --- Duration -<Duration> max:<Duration>other
  --- Date -<Date> max:<Date>other
  --- Day -<Day> max:<Day>other
  --- TimeOfDay -<TimeOfDay> max:<TimeOfDay>other
  --- Period -<Period> max:<Period>other
  --- The greater of both: the later or longer one. Another kind of value is an error.
  --- > 3 minutes max: 90 seconds ⇒ 3 minutes
  --- > '2026-11-21' asDay max: '2026-01-01' asDay ⇒ '2026-11-21' asDay
  ["max:"] = function(self, other) return K.lt(self, other) and other or self end,
  --- Duration -<Duration> min:<Duration>other
  --- Date -<Date> min:<Date>other
  --- Day -<Day> min:<Day>other
  --- TimeOfDay -<TimeOfDay> min:<TimeOfDay>other
  --- Period -<Period> min:<Period>other
  --- The lesser of both: the earlier or shorter one. Another kind of value is an error.
  --- > 3 minutes min: 90 seconds ⇒ 90 seconds
  ["min:"] = function(self, other) return K.gt(self, other) and other or self end,
  --- Duration -<Duration> min:<Duration>low max:<Duration>high
  --- Date -<Date> min:<Date>low max:<Date>high
  --- Day -<Day> min:<Day>low max:<Day>high
  --- TimeOfDay -<TimeOfDay> min:<TimeOfDay>low max:<TimeOfDay>high
  --- Period -<Period> min:<Period>low max:<Period>high
  --- The value, but at least `low` and at most `high`.
  --- > 9 minutes min: 1 seconds max: 5 minutes ⇒ 5 minutes
  ["min:max:"] = clamped,
  --- Duration -<Boolean> between:<Duration>low and:<Duration>high
  --- Date -<Boolean> between:<Date>low and:<Date>high
  --- Day -<Boolean> between:<Day>low and:<Day>high
  --- TimeOfDay -<Boolean> between:<TimeOfDay>low and:<TimeOfDay>high
  --- Period -<Boolean> between:<Period>low and:<Period>high
  --- Whether the value is at least `low` and at most `high`.
  --- > '2026-06-01' asDay between: '2026-01-01' asDay and: '2026-12-31' asDay ⇒ true
  ["between:and:"] = K.between,
}
for _, name in ipairs { "Duration", "Date", "Day", "TimeOfDay", "Period" } do K.methods(classes[name], messages) end

local comparable = {
  --- Duration -<Number> compare:<Duration>other
  --- Period -<Number> compare:<Period>other
  --- A number below, at or above 0: whether the value is shorter than the other, as long, or longer.
  --- > 3 minutes compare: 90 seconds ⇒ 1
  ["compare:"] = function(self, other) return K.order(self, other) end,
}
K.methods(classes.Duration, comparable)
K.methods(classes.Period, comparable)

local Period = classes.Period
local function months(name, test)
  return function(self, other)
    if type(other) ~= "table" or not other._isPeriod then K.operandError(name, self, other) end
    return test(self._months, other._months)
  end
end
K.methods(Period, {
  --- -<Boolean> isLessThan:<Period>other
  --- Whether the period has fewer months than the other.
  --- > 11 months < 1 years ⇒ true
  ["isLessThan:"] = months("isLessThan_", function(a, b) return a < b end),
  --- -<Boolean> > <Period>other
  --- -<Boolean> isGreaterThan:<Period>other
  --- Whether the period has more months than the other.
  --- > 13 months > 1 years ⇒ true
  ["isGreaterThan:"] = months("isGreaterThan_", function(a, b) return a > b end),
  --- -<Boolean> ≤ <Period>other
  --- -<Boolean> isLessThanOrEqualTo:<Period>other
  --- Whether the period has at most as many months as the other.
  --- > 12 months ≤ 1 years ⇒ true
  ["isLessThanOrEqualTo:"] = months("isLessThanOrEqualTo_", function(a, b) return a <= b end),
  --- -<Boolean> ≥ <Period>other
  --- -<Boolean> isGreaterThanOrEqualTo:<Period>other
  --- Whether the period has at least as many months as the other.
  --- > 12 months ≥ 1 years ⇒ true
  ["isGreaterThanOrEqualTo:"] = months("isGreaterThanOrEqualTo_", function(a, b) return a >= b end),
  --- -<Period> abs
  --- The period without its sign.
  --- > (0 months - 3 months) abs ⇒ 3 months
  ["abs"] = function(self) return self._months < 0 and self:negated() or self end,
})

-- Durations ---------------------------------------------------------------------------------------

local Duration = classes.Duration
local function secondsOf(other, selector)
  if type(other) ~= "table" or not other._isDuration then
    throw("typeError", selector .. " expects a Duration, got " .. K.nameOf(other))
  end
  if other._seconds == 0 then throw("divisionByZero", selector .. " has no result for a Duration of 0") end
  return other._seconds
end
local whole = Duration._methods.div_
K.methods(Duration, {
  --- -<Number|Duration> div:<Duration|Number>other
  --- How often another duration fits into this one, rounded down; for a number the duration divided by it. `/` does not
  --- round.
  --- > 7 seconds div: 2 seconds ⇒ 3
  --- > 7 seconds div: 2 ⇒ 3.5 seconds
  ["div:"] = function(self, other)
    if type(other) == "table" and other._isDuration then return floor(self._seconds / secondsOf(other, "div:")) end
    return whole(self, other)
  end,
  --- -<Duration> mod:<Duration>other
  --- -<Duration> % <Duration>other
  --- What is left where the other duration is taken as often as it fits.
  --- > 7 seconds mod: 2 seconds ⇒ 1 seconds
  ["mod:"] = function(self, other) return K.duration(self._seconds % secondsOf(other, "mod:")) end,
})

-- The seconds of `1h30m`, `250ms`: units as in configuration files.
local short = { ms = 0.001, s = 1, m = 60, min = 60, h = 3600, d = 86400, w = 604800 }
local function shortSeconds(text)
  local total, at = 0, 1
  while at <= #text do
    local number, unit, after = match(text, "^(%d+%.?%d*)%s*(%a+)%s*()", at)
    if not number or not short[unit] then return nil end
    total, at = total + tonumber(number) * short[unit], after
  end
  return total
end

-- The seconds of `P2DT1H30M`, `P1W` (ISO 8601); nil for years and months, whose length differs.
local function isoSeconds(sign, text)
  local weeks = match(text, "^(%d+)W$")
  if weeks then return sign * tonumber(weeks) * 604800 end
  local date, time = match(text, "^([^T]*)T(.+)$")
  date = date or text
  local days = date == "" and "0" or match(date, "^(%d+)D$")
  if not days then return nil end
  local total, rest = tonumber(days) * 86400, time or ""
  for _, unit in ipairs { { "H", 3600 }, { "M", 60 }, { "S", 1 } } do
    local number, after = match(rest, "^(%d+%.?%d*)" .. unit[1] .. "(.*)$")
    if number then total, rest = total + tonumber(number) * unit[2], after end
  end
  if rest ~= "" then return nil end
  return sign * total
end

K.methods(classes.String, {
  --- String -<Duration?> asDuration
  --- The duration that a text writes: `1h30m`, `250ms`, `5 min` as in configuration files, or `PT1H30M` of ISO 8601;
  --- nil for other texts. Years and months are a Period: `asPeriod`.
  --- > '1h30m' asDuration ⇒ 90 minutes
  --- > 'P2DT12H' asDuration ⇒ 60 hours
  ["asDuration"] = function(text)
    if text == "" or #text > 64 then return nil end
    local sign, iso = match(text, "^([-+]?)P(.+)$")
    local seconds
    if iso then seconds = isoSeconds(sign == "-" and -1 or 1, iso) else seconds = shortSeconds(text) end
    return seconds and K.duration(seconds)
  end,
  --- String -<Period?> asPeriod
  --- The period that a text of ISO 8601 writes in years and months; nil for other texts.
  --- > 'P1Y2M' asPeriod ⇒ 14 months
  ["asPeriod"] = function(text)
    local sign, rest = match(text, "^([-+]?)P(%w+)$")
    local years = rest and match(rest, "^(%d+)Y")
    local count = rest and match(rest, years and "^%d+Y(%d+)M$" or "^(%d+)M$")
    if not rest or not count and not match(rest, "^%d+Y$") then return nil end
    local total = tonumber(years or 0) * 12 + tonumber(count or 0)
    if total > 120000 then return nil end
    return (sign == "-" and -total or total):months()
  end,
})
K.methods(Duration, {
  --- -<String> asISO8601
  --- The duration as ISO 8601 writes it, in days, hours, minutes and seconds.
  --- > 90 minutes asISO8601 ⇒ 'PT1H30M'
  ["asISO8601"] = function(self)
    local rest = math.abs(self._seconds)
    local days = floor(rest / 86400)
    rest = rest - days * 86400
    local hours = floor(rest / 3600)
    rest = rest - hours * 3600
    local minutes = floor(rest / 60)
    local seconds = floor((rest - minutes * 60) * 1e6 + 0.5) / 1e6
    local function part(count, unit) return count > 0 and K.str(count) .. unit or "" end
    local time = part(hours, "H") .. part(minutes, "M") .. part(seconds, "S")
    local text = part(days, "D") .. (time ~= "" and "T" .. time or "")
    return (self._seconds < 0 and "-P" or "P") .. (text == "" and "T0S" or text)
  end,
})

-- Exact numbers -------------------------------------------------------------------------------------

-- The remainder with the sign of the receiver.
local function rem(self, other)
  if other == 0 then throw("divisionByZero", K.str(self) .. " has no remainder by 0") end
  local rest = self:abs():mod_(other:abs())
  return K.lt(self, 0) and K.sub(0, rest) or rest
end
local function number(other, selector)
  if type(other) == "number" or type(other) == "table" and (other._isBig or other._isDecimal) then return other end
  throw("typeError", selector .. " expects a Number, got " .. K.nameOf(other))
end
local exact = {
  --- BigInteger -<any> rem:<Number|BigInteger|Decimal>other
  --- Decimal -<any> rem:<Number|BigInteger|Decimal>other
  --- The remainder with the sign of the receiver; that of `mod:` has the sign of the divisor.
  --- > '-7.5' asDecimal rem: 2 ⇒ '-1.5' asDecimal
  --- > (2 pow: 80) rem: 1000 ⇒ 176
  ["rem:"] = function(self, other) return rem(self, number(other, "rem:")) end,
  --- BigInteger -<Boolean> isDivisibleBy:<Number|BigInteger|Decimal>other
  --- Decimal -<Boolean> isDivisibleBy:<Number|BigInteger|Decimal>other
  --- Whether the number is a multiple of the other, which must not be 0.
  --- > (2 pow: 80) isDivisibleBy: 1024 ⇒ true
  ["isDivisibleBy:"] = function(self, other) return K.eq(rem(self, number(other, "isDivisibleBy:")), 0) end,
  --- BigInteger -<any> cubed
  --- Decimal -<any> cubed
  --- The third power of the number.
  --- > '0.1' asDecimal cubed ⇒ '0.001' asDecimal
  ["cubed"] = function(self) return K.mul(K.mul(self, self), self) end,
  --- BigInteger -<any> min:<Number|BigInteger|Decimal>low max:<Number|BigInteger|Decimal>high
  --- Decimal -<any> min:<Number|BigInteger|Decimal>low max:<Number|BigInteger|Decimal>high
  --- The number, but at least `low` and at most `high`.
  --- > '2.5' asDecimal min: 0 max: 1 ⇒ 1
  ["min:max:"] = clamped,
  --- BigInteger -<Boolean> strictlyPositive
  --- Decimal -<Boolean> strictlyPositive
  --- Whether the number is greater than 0.
  --- > '0.01' asDecimal strictlyPositive ⇒ true
  ["strictlyPositive"] = function(self) return K.gt(self, 0) end,
  --- BigInteger -<Boolean> isNaN
  --- Decimal -<Boolean> isNaN
  --- false: an exact number is always one.
  --- > '0.1' asDecimal isNaN ⇒ false
  ["isNaN"] = function() return false end,
}
K.methods(classes.BigInteger, exact)
K.methods(classes.Decimal, exact)

-- The largest exponent of a Decimal.
local MOST_POWER = 1000
local function power(self, exponent)
  local count = K.expectInteger(exponent, "pow:")
  if count < 0 then throw("outOfRange", "pow: of a Decimal expects an exponent from 0 on, got " .. K.str(count)) end
  if count > MOST_POWER then
    throw("tooLarge", "pow: of a Decimal takes an exponent up to 1000, not " .. K.str(count))
  end
  local result = (1):asDecimal()
  for _ = 1, count do result = K.mul(result, self) end
  return result
end
K.methods(classes.Decimal, {
  --- -<Decimal> pow:<Number>exponent
  --- -<Decimal> raisedTo:<Number>exponent
  --- The power for a whole exponent from 0 to 1,000, with the digits that a Decimal has.
  --- > '1.1' asDecimal pow: 2 ⇒ '1.21' asDecimal
  ["pow:"] = power, ["raisedTo:"] = power,
  --- -<Number> sqrt
  --- The square root as a Number, because it has no end as a Decimal.
  --- > '6.25' asDecimal sqrt ⇒ 2.5
  ["sqrt"] = function(self) return math.sqrt(self:asNumber()) end,
  --- -<Boolean> boolValue
  --- false for 0, otherwise true.
  --- > '0.00' asDecimal boolValue ⇒ false
  ["boolValue"] = function(self) return self._units ~= 0 end,
  --- -<Number|BigInteger> integerValue
  --- The whole number without the fraction, as `truncated`.
  --- > '-2.7' asDecimal integerValue ⇒ -2
  ["integerValue"] = function(self) return self:truncated() end,
})
K.methods(classes.BigInteger, {
  --- -<String> fixed:<Number>places
  --- The number as text with this count of zeros after the point, from 0 to 30.
  --- > (2 pow: 60) fixed: 2 ⇒ '1152921504606846976.00'
  ["fixed:"] = function(self, places) return self:asDecimal():fixed_(places) end,
  --- -<Number> log10
  --- The logarithm to base 10.
  --- > ((10 pow: 20) log10) rounded ⇒ 20
  ["log10"] = function(self) return math.log10(self:asFloat()) end,
})
