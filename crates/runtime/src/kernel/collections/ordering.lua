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

-- Sorts by several keys, the first one first: each a block, a name, or `'-name'` for descending.
local function sortByKeys(list, n, names)
  local columns, signs, m = {}, {}, #names
  for i = 1, m do
    local name = names[i]
    local descending = type(name) == "string" and string.byte(name) == 45
    if descending then name = string.sub(name, 2) end
    local key, column = asBlock(name, "sorted:"), {}
    for j = 1, n do
      local value = list[j]
      if value == NULL then value = nil end
      column[j] = key(value)
    end
    columns[i], signs[i] = column, descending and -1 or 1
  end
  local positions, out = {}, {}
  for i = 1, n do positions[i] = i end
  sort(positions, n, function(a, b)
    for i = 1, m do
      local way = order(columns[i][a], columns[i][b]) * signs[i]
      if way ~= 0 then return way < 0 end
    end
    return false
  end)
  for i = 1, n do out[i] = list[positions[i]] end
  for i = 1, n do list[i] = out[i] end
  return list
end

-- Sorts a Lua table in place: by natural order, a block of two, a key block, a property's name
-- (`'-name'` for descending), or an array of keys.
local function sortTable(list, by)
  local n = #list
  if type(by) == "table" and by._isArray then return sortByKeys(list, n, by) end
  if by == nil then return sort(list, n, natural) end
  if type(by) == "string" and string.byte(by) == 45 then return sortByKeys(list, n, { by }) end
  if type(by) == "function" and K.blockArity(by) ~= 1 then
    return sort(list, n, beforeBlock(by))
  end
  return sortByKey(list, n, asBlock(by, "sorted:"))
end

local function sorted(self, by)
  return K.array(sortTable(self:asArray(), by))
end

-- A stable sort of the reversed list, reversed: equal elements keep their order.
local function sortedDescending(self, key)
  local list = self:asArray():reversed()
  return K.array(sortByKey(list, #list, asBlock(key, "sortedDescending:"))):reversed()
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
--- Array -<any> key
--- Answers the key of an Array that `groupBy:` made: what its elements have in common. Other Arrays are an `invalid`
--- error.
--- > [1, 2, 3] groupBy: { :n | n odd } | values first key ⇒ true
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
  local list, out = self:_elements(), {}
  local others = type(other) == "string" and other:_elements() or elementsOf(other, "zip:")
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
    if K.classOf(pair) == K.classes.Association then
      dictionary:at_put_(K.orNull(pair.i_key), pair.i_value)
    elseif type(pair) == "table" and pair._isArray and #pair == 2 then
      dictionary:at_put_(pair[1], pair[2])
    else
      if pair == NULL then pair = nil end
      throw("typeError", "asDictionary expects pairs, got " .. K.nameOf(pair))
    end
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
  --- -<Array> sorted
  --- -<Array> asSortedArray
  --- Answers a new Array in natural order: nil first, numbers and texts by value, objects by their `<` or `compare:`.
  --- The sort is stable; texts beside numbers are an error.
  --- > [3, 1, 2] sorted ⇒ [1, 2, 3]
  ["sorted"] = sorted, ["asSortedArray"] = sorted,
  --- -<Array> sorted:<Block(each)|Block(a, b)|String|Array>order
  --- -<Array> sortedBy:<Block(each)|Block(a, b)|String|Array>order
  --- -<Array> sortBy:<Block(each)|Block(a, b)|String|Array>order
  --- Answers a new Array sorted by a key block, a property's name (`'-name'` descends), an Array of such keys, or a
  --- block of two elements that answers whether the first comes first, or a negative Number. The sort is stable.
  --- > ['ccc', 'a', 'bb'] sorted: { :text | text count } ⇒ ['a', 'bb', 'ccc']
  --- > [1, 3, 2] sorted: { :a :b | a > b } ⇒ [3, 2, 1]
  --- > [#{ n: 1 }, #{ n: 2 }] sorted: ['-n', { :each | each at: 'name' }] ⇒ [#{ n: 2 }, #{ n: 1 }]
  ["sorted:"] = sorted, ["sortedBy:"] = sorted, ["sortBy:"] = sorted,
  --- -<Array> sortedDescending
  --- Answers a new Array in natural order, the greatest first. Equal elements keep their order.
  --- > [1, 3, 2] sortedDescending ⇒ [3, 2, 1]
  ["sortedDescending"] = function(self) return sortedDescending(self, function(value) return value end) end,
  --- -<Array> sortedDescending:<Block(each)|String>key
  --- Answers a new Array sorted by a key, the greatest first. Elements with equal keys keep their order.
  --- > ['a', 'ccc', 'bb'] sortedDescending: 'count' ⇒ ['ccc', 'bb', 'a']
  ["sortedDescending:"] = sortedDescending,
  --- -<Array> sortedArrayUsingSelector:<String>selector
  --- Answers a new Array sorted by a message with one argument that answers whether the receiver comes first, or a
  --- Number.
  --- > ['b', 'a'] sortedArrayUsingSelector: 'compare:' ⇒ ['a', 'b']
  ["sortedArrayUsingSelector:"] = function(self, selector)
    local name = K.mangle(K.expectText(selector, "sortedArrayUsingSelector:"))
    return sorted(self, function(a, b) return a[name](a, b) end)
  end,
  --- -<Dictionary> groupBy:<Block(each)|String>key
  --- -<Dictionary> groupedBy:<Block(each)|String>key
  --- Answers a Dictionary from each key to an Array of the elements with that key, in the order in which the keys
  --- occur.
  --- > ['ant', 'bee', 'asp'] groupBy: { :word | word first } ⇒ #{ a: ['ant', 'asp'], b: ['bee'] }
  ["groupBy:"] = groupBy, ["groupedBy:"] = groupBy,
  --- -<Dictionary> tally
  --- -<Dictionary> occurrences
  --- Answers a Dictionary from each different element to the number of its occurrences.
  --- > ['x', 'y', 'x'] tally ⇒ #{ x: 2, y: 1 }
  ["tally"] = tally, ["occurrences"] = tally,
  --- -<Number> occurrencesOf:<any>element
  --- Answers how many elements equal the given one; a block counts as a condition, as in `countOf:`.
  --- > ['x', 'y', 'x'] occurrencesOf: 'x' ⇒ 2
  ["occurrencesOf:"] = function(self, wanted) return self:countOf_(wanted) end,
  --- -<Array> uniq
  --- -<Array> unique
  --- -<Array> withoutDuplicates
  --- Answers an Array of the different elements, each where it first occurs. `asSet` answers a Set.
  --- > [2, 1, 2] uniq ⇒ [2, 1]
  ["uniq"] = uniq, ["unique"] = uniq, ["withoutDuplicates"] = uniq,
  --- -<Array> uniq:<Block(each)|String>key
  --- Answers an Array of the first element for each different key. `distinct:` answers the keys.
  --- > ['ant', 'asp', 'bee'] uniq: { :word | word first } ⇒ ['ant', 'bee']
  ["uniq:"] = uniq,
  --- -<Array> distinct:<Block(each)|String>block
  --- Answers an Array of the block's different values, each where it first occurs. `uniq:` answers the elements.
  --- > ['ant', 'asp', 'bee'] distinct: { :word | word first } ⇒ ['a', 'b']
  ["distinct:"] = function(self, block) return uniq(self:collect_(block)) end,
  --- -<Array> flatten
  --- Answers an Array with the elements of inner collections in their place, at any depth up to 128; deeper is a
  --- `tooLarge` error. Dictionaries inside stay whole.
  --- > [1, [2, [3]]] flatten ⇒ [1, 2, 3]
  ["flatten"] = function(self)
    local out = {}
    flattenInto(out, self:_elements(), 1)
    return K.array(out)
  end,
  --- -<Array> flatCollect:<Block(each)|String>block
  --- Answers an Array of the block's values, with the elements of those that are collections in their place; one level
  --- deep.
  --- > [1, 2] flatCollect: { :n | [n, n * 10] } ⇒ [1, 10, 2, 20]
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
  --- -<Array> zip:<Collection|String>others
  --- Answers an Array of pairs, each an Array of the elements of both at a position. The shorter collection ends it.
  --- > [1, 2, 3] zip: ['a', 'b'] ⇒ [[1, 'a'], [2, 'b']]
  ["zip:"] = function(self, other) return zip(self, other) end,
  --- -<Array> with:<Collection>others collect:<Block(each, other)>block
  --- -<Array> zip:<Collection>others collect:<Block(each, other)>block
  --- Answers an Array of the block's values for the elements of both at each position. The shorter collection ends it.
  --- > [1, 2] with: [10, 20] collect: { :a :b | a + b } ⇒ [11, 22]
  ["with:collect:"] = zip, ["zip:collect:"] = zip,
  --- -<nothing> with:<Collection>others do:<Block(each, other)>block
  --- Evaluates the block for the elements of both at each position. The shorter collection ends it.
  --- > list := []. [1, 2] with: [10, 20] do: { :a :b | list add: a + b }. list ⇒ [11, 22]
  ["with:do:"] = function(self, other, block) zip(self, other, block) end,
  --- -<Array> inGroupsOf:<Number>count
  --- Answers an Array of Arrays of `count` elements each; the last one may be shorter. A count below 1 is an
  --- `outOfRange` error.
  --- > [1, 2, 3, 4, 5] inGroupsOf: 2 ⇒ [[1, 2], [3, 4], [5]]
  ["inGroupsOf:"] = inGroupsOf,
  --- -<Dictionary> asDictionary
  --- Answers a Dictionary of the elements, each an Association or an Array of key and value. Others are a `typeError`.
  --- > [['anna', 31], ['ben', 29]] asDictionary ⇒ #{ anna: 31, ben: 29 }
  --- > #{ anna: 31 } associations asDictionary ⇒ #{ anna: 31 }
  ["asDictionary"] = asDictionary,
  --- -<Array> without:<any>element
  --- -<Array> copyWithout:<any>element
  --- Answers an Array of the elements that do not equal the given one. `remove:` changes the receiver.
  --- > [1, 2, 1, 3] without: 1 ⇒ [2, 3]
  ["without:"] = without, ["copyWithout:"] = without,
  --- -<Array> withoutAll:<Collection>unwanted
  --- -<Array> difference:<Collection>unwanted
  --- Answers an Array of the elements that equal none of the given ones; repetitions stay.
  --- > [1, 2, 3, 2] withoutAll: [1, 3] ⇒ [2, 2]
  ["withoutAll:"] = withoutAll, ["difference:"] = withoutAll,
  --- -<Array> intersection:<Collection>others
  --- Answers an Array of the elements that equal one of the given ones; repetitions stay.
  --- > [1, 2, 3] intersection: [2, 3, 4] ⇒ [2, 3]
  ["intersection:"] = function(self, other)
    local kept, list = {}, elementsOf(other, "intersection:")
    for i = 1, #list do kept[K.key(list[i])] = true end
    local out, mine = {}, self:_elements()
    for i = 1, #mine do
      if kept[K.key(mine[i])] then out[#out + 1] = mine[i] end
    end
    return K.array(out)
  end,
  --- -<Array> union:<Collection>others
  --- Answers an Array of the different elements of both collections, without repetitions. `+` keeps them.
  --- > [1, 2] union: [2, 3] ⇒ [1, 2, 3]
  ["union:"] = function(self, other) return uniq(together(self, other)) end,
  --- -<Array> arrayByAddingObjectsFromArray:<Collection>others
  --- -<Array> addedAll:<Collection>others
  --- -<Array> withAll:<Collection>others
  --- Answers a new Array of the elements of both collections, as `+` of an Array does. `addAll:` changes the receiver.
  --- > (1 to: 2) addedAll: [3, 4] ⇒ [1, 2, 3, 4]
  ["arrayByAddingObjectsFromArray:"] = together, ["addedAll:"] = together,
  ["withAll:"] = together,
})
