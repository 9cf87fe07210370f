-- Intervals: the numbers from one to another, both included, in steps.
local K = ...
local type, floor, setmetatable = type, math.floor, setmetatable
local throw = K.throw

local Interval = K.newClass("Interval", K.classes.Collection)
K.alias("NSInterval", Interval)
K.alias("MPWInterval", Interval)
K.method(Interval, "_isInterval", true)

-- The most elements that an interval is spread out into.
local MOST = 16777216

function K.interval(from, to, by)
  from, to, by = K.expectNumber(from, "to:"), K.expectNumber(to, "to:"), K.expectNumber(by,
    "to:by:")
  if by == 0 or by ~= by then throw("outOfRange", "to:by: needs a step other than 0") end
  local count = floor((to - from) / by + 1e-9) + 1
  if not (count > 0) then count = 0 end
  return setmetatable({ _from = from, _to = to, _by = by, _count = count }, Interval._methods)
end

K.method(Interval, "_elements", function(self)
  local from, by, out = self._from, self._by, {}
  if self._count > MOST then
    throw("tooLarge", "an Interval of " .. K.str(self._count)
      .. " elements is too long to spread out")
  end
  for i = 1, self._count do out[i] = from + (i - 1) * by end
  return out
end)

-- First and last as given: what a range argument means.
K.method(Interval, "_bounds", function(self) return self._from, self._to end)

local function at(self, index)
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

local function collect(self, block)
  if type(block) ~= "function" then block = K.asBlock(block, "collect:") end
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
  ["do:"] = each, ["collect:"] = collect, ["map:"] = collect, ["inject:into:"] = inject,
  ["at:"] = at, ["objectAtIndex:"] = at,
  ["count"] = function(self) return self._count end,
  ["from"] = function(self) return self._from end,
  ["to"] = function(self) return self._to end,
  ["by"] = function(self) return self._by end,
  ["increment"] = function(self) return self._by end,
  ["first"] = first, ["firstObject"] = first, ["last"] = last, ["lastObject"] = last,
  ["min"] = function(self) return self._by > 0 and first(self) or last(self) end,
  ["max"] = function(self) return self._by > 0 and last(self) or first(self) end,
  ["sum"] = function(self)
    if self._count == 0 then return 0 end
    return K.div(K.mul(K.add(first(self), last(self)), self._count), 2)
  end,
  ["indexOf:"] = indexOf, ["indexOfObject:"] = indexOf,
  ["includes:"] = function(self, value) return indexOf(self, value) ~= nil end,
  ["contains:"] = function(self, value)
    if type(value) == "number" then return indexOf(self, value) ~= nil end
    return self:anySatisfy_(value)
  end,
  ["reversed"] = reversed, ["reverse"] = reversed,
  ["by:"] = function(self, step) return K.interval(self._from, self._to, step) end,
  ["random"] = function(self)
    if self._count == 0 then return nil end
    if self._from ~= floor(self._from) or self._to ~= floor(self._to) then
      return self._from + math.random() * (self._to - self._from)
    end
    return self._from + math.random(0, self._count - 1) * self._by
  end,
  ["add:"] = shifted, ["shift:"] = shifted, ["mul:"] = scaled, ["scale:"] = scaled,
  ["sub:"] = function(self, by) return shifted(self, -K.expectNumber(by, "sub:")) end,
  ["location"] = function(self) return self._from end,
  ["length"] = function(self) return self._count end,
  ["copy"] = function(self) return self end,
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isInterval == true and self._count == other._count
      and (self._count == 0 or self._from == other._from and (self._count == 1
        or self._by == other._by))
  end,
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
  ["from:to:"] = function(_, from, to) return K.interval(from, to, 1) end,
  ["intervalFrom:to:"] = function(_, from, to) return K.interval(from, to, 1) end,
  ["from:to:by:"] = function(_, from, to, by) return K.interval(from, to, by) end,
})

K.methods(K.classes.Number, {
  ["to:"] = function(self, last) return K.interval(self, last, 1) end,
  ["to:by:"] = function(self, last, step) return K.interval(self, last, step) end,
})

-- Where a part of a text stands, as an Interval of positions, or nil.
local String = K.classes.String
K.methods(String, {
  ["rangeOfString:"] = function(text, part)
    local at = String._methods.indexOf_(text, part)
    return at and K.interval(at, at + K.length(part) - 1, 1)
  end,
})
