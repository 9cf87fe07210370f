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

-- The condition is evaluated once for each element.
local function partition(self, block)
  if type(block) ~= "function" then block = asBlock(block, "partition:") end
  local list, chosen, others = self:_elements(), {}, {}
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    local into = yes(block(value)) and chosen or others
    into[#into + 1] = list[i]
  end
  return K.array { K.array(chosen), K.array(others) }
end

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

K.partOf = part

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

-- `<` and `>`; of objects that have only `compare:`, that.
local function comparing(plain, name, sign)
  return function(a, b)
    if type(a) == "table" and not K.understands(a, name) and K.understands(a, "compare_") then
      return a:compare_(b) * sign > 0
    end
    return plain(a, b)
  end
end
local greater, less = comparing(gt, "isGreaterThan_", 1), comparing(lt, "isLessThan_", -1)

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

-- The sum of a Lua table of elements.
local function sumOf(list, key)
  local total, begun = 0, false
  if key and type(key) ~= "function" then key = asBlock(key, "sum:") end
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    if key then value = key(value) end
    -- The first value may be a Point or a Duration, which cannot be added to 0.
    if value ~= nil then
      if not begun and type(value) == "table" then total = value else total = add(total, value) end
      begun = true
    end
  end
  return total
end

local function sum(self, key) return sumOf(self:_elements(), key) end

local function average(self, key)
  local list = self:_elements()
  if #list == 0 then return nil end
  return K.div(sumOf(list, key), #list)
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
  --- -<nothing> do:<Block(each)|String>block
  --- Evaluates the block for each element in order; a text names a message to send. A Dictionary passes value and key.
  --- > sum := 0. [1, 2, 3] do: { :n | sum := sum + n }. sum ⇒ 6
  ["do:"] = each,
  --- -<nothing> doWithIndex:<Block(each, index)>block
  --- -<nothing> withIndexDo:<Block(each, index)>block
  --- Evaluates the block for each element and its position from 0. `keysAndValuesDo:` passes the position first.
  --- > lines := []. ['a', 'b'] doWithIndex: { :text :i | lines add: "{i} {text}" }. lines ⇒ ['0 a', '1 b']
  ["doWithIndex:"] = eachWithIndex, ["withIndexDo:"] = eachWithIndex,
  --- -<nothing> do:<Block(each)>block separatedBy:<Block()>separator
  --- Evaluates the first block for each element, and the second between two elements.
  --- > out := ByteStream new. [1, 2] do: { :n | out print: n } separatedBy: { out print: ';' }. out stringValue ⇒ '1;2'
  ["do:separatedBy:"] = eachSeparated,
  --- -<nothing> keysAndValuesDo:<Block(index, each)>block
  --- Evaluates the block for each position from 0 and its element. A Dictionary passes key and value.
  --- > lines := []. ['a'] keysAndValuesDo: { :i :text | lines add: "{i} {text}" }. lines ⇒ ['0 a']
  ["keysAndValuesDo:"] = function(self, block)
    expectBlock(block, "keysAndValuesDo:")
    eachWithIndex(self, function(value, index) block(index, value) end)
  end,
  --- -<nothing> reverseDo:<Block(each)|String>block
  --- Evaluates the block for each element, the last one first.
  --- > list := []. [1, 2] reverseDo: { :n | list add: n }. list ⇒ [2, 1]
  ["reverseDo:"] = function(self, block) each(reversed(self), block) end,
  --- -<Array> collect:<Block(each)|String>block
  --- -<Array> map:<Block(each)|String>block
  --- Answers an Array of the block's values for all elements; a text names a message to each element.
  --- > [1, 2, 3] collect: { :n | n * 2 } ⇒ [2, 4, 6]
  --- > ['a', 'b'] map: 'uppercase' ⇒ ['A', 'B']
  ["collect:"] = collect, ["map:"] = collect,
  --- -<Array> collectWithIndex:<Block(each, index)>block
  --- -<Array> withIndexCollect:<Block(each, index)>block
  --- Answers an Array of the block's values for each element and its position from 0.
  --- > ['a', 'b'] collectWithIndex: { :text :i | "{i} {text}" } ⇒ ['0 a', '1 b']
  ["collectWithIndex:"] = collectWithIndex, ["withIndexCollect:"] = collectWithIndex,
  --- -<Array> select:<Block(each)|String>condition
  --- -<Array> filter:<Block(each)|String>condition
  --- Answers the elements for which the condition is true: an Array; sets and dictionaries answer their own kind.
  --- The condition's value is a Boolean, a Number (0 is false) or nil (false); others are a `doesNotUnderstand` error.
  --- > [1, 2, 3, 4] select: { :n | n even } ⇒ [2, 4]
  ["select:"] = function(self, block) return K.array(filtered(self, block, true)) end,
  ["filter:"] = function(self, block) return K.array(filtered(self, block, true)) end,
  --- -<Array> reject:<Block(each)|String>condition
  --- Answers the elements for which the condition is false, the opposite of `select:`.
  --- > [1, 2, 3, 4] reject: { :n | n even } ⇒ [1, 3]
  ["reject:"] = function(self, block) return K.array(filtered(self, block, false)) end,
  --- -<any> detect:<Block(each)|String>condition
  --- Answers the first element for which the condition is true; nil when there is none.
  --- > [1, 4, 6] detect: { :n | n even } ⇒ 4
  ["detect:"] = function(self, block) return (detect(self, block)) end,
  --- -<any> detect:<Block(each)|String>condition ifNone:<any>alternative
  --- Answers the first element for which the condition is true, otherwise the alternative: a block's value, or the
  --- argument itself.
  --- > [1, 3] detect: { :n | n even } ifNone: { 0 } ⇒ 0
  ["detect:ifNone:"] = function(self, block, none)
    local value, found = detect(self, block)
    if found then return value end
    return K.valueOf(none)
  end,
  --- -<any> inject:<any>start into:<Block(result, each)>block
  --- Folds the elements: the block gets the result so far, `start` at first, and an element. Answers the last result.
  --- > [1, 2, 3] inject: 10 into: { :sum :n | sum + n } ⇒ 16
  ["inject:into:"] = inject,
  --- -<any> reduce:<Block(result, each)>block
  --- Folds the elements, starting with the first one; nil for no elements. `inject:into:` takes a start value.
  --- > [2, 3, 4] reduce: { :product :n | product * n } ⇒ 24
  ["reduce:"] = reduce,
  --- -<Array> partition:<Block(each)|String>condition
  --- Answers an Array of two Arrays: the elements for which the condition is true, and the others.
  --- > [1, 2, 3, 4] partition: { :n | n even } ⇒ [[2, 4], [1, 3]]
  ["partition:"] = partition,
  --- -<Boolean> anySatisfy:<Block(each)|String>condition
  --- -<Boolean> contains:<Block(each)|String>condition
  --- Answers whether the condition is true for at least one element. `includes:` looks for an equal element.
  --- > [1, 2, 3] anySatisfy: { :n | n > 2 } ⇒ true
  ["anySatisfy:"] = anySatisfy, ["contains:"] = anySatisfy,
  --- -<Boolean> allSatisfy:<Block(each)|String>condition
  --- -<Boolean> conform:<Block(each)|String>condition
  --- Answers whether the condition is true for all elements; true for no elements.
  --- > [1, 2, 3] allSatisfy: { :n | n > 0 } ⇒ true
  ["allSatisfy:"] = allSatisfy, ["conform:"] = allSatisfy,
  --- -<Boolean> noneSatisfy:<Block(each)|String>condition
  --- Answers whether the condition is true for no element.
  --- > [1, 2, 3] noneSatisfy: { :n | n > 9 } ⇒ true
  ["noneSatisfy:"] = function(self, block) return not anySatisfy(self, block) end,
  --- -<Number> countOf:<any>element
  --- Answers how many elements equal the given one; a block counts as a condition, as in `count:`.
  --- > ['a', 'b', 'a'] countOf: 'a' ⇒ 2
  ["countOf:"] = function(self, wanted)
    if type(wanted) == "function" then return countOf(self, wanted) end
    return countOf(self, function(element) return eq(element, wanted) end)
  end,
  --- -<Number> count:<Block(each)|String>condition
  --- Answers for how many elements the condition is true.
  --- > [1, 2, 3] count: { :n | n odd } ⇒ 2
  ["count:"] = countOf,
  --- -<Number?> indexOf:<any>element
  --- -<Number?> indexOfObject:<any>element
  --- Answers the position from 0 of the first element that equals the given one; nil when there is none.
  --- > ['a', 'b', 'a'] indexOf: 'a' ⇒ 0
  ["indexOf:"] = indexOf, ["indexOfObject:"] = indexOf,
  --- -<Boolean> includes:<any>element
  --- -<Boolean> containsObject:<any>element
  --- Answers whether an element equals the given one. A Dictionary searches its values; `includesKey:` its keys.
  --- > ['ann', 'ben'] includes: 'ben' ⇒ true
  ["includes:"] = includes, ["containsObject:"] = includes,
  --- -<Number> count
  --- -<Number> size
  --- -<Number> length
  --- Answers the number of elements.
  --- > ['a', 'b'] count ⇒ 2
  ["count"] = itsCount,
  ["size"] = function(self) return self:count() end,
  ["length"] = function(self) return self:count() end,
  --- -<Boolean> isEmpty
  --- Answers whether there are no elements.
  --- > [] isEmpty ⇒ true
  ["isEmpty"] = function(self) return self:count() == 0 end,
  --- -<Boolean> notEmpty
  --- -<Boolean> isNotEmpty
  --- Answers whether there is at least one element.
  --- > [1] notEmpty ⇒ true
  ["notEmpty"] = function(self) return self:count() ~= 0 end,
  ["isNotEmpty"] = function(self) return self:count() ~= 0 end,
  --- -<any> ifEmpty:<any>alternative
  --- Answers the collection itself, or the alternative when it is empty: a block's value, or the value itself.
  --- > [] ifEmpty: { 'no orders' } ⇒ 'no orders'
  ["ifEmpty:"] = function(self, block)
    if self:count() == 0 then return K.valueOf(block) end
    return self
  end,
  --- -<any> ifNotEmpty:<any>block
  --- Answers the value of the block, which gets the collection; nil when the collection is empty.
  --- > [3, 4] ifNotEmpty: { :list | list first } ⇒ 3
  ["ifNotEmpty:"] = function(self, block)
    if self:count() ~= 0 then return K.valueOf(block, self) end
    return nil
  end,
  --- -<any> first
  --- -<any> firstObject
  --- Answers the first element, nil for an empty collection. For an Enumerator, `next` is the message that advances.
  --- > ['a', 'b'] first ⇒ 'a'
  ["first"] = first, ["firstObject"] = first,
  --- -<any> last
  --- -<any> lastObject
  --- Answers the last element, nil for an empty collection.
  --- > ['a', 'b'] last ⇒ 'b'
  ["last"] = last, ["lastObject"] = last,
  --- -<Array> first:<Number>count
  --- Answers the first elements, all when there are fewer. A negative count is an `outOfRange` error.
  --- > [1, 2, 3] first: 2 ⇒ [1, 2]
  ["first:"] = firstN,
  --- -<Array> last:<Number>count
  --- Answers the last elements in their order, all when there are fewer. A negative count is an `outOfRange` error.
  --- > [1, 2, 3] last: 2 ⇒ [2, 3]
  ["last:"] = lastN,
  --- -<Array> allButFirst
  --- Answers all elements but the first one.
  --- > [1, 2, 3] allButFirst ⇒ [2, 3]
  ["allButFirst"] = allButFirst,
  --- -<Array> allButFirst:<Number>count
  --- Answers all elements after the first `count` ones. A negative count is an `outOfRange` error.
  --- > [1, 2, 3] allButFirst: 2 ⇒ [3]
  ["allButFirst:"] = allButFirst,
  --- -<Array> allButLast
  --- Answers all elements but the last one.
  --- > [1, 2, 3] allButLast ⇒ [1, 2]
  ["allButLast"] = allButLast,
  --- -<Array> allButLast:<Number>count
  --- Answers all elements before the last `count` ones. A negative count is an `outOfRange` error.
  --- > [1, 2, 3] allButLast: 2 ⇒ [1]
  ["allButLast:"] = allButLast,
  --- -<any> max
  --- Answers the greatest element by `>`, or by `compare:` of objects that have no `>`; nil for no elements. Skips nil
  --- elements; texts beside numbers are an error.
  --- > [3, 1, 2] max ⇒ 3
  ["max"] = extreme(greater, "max"),
  --- -<any> max:<Block(each)|String>key
  --- Answers the element whose key is greatest, not the key; nil for no elements. Skips elements without a key.
  --- > ['a', 'ccc', 'bb'] max: 'count' ⇒ 'ccc'
  ["max:"] = extreme(greater, "max:"),
  --- -<any> min
  --- Answers the least element by `<`, or by `compare:` of objects that have no `<`; nil for no elements. Skips nil
  --- elements; texts beside numbers are an error.
  --- > [3, 1, 2] min ⇒ 1
  ["min"] = extreme(less, "min"),
  --- -<any> min:<Block(each)|String>key
  --- Answers the element whose key is least, not the key; nil for no elements. Skips elements without a key.
  --- > ['ccc', 'a', 'bb'] min: 'count' ⇒ 'a'
  ["min:"] = extreme(less, "min:"),
  --- -<any> sum
  --- Answers the sum of the elements, 0 for none. Skips nil elements; Durations and Points add up too.
  --- > [1, nil, 3] sum ⇒ 4
  ["sum"] = sum,
  --- -<any> sum:<Block(each)|String>block
  --- Answers the sum of the block's values for all elements, 0 for no elements.
  --- > [#{ price: 2 }, #{ price: 3 }] sum: 'price' ⇒ 5
  ["sum:"] = sum,
  --- -<any> average
  --- Answers the sum divided by the count, nil for no elements. A nil element counts as 0.
  --- > [1, 2, 6] average ⇒ 3
  ["average"] = average,
  --- -<any> average:<Block(each)|String>block
  --- Answers the average of the block's values for all elements, nil for no elements.
  --- > ['a', 'bbb'] average: 'count' ⇒ 2
  ["average:"] = average,
  --- -<String> join
  --- Answers the texts of all elements in a row, without a separator.
  --- > ['a', 1, 'b'] join ⇒ 'a1b'
  ["join"] = join,
  --- -<String> join:<any>separator
  --- -<String> componentsJoinedByString:<any>separator
  --- Answers the texts of all elements with the separator between two of them.
  --- > ['a', 'b', 3] join: ', ' ⇒ 'a, b, 3'
  ["join:"] = join, ["componentsJoinedByString:"] = join,
  --- -<Array> asArray
  --- -<Array> allObjects
  --- Answers a new Array of the elements. A Dictionary answers its values, an Enumerator what is left.
  --- > (1 to: 3) asArray ⇒ [1, 2, 3]
  ["asArray"] = asArray, ["allObjects"] = asArray,
  --- -<MutableArray> mutableCopy
  --- -<MutableArray> asMutableArray
  --- Answers a new MutableArray of the elements.
  --- > list := (1 to: 2) asMutableArray. list add: 9. list ⇒ [1, 2, 9]
  ["mutableCopy"] = function(self) return K.mutableArray(asArray(self)) end,
  ["asMutableArray"] = function(self) return K.mutableArray(asArray(self)) end,
  --- -<Array> reversed
  --- -<Array> reverse
  --- Answers a new Array with the last element first.
  --- > [1, 2, 3] reversed ⇒ [3, 2, 1]
  ["reversed"] = reversed, ["reverse"] = reversed,
  --- -<any> random
  --- -<any> randomElement
  --- -<any> atRandom
  --- Answers one of the elements at random, each with the same probability; nil for an empty collection.
  --- > ['heads', 'tails'] includes: ['heads', 'tails'] random ⇒ true
  ["random"] = randomElement, ["randomElement"] = randomElement, ["atRandom"] = randomElement,
  --- -<Boolean> isCollection
  --- Answers true; any other object answers false. A String is not a collection.
  --- > [1] isCollection ⇒ true
  ["isCollection"] = function() return true end,
  --- -<Array> copy
  --- Answers an Array of the same elements. Arrays, Dictionaries, Sets and Enumerators answer a copy of their own kind.
  --- > list := [1, 2]. other := list copy. other add: 3. list ⇒ [1, 2]
  ["copy"] = asArray,
  --- -<String> description
  --- Answers the text of the collection, as printing and interpolation write it: texts without quotes.
  --- > [1, 'a'] description ⇒ '[1,a]'
  ["description"] = function(self) return K.str(self) end,
})
