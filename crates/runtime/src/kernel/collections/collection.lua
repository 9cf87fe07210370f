-- Collections: the messages that arrays, dictionaries, sets, intervals and enumerators share. Each
-- kind answers its elements as a Lua table with `_elements`; most messages need nothing else.
local K = ...
local type = type
local throw, truth, asBlock, add, lt, gt, eq = K.throw, K.truth, K.asBlock, K.add, K.lt, K.gt, K.eq
local expectBlock, NULL = K.expectBlock, K.NULL

local Collection = K.classes.Collection
K.method(Collection, "_isCollection", true)

-- Whether a block's answer says yes.
local function yes(answer)
  return answer == true or answer ~= false and answer ~= nil and truth(answer)
end
K.yes = yes

-- Enumerating -----------------------------------------------------------------------------------

local function each(self, block)
  if type(block) ~= "function" then block = asBlock(block, "do:") end
  local list = self:_elements()
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    block(value)
  end
end

local function eachWithIndex(self, block)
  expectBlock(block, "doWithIndex:")
  local list = self:_elements()
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    block(value, i - 1)
  end
end

local function eachSeparated(self, block, separator)
  expectBlock(block, "do:separatedBy:")
  expectBlock(separator, "do:separatedBy:")
  local list = self:_elements()
  for i = 1, #list do
    if i > 1 then separator() end
    local value = list[i]
    if value == NULL then value = nil end
    block(value)
  end
end

local function collect(self, block)
  if type(block) ~= "function" then block = asBlock(block, "collect:") end
  local list, out = self:_elements(), {}
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    value = block(value)
    if value == nil then value = NULL end
    out[i] = value
  end
  return K.array(out)
end

local function collectWithIndex(self, block)
  expectBlock(block, "collectWithIndex:")
  local list, out = self:_elements(), {}
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    value = block(value, i - 1)
    if value == nil then value = NULL end
    out[i] = value
  end
  return K.array(out)
end

-- The elements for which the block answers `wanted`, as a Lua table.
local function filtered(self, block, wanted)
  if type(block) ~= "function" then block = asBlock(block, wanted and "select:" or "reject:") end
  local list, out, n = self:_elements(), {}, 0
  for i = 1, #list do
    local element = list[i]
    local value = element
    if value == NULL then value = nil end
    local answer = block(value)
    if (answer == true or answer ~= false and yes(answer) or false) == wanted then
      n = n + 1
      out[n] = element
    end
  end
  return out
end
K.filtered = filtered

local function detect(self, block)
  if type(block) ~= "function" then block = asBlock(block, "detect:") end
  local list = self:_elements()
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    if yes(block(value)) then return value, true end
  end
  return nil, false
end

local function inject(self, start, block)
  expectBlock(block, "inject:into:")
  local list, result = self:_elements(), start
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    result = block(result, value)
  end
  return result
end

-- Without a start value the first element is it; nil for no elements.
local function reduce(self, block)
  expectBlock(block, "reduce:")
  local list = self:_elements()
  local result = list[1]
  if result == NULL then result = nil end
  for i = 2, #list do
    local value = list[i]
    if value == NULL then value = nil end
    result = block(result, value)
  end
  return result
end

local function countOf(self, block)
  return #filtered(self, block, true)
end

local function anySatisfy(self, block)
  local _, found = detect(self, block)
  return found
end

local function allSatisfy(self, block)
  if type(block) ~= "function" then block = asBlock(block, "allSatisfy:") end
  local list = self:_elements()
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    if not yes(block(value)) then return false end
  end
  return true
end

-- Asking ----------------------------------------------------------------------------------------

local function indexOf(self, wanted)
  local list = self:_elements()
  if wanted == nil then wanted = NULL end
  if type(wanted) ~= "table" then
    for i = 1, #list do
      if list[i] == wanted then return i - 1 end
    end
  end
  for i = 1, #list do
    local value = list[i]
    if type(value) == "table" and eq(value, wanted) or type(wanted) == "table" and eq(wanted,
      value) then
      return i - 1
    end
  end
  return nil
end

local function includes(self, wanted) return self:indexOf_(wanted) ~= nil end

local function itsCount(self) return #self:_elements() end

local function first(self)
  local value = self:_elements()[1]
  if value == NULL then return nil end
  return value
end

local function last(self)
  local list = self:_elements()
  local value = list[#list]
  if value == NULL then return nil end
  return value
end

local function part(list, from, to)
  local out = {}
  for i = from, to do out[i - from + 1] = list[i] end
  return K.array(out)
end

local function countArgument(n, selector)
  n = K.expectInteger(n, selector)
  if n < 0 then throw("outOfRange", selector .. " expects a count from 0 on, got " .. K.str(n)) end
  return n
end

local function firstN(self, n)
  local list = self:_elements()
  return part(list, 1, math.min(#list, countArgument(n, "first:")))
end

local function lastN(self, n)
  local list = self:_elements()
  return part(list, math.max(1, #list - countArgument(n, "last:") + 1), #list)
end

local function allButFirst(self, n)
  local list = self:_elements()
  return part(list, countArgument(n or 1, "allButFirst:") + 1, #list)
end

local function allButLast(self, n)
  local list = self:_elements()
  return part(list, 1, #list - countArgument(n or 1, "allButLast:"))
end

-- The element that is most so: `better(a, b)` says that a beats b, compared by key when given.
local function extreme(better, selector)
  return function(self, key)
    local list = self:_elements()
    if key and type(key) ~= "function" then key = asBlock(key, selector) end
    local best, bestKey
    for i = 1, #list do
      local value = list[i]
      if value ~= NULL then
        local itsKey = value
        if key then itsKey = key(value) end
        if itsKey ~= nil and (bestKey == nil or better(itsKey, bestKey)) then
          best, bestKey = value, itsKey
        end
      end
    end
    return best
  end
end

local function sum(self, key)
  local list, total = self:_elements(), 0
  if key and type(key) ~= "function" then key = asBlock(key, "sum:") end
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    if key then value = key(value) end
    -- The first value may be a Point or a Duration, which cannot be added to 0.
    if i == 1 and type(value) == "table" then total = value else total = add(total, value) end
  end
  return total
end

local function average(self, key)
  local n = #self:_elements()
  if n == 0 then return nil end
  return K.div(sum(self, key), n)
end

local function join(self, separator)
  local list, texts = self:_elements(), {}
  separator = separator == nil and "" or K.str(separator)
  for i = 1, #list do
    local value = list[i]
    if type(value) ~= "string" then value = K.str(value) end
    texts[i] = value
  end
  return K.joinTexts(texts, #list, separator)
end

-- New collections -------------------------------------------------------------------------------

local function asArray(self)
  local list = self:_elements()
  return part(list, 1, #list)
end

local function reversed(self)
  local list, out = self:_elements(), {}
  local n = #list
  for i = 1, n do out[i] = list[n + 1 - i] end
  return K.array(out)
end

local function randomElement(self)
  local list = self:_elements()
  if #list == 0 then return nil end
  local value = list[math.random(#list)]
  if value == NULL then return nil end
  return value
end

K.methods(Collection, {
  ["do:"] = each,
  ["doWithIndex:"] = eachWithIndex, ["withIndexDo:"] = eachWithIndex,
  ["do:separatedBy:"] = eachSeparated,
  ["keysAndValuesDo:"] = function(self, block)
    expectBlock(block, "keysAndValuesDo:")
    eachWithIndex(self, function(value, index) block(index, value) end)
  end,
  ["reverseDo:"] = function(self, block) each(reversed(self), block) end,
  ["collect:"] = collect, ["map:"] = collect,
  ["collectWithIndex:"] = collectWithIndex, ["withIndexCollect:"] = collectWithIndex,
  ["select:"] = function(self, block) return K.array(filtered(self, block, true)) end,
  ["filter:"] = function(self, block) return K.array(filtered(self, block, true)) end,
  ["reject:"] = function(self, block) return K.array(filtered(self, block, false)) end,
  ["detect:"] = function(self, block) return (detect(self, block)) end,
  ["detect:ifNone:"] = function(self, block, none)
    local value, found = detect(self, block)
    if found then return value end
    return K.valueOf(none)
  end,
  ["inject:into:"] = inject,
  ["reduce:"] = reduce,
  ["partition:"] = function(self, block)
    return K.array { K.array(filtered(self, block, true)), K.array(filtered(self, block, false)) }
  end,
  ["anySatisfy:"] = anySatisfy, ["contains:"] = anySatisfy,
  ["allSatisfy:"] = allSatisfy, ["conform:"] = allSatisfy,
  ["noneSatisfy:"] = function(self, block) return not anySatisfy(self, block) end,
  ["countOf:"] = function(self, wanted)
    if type(wanted) == "function" then return countOf(self, wanted) end
    return countOf(self, function(element) return eq(element, wanted) end)
  end,
  ["count:"] = countOf,
  ["indexOf:"] = indexOf, ["indexOfObject:"] = indexOf,
  ["includes:"] = includes, ["containsObject:"] = includes,
  ["count"] = itsCount,
  ["size"] = function(self) return self:count() end,
  ["length"] = function(self) return self:count() end,
  ["isEmpty"] = function(self) return self:count() == 0 end,
  ["notEmpty"] = function(self) return self:count() ~= 0 end,
  ["isNotEmpty"] = function(self) return self:count() ~= 0 end,
  ["ifEmpty:"] = function(self, block)
    if self:count() == 0 then return K.valueOf(block) end
    return self
  end,
  ["ifNotEmpty:"] = function(self, block)
    if self:count() ~= 0 then return K.valueOf(block, self) end
    return nil
  end,
  ["first"] = first, ["firstObject"] = first,
  ["last"] = last, ["lastObject"] = last,
  ["first:"] = firstN, ["last:"] = lastN,
  ["allButFirst"] = allButFirst, ["allButFirst:"] = allButFirst,
  ["allButLast"] = allButLast, ["allButLast:"] = allButLast,
  ["max"] = extreme(gt, "max"), ["max:"] = extreme(gt, "max:"),
  ["min"] = extreme(lt, "min"), ["min:"] = extreme(lt, "min:"),
  ["sum"] = sum, ["sum:"] = sum,
  ["average"] = average, ["average:"] = average,
  ["join"] = join, ["join:"] = join, ["componentsJoinedByString:"] = join,
  ["asArray"] = asArray, ["allObjects"] = asArray,
  ["mutableCopy"] = function(self) return K.mutableArray(asArray(self)) end,
  ["asMutableArray"] = function(self) return K.mutableArray(asArray(self)) end,
  ["reversed"] = reversed, ["reverse"] = reversed,
  ["random"] = randomElement, ["randomElement"] = randomElement, ["atRandom"] = randomElement,
  ["isCollection"] = function() return true end,
  ["copy"] = asArray,
  ["description"] = function(self) return K.str(self) end,
})
