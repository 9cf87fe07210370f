-- Intervals: the numbers from one to another, both included, in steps.
local K = ...
local type, floor, setmetatable = type, math.floor, setmetatable
local throw = K.throw

--- The numbers from one to another, both included, in steps: `1 to: 5`, `10 to: 1 by: -3`. Stores only the bounds, so
--- that a long Interval costs no memory. Messages that spread it out, such as `asArray`, take at most 16,777,216
--- elements.
local Interval = K.newClass("Interval", K.classes.Collection)
K.alias("NSInterval", Interval)
K.alias("MPWInterval", Interval)
K.method(Interval, "_isInterval", true)

-- The most elements that an interval is spread out into.
local MOST = 16777216

function K.interval(from, to, by)
  if to == nil or from == nil then throw("typeError", "to: expects a Number, got nil") end
  from, to, by = K.expectNumber(from, "to:"), K.expectNumber(to, "to:"), K.expectNumber(by,
    "to:by:")
  if by == 0 or by ~= by then throw("outOfRange", "to:by: needs a step other than 0") end
  local count = floor((to - from) / by + 1e-9) + 1
  if not (count > 0) then count = 0 end
  return setmetatable({ _from = from, _to = to, _by = by, _count = count }, Interval._methods)
end

local function tooLong(self)
  throw("tooLarge", "an Interval of " .. K.str(self._count) .. " elements is too long to spread out",
    { i_hint = "send it `lazy` first: (1 to: n) lazy select: { … } | first: 3" })
end

K.method(Interval, "_elements", function(self)
  local from, by, out = self._from, self._by, {}
  if self._count > MOST then tooLong(self) end
  for i = 1, self._count do out[i] = from + (i - 1) * by end
  return out
end)

-- First and last as given: what a range argument means.
K.method(Interval, "_bounds", function(self) return self._from, self._to end)

local function part(self, from, to)
  if to <= from then return K.interval(self._from, self._from - self._by, self._by) end
  return K.interval(self._from + from * self._by, self._from + (to - 1) * self._by, self._by)
end

local function at(self, index)
  if type(index) == "table" and index._isInterval then return part(self, K.rangeOf(index, self._count, "at:")) end
  if type(index) ~= "number" or index < 0 or index >= self._count or index ~= floor(index) then
    K.outOfRange(index, self._count, "an empty Interval")
  end
  return self._from + index * self._by
end

local function each(self, block)
  if type(block) ~= "function" then block = K.asBlock(block, "do:") end
  local from, by = self._from, self._by
  for i = 0, self._count - 1 do block(from + i * by) end
end

-- The numbers one by one, until `take` answers true.
local function walk(self, take)
  local from, by = self._from, self._by
  for i = 0, self._count - 1 do
    if take(from + i * by) then return end
  end
end

local function detect(self, block)
  if type(block) ~= "function" then block = K.asBlock(block, "detect:") end
  local found, is = nil, false
  walk(self, function(value)
    if not K.yes(block(value)) then return false end
    found, is = value, true
    return true
  end)
  return found, is
end

local function firstN(self, n)
  n = K.expectInteger(n, "first:")
  if n < 0 then throw("outOfRange", "first: expects a count from 0 on, got " .. K.str(n)) end
  return K.array(part(self, 0, n < self._count and n or self._count):_elements())
end

local function collect(self, block)
  if type(block) ~= "function" then block = K.asBlock(block, "collect:") end
  if self._count > MOST then tooLong(self) end
  local from, by, out, NULL = self._from, self._by, {}, K.NULL
  for i = 1, self._count do
    local value = block(from + (i - 1) * by)
    if value == nil then value = NULL end
    out[i] = value
  end
  return K.array(out)
end

local function inject(self, start, block)
  K.expectBlock(block, "inject:into:")
  local from, by, result = self._from, self._by, start
  for i = 0, self._count - 1 do result = block(result, from + i * by) end
  return result
end

local function indexOf(self, value)
  if type(value) ~= "number" then return nil end
  local index = (value - self._from) / self._by
  if index >= 0 and index < self._count and index == floor(index) then return index end
  return nil
end

local function first(self)
  if self._count == 0 then return nil end
  return self._from
end

local function last(self)
  if self._count == 0 then return nil end
  return self._from + (self._count - 1) * self._by
end

local function reversed(self)
  if self._count == 0 then return self end
  return K.interval(last(self), self._from, -self._by)
end

local function shifted(self, by)
  by = K.expectNumber(by, "shift:")
  return K.interval(self._from + by, self._to + by, self._by)
end

local function scaled(self, by)
  by = K.expectNumber(by, "scale:")
  return K.interval(self._from * by, self._to * by, self._by * by)
end

K.methods(Interval, {
  --- As in Collection.
  ["do:"] = each,
  --- As in Collection.
  ["collect:"] = collect,
  --- As in Collection.
  ["map:"] = collect,
  --- As in Collection.
  ["inject:into:"] = inject,
  --- As in Collection.
  ["detect:"] = function(self, block) return (detect(self, block)) end,
  --- As in Collection.
  ["detect:ifNone:"] = function(self, block, none)
    local value, found = detect(self, block)
    if found then return value end
    return K.valueOf(none)
  end,
  --- As in Collection.
  ["anySatisfy:"] = function(self, block)
    local _, found = detect(self, block)
    return found
  end,
  --- As in Collection.
  ["allSatisfy:"] = function(self, block)
    if type(block) ~= "function" then block = K.asBlock(block, "allSatisfy:") end
    local _, found = detect(self, function(value) return not K.yes(block(value)) end)
    return not found
  end,
  --- As in Collection.
  ["noneSatisfy:"] = function(self, block)
    local _, found = detect(self, block)
    return not found
  end,
  --- As in Collection.
  ["first:"] = firstN,
  --- -<any> at:<Number>index ifAbsent:<any>alternative
  --- Answers the number at the position; for another position the alternative: a block's value, or the argument.
  --- > (1 to: 3) at: 9 ifAbsent: 0 ⇒ 0
  ["at:ifAbsent:"] = function(self, index, absent)
    if type(index) == "number" and index >= 0 and index < self._count and index == floor(index) then
      return self._from + index * self._by
    end
    return K.valueOf(absent)
  end,
  --- -<Interval> from:<Number>from to:<Number>to
  --- -<Interval> copyFrom:<Number>from to:<Number>to
  --- Answers the numbers between two positions, both included. A position outside is an `outOfRange` error.
  --- > ((10 to: 50 by: 10) from: 1 to: 2) asArray ⇒ [20, 30]
  ["from:to:"] = function(self, from, to)
    return part(self, K.rangeOf(K.interval(from, to, 1), self._count, "from:to:"))
  end,
  ["copyFrom:to:"] = function(self, from, to)
    return part(self, K.rangeOf(K.interval(from, to, 1), self._count, "copyFrom:to:"))
  end,
  --- -<Array> , <any>element
  --- -<Array> concat:<any>element
  --- Answers an Array of the numbers and the element.
  --- > (1 to: 2) , 9 ⇒ [1, 2, 9]
  ["concat:"] = function(self, value) return self:asArray():concat_(value) end,
  --- -<any> at:<Number|Interval>index
  --- -<any> objectAtIndex:<Number|Interval>index
  --- Answers the number at the position from 0; for an Interval of positions an Interval. A position outside is
  --- an `outOfRange` error.
  --- > (10 to: 1 by: -3) at: 1 ⇒ 7
  ["at:"] = at, ["objectAtIndex:"] = at,
  --- -<Number> count
  --- -<Number> length
  --- Answers how many numbers the Interval has; 0 when the step leads away from the end.
  --- > (1 to: 10 by: 4) count ⇒ 3
  ["count"] = function(self) return self._count end,
  --- -<Number> from
  --- -<Number> location
  --- Answers the start, as given. `first` is nil for an empty Interval.
  --- > (5 to: 1) from ⇒ 5
  ["from"] = function(self) return self._from end,
  --- -<Number> to
  --- Answers the end, as given. `last` is the last number that the steps reach.
  --- > (1 to: 10 by: 4) to ⇒ 10
  ["to"] = function(self) return self._to end,
  --- -<Number> by
  --- -<Number> increment
  --- Answers the step between two numbers, 1 by default.
  --- > (1 to: 10 by: 4) by ⇒ 4
  ["by"] = function(self) return self._by end,
  ["increment"] = function(self) return self._by end,
  --- -<Number?> first
  --- -<Number?> firstObject
  --- Answers the first number; nil for an empty Interval.
  --- > (1 to: 5) first ⇒ 1
  ["first"] = first, ["firstObject"] = first,
  --- -<Number?> last
  --- -<Number?> lastObject
  --- Answers the last number that the steps reach; nil for an empty Interval. `to` is the end as given.
  --- > (1 to: 10 by: 4) last ⇒ 9
  ["last"] = last, ["lastObject"] = last,
  --- -<Number?> min
  --- Answers the least number; nil for an empty Interval.
  --- > (10 to: 1 by: -3) min ⇒ 1
  ["min"] = function(self) return self._by > 0 and first(self) or last(self) end,
  --- -<Number?> max
  --- Answers the greatest number that the steps reach; nil for an empty Interval.
  --- > (1 to: 10 by: 4) max ⇒ 9
  ["max"] = function(self) return self._by > 0 and last(self) or first(self) end,
  --- -<Number|BigInteger> sum
  --- Answers the sum of all numbers, 0 for none, by a formula and not element by element.
  --- > (1 to: 100) sum ⇒ 5050
  ["sum"] = function(self)
    if self._count == 0 then return 0 end
    return K.div(K.mul(K.add(first(self), last(self)), self._count), 2)
  end,
  --- As in Collection.
  ["indexOf:"] = indexOf,
  --- As in Collection.
  ["indexOfObject:"] = indexOf,
  --- -<Boolean> includes:<any>number
  --- Answers whether the steps reach the number. A number between two steps is not included.
  --- > (1 to: 10 by: 4) includes: 5 ⇒ true
  ["includes:"] = function(self, value) return indexOf(self, value) ~= nil end,
  --- -<Boolean> contains:<Number|Block(each)|String>number
  --- Answers whether the steps reach the number; for a condition, whether it is true for at least one number.
  --- > (1 to: 3) contains: 2 ⇒ true
  ["contains:"] = function(self, value)
    if type(value) == "number" then return indexOf(self, value) ~= nil end
    return self:anySatisfy_(value)
  end,
  --- -<Interval> reversed
  --- -<Interval> reverse
  --- Answers an Interval of the same numbers, the last one first.
  --- > (1 to: 3) reversed asArray ⇒ [3, 2, 1]
  ["reversed"] = reversed, ["reverse"] = reversed,
  --- -<Interval> by:<Number>step
  --- Answers an Interval with the same bounds and another step. A step of 0 is an `outOfRange` error.
  --- > ((1 to: 10) by: 4) asArray ⇒ [1, 5, 9]
  ["by:"] = function(self, step) return K.interval(self._from, self._to, step) end,
  --- -<Number?> random
  --- Answers one of the numbers at random; for bounds with a fraction any number between them. Nil for an empty
  --- Interval.
  --- > (1 to: 6) includes: (1 to: 6) random ⇒ true
  ["random"] = function(self)
    if self._count == 0 then return nil end
    if self._from ~= floor(self._from) or self._to ~= floor(self._to) then
      return self._from + math.random() * (self._to - self._from)
    end
    return self._from + math.random(0, self._count - 1) * self._by
  end,
  --- -<Interval> + <Number>distance
  --- -<Interval> add:<Number>distance
  --- -<Interval> shift:<Number>distance
  --- Answers an Interval whose bounds are greater by the distance.
  --- > (1 to: 3) + 10 ⇒ (11 to: 13)
  ["add:"] = shifted, ["shift:"] = shifted,
  --- -<Interval> * <Number>factor
  --- -<Interval> mul:<Number>factor
  --- -<Interval> scale:<Number>factor
  --- Answers an Interval whose bounds and step are multiplied. A factor of 0 is an `outOfRange` error.
  --- > ((1 to: 3) * 10) asArray ⇒ [10, 20, 30]
  ["mul:"] = scaled, ["scale:"] = scaled,
  --- -<Interval> - <Number>distance
  --- -<Interval> sub:<Number>distance
  --- Answers an Interval whose bounds are less by the distance.
  --- > (11 to: 13) - 10 ⇒ (1 to: 3)
  ["sub:"] = function(self, by) return shifted(self, -K.expectNumber(by, "sub:")) end,
  ["location"] = function(self) return self._from end,
  ["length"] = function(self) return self._count end,
  --- -<Interval> copy
  --- Answers the Interval itself, because it does not change.
  --- > (1 to: 3) copy ⇒ (1 to: 3)
  ["copy"] = function(self) return self end,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Answers whether the other object is an Interval of the same numbers; all empty ones are equal. An Array is not
  --- equal.
  --- > (1 to: 10 by: 4) = (1 to: 9 by: 4) ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isInterval == true and self._count == other._count
      and (self._count == 0 or self._from == other._from and (self._count == 1
        or self._by == other._by))
  end,
  --- -<String> description
  --- Answers the expression that makes the Interval.
  --- > (10 to: 1 by: -3) description ⇒ '(10 to: 1 by: -3)'
  ["description"] = function(self)
    local text = "(" .. K.str(self._from) .. " to: " .. K.str(self._to)
    if self._by ~= 1 then text = text .. " by: " .. K.str(self._by) end
    return text .. ")"
  end,
})
K.method(Interval, "_keyText", function(self)
  return "i" .. K.str(self._from) .. "," .. K.str(self._count) .. "," .. K.str(self._by)
end)
K.classMethods(Interval, {
  --- +<Interval> new
  --- +<Interval> alloc
  --- An empty Interval.
  --- > Interval new isEmpty ⇒ true
  ["new"] = function() return K.interval(1, 0, 1) end, ["alloc"] = function() return K.interval(1, 0, 1) end,
  --- +<Interval> from:<Number>first to:<Number>last
  --- +<Interval> intervalFrom:<Number>first to:<Number>last
  --- Answers the Interval of the numbers from one to another in steps of 1, as `to:` does.
  --- > Interval from: 1 to: 3 ⇒ (1 to: 3)
  ["from:to:"] = function(_, from, to) return K.interval(from, to, 1) end,
  ["intervalFrom:to:"] = function(_, from, to) return K.interval(from, to, 1) end,
  --- +<Interval> from:<Number>first to:<Number>last by:<Number>step
  --- Answers the Interval of the numbers from one to another in steps, as `to:by:` does.
  --- > Interval from: 1 to: 9 by: 4 ⇒ (1 to: 9 by: 4)
  ["from:to:by:"] = function(_, from, to, by) return K.interval(from, to, by) end,
})

K.methods(K.classes.Number, {
  --- -<Interval> to:<Number>last
  --- Answers the Interval of the numbers from this one to another in steps of 1; empty when the other is less.
  --- > (1 to: 3) asArray ⇒ [1, 2, 3]
  ["to:"] = function(self, last) return K.interval(self, last, 1) end,
  --- -<Interval> to:<Number>last by:<Number>step
  --- Answers the Interval of the numbers from this one to another in steps, which may be negative. A step of 0 is an
  --- `outOfRange` error.
  --- > (10 to: 1 by: -3) asArray ⇒ [10, 7, 4, 1]
  ["to:by:"] = function(self, last, step) return K.interval(self, last, step) end,
})

-- Where a part of a text stands, as an Interval of positions, or nil.
local String = K.classes.String
K.methods(String, {
  --- -<Interval?> rangeOfString:<String>part
  --- Answers the positions at which the part first occurs, as an Interval; nil when it does not occur.
  --- > 'hello' rangeOfString: 'll' ⇒ (2 to: 3)
  ["rangeOfString:"] = function(text, part)
    part = K.expectText(part, "rangeOfString:")
    local at = String._methods.indexOf_(text, part)
    return at and K.interval(at, at + K.length(part) - 1, 1)
  end,
})
