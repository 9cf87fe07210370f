-- Collections: sorting, grouping, taking together and apart.
local K = ...
local type = type
local asBlock, eq = K.asBlock, K.eq
local throw, yes, order = K.throw, K.yes, K.order
local NULL, elementsOf = K.NULL, K.elementsOf
local Collection = K.classes.Collection

-- Order -----------------------------------------------------------------------------------------

local function natural(a, b)
  if type(a) == "number" and type(b) == "number" then return a < b end
  return order(a, b) < 0
end

-- Runs of this length are sorted by insertion before they are merged.
local RUN, PLAIN_RUN = 8, 16

-- Sorts a Lua table of n elements in place, stable (merge sort, bottom up). `before(a, b)` may be
-- `<` or `<=`. Written in Lua because a comparison may suspend the fiber, which `table.sort`
-- forbids.
local function sort(list, n, before)
  for from = 1, n, RUN do
    local to = from + RUN - 1
    if to > n then to = n end
    for i = from + 1, to do
      local value, j = list[i], i - 1
      while j >= from and not before(list[j], value) and before(value, list[j]) do
        list[j + 1] = list[j]
        j = j - 1
      end
      list[j + 1] = value
    end
  end
  local source, target, width = list, {}, RUN
  while width < n do
    for from = 1, n, width * 2 do
      local left, middle = from, from + width
      local right, to = middle, from + width * 2
      if middle > n + 1 then middle = n + 1 end
      if to > n + 1 then to = n + 1 end
      for at = from, to - 1 do
        local takeLeft
        if left >= middle then
          takeLeft = false
        elseif right >= to then
          takeLeft = true
        else
          local a, b = source[left], source[right]
          takeLeft = before(a, b) or not before(b, a)
        end
        if takeLeft then
          target[at] = source[left]
          left = left + 1
        else
          target[at] = source[right]
          right = right + 1
        end
      end
    end
    source, target, width = target, source, width * 2
  end
  if source ~= list then
    for i = 1, n do list[i] = source[i] end
  end
  return list
end
K.sort = sort

-- What a sort block of two arguments says about the order of two elements: true and false, or a
-- number below 0 when the first comes first.
local function beforeBlock(block)
  return function(a, b)
    if a == NULL then a = nil end
    if b == NULL then b = nil end
    local answer = block(a, b)
    if type(answer) == "number" then return answer < 0 end
    return yes(answer)
  end
end

-- Whether all keys are numbers, or all are texts of the engine: `<` orders them, without a call.
local function isPlain(keys, n)
  local kind = type(keys[1])
  if kind ~= "number" and kind ~= "string" then return false end
  for i = 2, n do
    if type(keys[i]) ~= kind then return false end
  end
  return true
end

-- Sorts plain keys and the elements beside them, like `sort`. Comparing them costs less than a table more.
local function sortPlain(keys, list, n)
  for from = 1, n, PLAIN_RUN do
    local to = from + PLAIN_RUN - 1
    if to > n then to = n end
    for i = from + 1, to do
      local key, value, j = keys[i], list[i], i - 1
      while j >= from and key < keys[j] do
        keys[j + 1], list[j + 1] = keys[j], list[j]
        j = j - 1
      end
      keys[j + 1], list[j + 1] = key, value
    end
  end
  if n <= PLAIN_RUN then return list end
  local source, values, target, placed, width = keys, list, {}, {}, PLAIN_RUN
  while width < n do
    for from = 1, n, width * 2 do
      local left, middle = from, from + width
      local right, to = middle, from + width * 2
      if middle > n + 1 then middle = n + 1 end
      if to > n + 1 then to = n + 1 end
      for at = from, to - 1 do
        if right >= to or left < middle and not (source[right] < source[left]) then
          target[at], placed[at] = source[left], values[left]
          left = left + 1
        else
          target[at], placed[at] = source[right], values[right]
          right = right + 1
        end
      end
    end
    source, values, target, placed, width = target, placed, source, values, width * 2
  end
  if values ~= list then
    for i = 1, n do list[i] = values[i] end
  end
  return list
end

-- Sorts by a key, computed once for each element.
local function sortByKey(list, n, key)
  local keys = {}
  for i = 1, n do
    local value = list[i]
    if value == NULL then value = nil end
    value = key(value)
    if value == nil then value = NULL end
    keys[i] = value
  end
  if isPlain(keys, n) then return sortPlain(keys, list, n) end
  local positions = {}
  for i = 1, n do positions[i] = i end
  sort(positions, n, function(a, b) return natural(keys[a], keys[b]) end)
  local out = {}
  for i = 1, n do out[i] = list[positions[i]] end
  for i = 1, n do list[i] = out[i] end
  return list
end

-- Sorts by several properties, the first one first: each a name, or `'-name'` for descending.
local function sortByNames(list, n, names)
  local keys = {}
  for i = 1, #names do
    local name = K.expectText(names[i], "sorted:")
    local descending = string.byte(name) == 45
    keys[i] = { descending and string.sub(name, 2) or name, descending and -1 or 1 }
  end
  return sort(list, n, function(a, b)
    for i = 1, #keys do
      local name, sign = keys[i][1], keys[i][2]
      local way = order(K.property(a, name), K.property(b, name)) * sign
      if way ~= 0 then return way < 0 end
    end
    return false
  end)
end

-- Sorts a Lua table in place: by natural order, a block of two, a key block, a property's name
-- (`'-name'` for descending), or an array of names.
local function sortTable(list, by)
  local n = #list
  if type(by) == "table" and by._isArray then return sortByNames(list, n, by) end
  if by == nil then return sort(list, n, natural) end
  if type(by) == "string" and string.byte(by) == 45 then return sortByNames(list, n, { by }) end
  if type(by) == "function" and K.blockArity(by) ~= 1 then
    return sort(list, n, beforeBlock(by))
  end
  return sortByKey(list, n, asBlock(by, "sorted:"))
end

local function sorted(self, by)
  return K.array(sortTable(self:asArray(), by))
end

local function sortInPlace(self, by)
  sortTable(self, by)
  return self
end
K.sortInPlace = sortInPlace

-- Grouping --------------------------------------------------------------------------------------

local function groupBy(self, block)
  block = asBlock(block, "groupBy:")
  local groups = K.newDictionary()
  local list = self:_elements()
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    local key = block(value)
    if key == nil then key = NULL end
    local group = groups:at_(key)
    if group == nil then
      group = K.array {}
      group._groupKey = key
      groups:at_put_(key, group)
    end
    group[#group + 1] = list[i]
  end
  return groups
end

-- The key that the elements of a group have in common.
K.nilKeys._groupKey = true
K.method(K.classes.Array, "key", function(self)
  local key = self._groupKey
  if key == nil then K.throw("invalid", "only a group that groupBy: made has a key") end
  if key == NULL then return nil end
  return key
end)

-- How often each element occurs, as a dictionary.
local function tally(self)
  local counts = K.newDictionary()
  local list = self:_elements()
  for i = 1, #list do
    local value = list[i]
    counts:at_put_(value, (counts:at_(value) or 0) + 1)
  end
  return counts
end

-- The elements without repetitions, in the order in which they first occur.
local function uniq(self, block)
  local seen, out, n = {}, {}, 0
  if block ~= nil then block = asBlock(block, "uniq:") end
  local list = self:_elements()
  for i = 1, #list do
    local value = list[i]
    local key = value
    if block then
      if value == NULL then key = block(nil) else key = block(value) end
      if key == nil then key = NULL end
    end
    key = K.key(key)
    if not seen[key] then
      seen[key] = true
      n = n + 1
      out[n] = value
    end
  end
  return K.array(out)
end

-- Together and apart ----------------------------------------------------------------------------

local function flattenInto(out, list, depth)
  if depth > 128 then K.throw("tooLarge", "flatten goes 128 levels deep at most") end
  for i = 1, #list do
    local value = list[i]
    if type(value) == "table" and value._isCollection and not value._isDictionary then
      flattenInto(out, value:_elements(), depth + 1)
    else
      out[#out + 1] = value
    end
  end
end

local function zip(self, other, block)
  if block ~= nil then K.expectBlock(block, "with:collect:") end
  local list, others, out = self:_elements(), elementsOf(other, "zip:"), {}
  for i = 1, math.min(#list, #others) do
    local a, b = list[i], others[i]
    if block then
      if a == NULL then a = nil end
      if b == NULL then b = nil end
      local value = block(a, b)
      if value == nil then value = NULL end
      out[i] = value
    else
      out[i] = K.array { a, b }
    end
  end
  return K.array(out)
end

-- The elements in groups of n; the last one may be shorter.
local function inGroupsOf(self, n)
  n = K.expectInteger(n, "inGroupsOf:")
  if n < 1 then throw("outOfRange", "inGroupsOf: expects a count from 1 on, got " .. K.str(n)) end
  local list, groups = self:_elements(), {}
  for i = 1, #list do
    if (i - 1) % n == 0 then groups[#groups + 1] = K.array {} end
    local group = groups[#groups]
    group[#group + 1] = list[i]
  end
  return K.array(groups)
end

-- From an array of two-element arrays or associations.
local function asDictionary(self)
  local dictionary = K.newDictionary()
  local list = self:_elements()
  for i = 1, #list do
    local pair = list[i]
    if type(pair) ~= "table" or not pair._isArray or #pair ~= 2 then
      throw("typeError", "asDictionary expects pairs, got " .. K.nameOf(pair))
    end
    dictionary:at_put_(pair[1], pair[2])
  end
  return dictionary
end

local function without(self, unwanted)
  return K.array(K.filtered(self, function(element) return eq(element, unwanted) end, false))
end

local function withoutAll(self, unwanted)
  local gone, list = {}, elementsOf(unwanted, "withoutAll:")
  for i = 1, #list do gone[K.key(list[i])] = true end
  local out, mine = {}, self:_elements()
  for i = 1, #mine do
    if not gone[K.key(mine[i])] then out[#out + 1] = mine[i] end
  end
  return K.array(out)
end

local function together(self, other)
  local list, others, out = self:_elements(), elementsOf(other, "arrayByAddingObjectsFromArray:"),
    {}
  local n = #list
  for i = 1, n do out[i] = list[i] end
  for i = 1, #others do out[n + i] = others[i] end
  return K.array(out)
end

K.methods(Collection, {
  ["sorted"] = sorted, ["sorted:"] = sorted, ["asSortedArray"] = sorted,
  ["sortedBy:"] = sorted, ["sortBy:"] = sorted,
  ["sortedArrayUsingSelector:"] = function(self, selector)
    local name = K.mangle(K.expectText(selector, "sortedArrayUsingSelector:"))
    return sorted(self, function(a, b) return a[name](a, b) end)
  end,
  ["groupBy:"] = groupBy, ["groupedBy:"] = groupBy,
  ["tally"] = tally, ["occurrences"] = tally,
  ["occurrencesOf:"] = function(self, wanted) return self:countOf_(wanted) end,
  ["uniq"] = uniq, ["uniq:"] = uniq, ["unique"] = uniq,
  ["distinct:"] = function(self, block) return uniq(self:collect_(block)) end,
  ["withoutDuplicates"] = uniq,
  ["flatten"] = function(self)
    local out = {}
    flattenInto(out, self:_elements(), 1)
    return K.array(out)
  end,
  ["flatCollect:"] = function(self, block)
    local out, list = {}, self:collect_(block)
    for i = 1, #list do
      local value = list[i]
      if type(value) == "table" and value._isCollection then
        local inner = value:_elements()
        for j = 1, #inner do out[#out + 1] = inner[j] end
      else
        out[#out + 1] = value
      end
    end
    return K.array(out)
  end,
  ["zip:"] = function(self, other) return zip(self, other) end,
  ["with:collect:"] = zip, ["zip:collect:"] = zip,
  ["with:do:"] = function(self, other, block) zip(self, other, block) end,
  ["inGroupsOf:"] = inGroupsOf,
  ["asDictionary"] = asDictionary,
  ["without:"] = without, ["copyWithout:"] = without,
  ["withoutAll:"] = withoutAll, ["difference:"] = withoutAll,
  ["intersection:"] = function(self, other)
    local kept, list = {}, elementsOf(other, "intersection:")
    for i = 1, #list do kept[K.key(list[i])] = true end
    local out, mine = {}, self:_elements()
    for i = 1, #mine do
      if kept[K.key(mine[i])] then out[#out + 1] = mine[i] end
    end
    return K.array(out)
  end,
  ["union:"] = function(self, other) return uniq(together(self, other)) end,
  ["arrayByAddingObjectsFromArray:"] = together, ["addedAll:"] = together,
  ["withAll:"] = together,
})

-- Strings as collections of their characters ----------------------------------------------------

local String = K.classes.String
for _, selector in ipairs {
  "doWithIndex:", "withIndexDo:", "do:separatedBy:", "reverseDo:", "collect:", "map:",
  "collectWithIndex:", "withIndexCollect:", "detect:", "detect:ifNone:", "inject:into:", "reduce:",
  "anySatisfy:", "allSatisfy:", "noneSatisfy:", "countOf:", "count:", "uniq", "groupBy:",
  "groupedBy:", "tally", "occurrences", "occurrencesOf:", "inGroupsOf:", "sorted", "sorted:",
  "random", "randomElement", "zip:", "ifEmpty:", "ifNotEmpty:", "join:",
} do
  local name = K.mangle(selector)
  K.method(String, name, Collection._methods[name])
end

local function chosen(wanted)
  return function(self, block)
    local kept = K.filtered(self, block, wanted)
    return K.joinTexts(kept, #kept, "")
  end
end
K.methods(String, {
  ["select:"] = chosen(true), ["filter:"] = chosen(true), ["reject:"] = chosen(false),
})
