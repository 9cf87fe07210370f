-- Lazy sequences: elements are computed one by one when they are asked for.
--
-- Each sequence has `_begin`, which starts a walk and answers a function: it answers the next element, or END.
-- A message that answers a sequence wraps that function; a message that answers a value calls it.
local K = ...
local type, setmetatable = type, setmetatable
local asBlock, throw, yes = K.asBlock, K.throw, K.yes
local NULL = K.NULL

-- The most elements that become an Array, as for an Interval.
local MOST = 16777216

--- Elements that are computed one by one when they are asked for: `(1 to: 1e9) lazy select: { … } | first: 3`.
--- `select:`, `collect:` and their like answer another sequence and compute nothing; `first:`, `do:`, `asArray` and all
--- messages that answer a value compute as many elements as they need. A sequence of a collection can be walked again;
--- one of an Enumerator or of content continues at its position.
local Lazy = K.newClass("LazySequence", K.classes.Collection)
K.method(Lazy, "_isLazy", true)
K.nilKeys._isLazy = true

local END = {}

local function lazy(begin) return setmetatable({ _begin = begin }, Lazy._methods) end
K.lazy, K.lazyEnd = lazy, END

-- The elements of a Lua table; nil is NULL there.
local function ofList(list)
  return lazy(function()
    local at = 0
    return function()
      at = at + 1
      local value = list[at]
      if value == nil then return END end
      if value == NULL then return nil end
      return value
    end
  end)
end

local function ofInterval(interval)
  return lazy(function()
    local at, from, by, count = -1, interval._from, interval._by, interval._count
    return function()
      at = at + 1
      if at >= count then return END end
      return from + at * by
    end
  end)
end

local function ofEnumerator(cursor)
  return lazy(function()
    return function()
      if cursor:atEnd() then return END end
      return cursor:next()
    end
  end)
end

local function begin(self) return self._begin() end

-- Calls `take` with each element until that answers true.
local function walk(self, take)
  local next_ = begin(self)
  while true do
    local value = next_()
    if value == END or take(value) then return end
  end
end

K.method(Lazy, "_elements", function(self)
  local out, n, next_ = {}, 0, begin(self)
  while true do
    local value = next_()
    if value == END then return out end
    if n >= MOST then throw("tooLarge", "a LazySequence of more than 16777216 elements cannot be an Array") end
    n = n + 1
    if value == nil then out[n] = NULL else out[n] = value end
  end
end)

-- Sequences ---------------------------------------------------------------------------------------

local function count(n, selector)
  n = K.expectInteger(n, selector)
  if n < 0 then throw("outOfRange", selector .. " expects a count from 0 on, got " .. K.str(n)) end
  return n
end

local function selecting(wanted, selector)
  return function(self, block)
    block = asBlock(block, selector)
    return lazy(function()
      local next_ = begin(self)
      return function()
        while true do
          local value = next_()
          if value == END or (yes(block(value)) or false) == wanted then return value end
        end
      end
    end)
  end
end
local select_, reject = selecting(true, "select:"), selecting(false, "reject:")

local function collect(self, block)
  block = asBlock(block, "collect:")
  return lazy(function()
    local next_ = begin(self)
    return function()
      local value = next_()
      if value == END then return END end
      return block(value)
    end
  end)
end

local function withIndex(self, block)
  K.expectBlock(block, "collectWithIndex:")
  return lazy(function()
    local next_, at = begin(self), -1
    return function()
      local value = next_()
      if value == END then return END end
      at = at + 1
      return block(value, at)
    end
  end)
end

local function flatCollect(self, block)
  block = asBlock(block, "flatCollect:")
  return lazy(function()
    local next_, inner = begin(self), nil
    return function()
      while true do
        if inner then
          local value = inner()
          if value ~= END then return value end
          inner = nil
        end
        local value = next_()
        if value == END then return END end
        value = block(value)
        if type(value) ~= "table" or not value._isCollection then return value end
        inner = begin(value:lazy())
      end
    end
  end)
end

local function takeWhile(self, block)
  block = asBlock(block, "takeWhile:")
  return lazy(function()
    local next_, over = begin(self), false
    return function()
      if over then return END end
      local value = next_()
      if value ~= END and yes(block(value)) then return value end
      over = true
      return END
    end
  end)
end

local function dropWhile(self, block)
  block = asBlock(block, "dropWhile:")
  return lazy(function()
    local next_, begun = begin(self), false
    return function()
      local value = next_()
      while not begun and value ~= END and yes(block(value)) do value = next_() end
      begun = true
      return value
    end
  end)
end

local function take(self, n)
  n = count(n, "take:")
  return lazy(function()
    local next_, left = begin(self), n
    return function()
      if left <= 0 then return END end
      left = left - 1
      return next_()
    end
  end)
end

local function skip(self, n)
  n = count(n or 1, "allButFirst:")
  return lazy(function()
    local next_, left = begin(self), n
    return function()
      while left > 0 do
        left = left - 1
        if next_() == END then left = 0 return END end
      end
      return next_()
    end
  end)
end

local function groups(self, n)
  n = K.expectInteger(n, "inGroupsOf:")
  if n < 1 then throw("outOfRange", "inGroupsOf: expects a count from 1 on, got " .. K.str(n)) end
  return lazy(function()
    local next_, over = begin(self), false
    return function()
      local group = {}
      while not over and #group < n do
        local value = next_()
        if value == END then over = true else group[#group + 1] = value == nil and NULL or value end
      end
      if #group == 0 then return END end
      return K.array(group)
    end
  end)
end

local function windows(self, n)
  n = K.windowSize(n)
  return lazy(function()
    local next_, last = begin(self), {}
    return function()
      repeat
        local value = next_()
        if value == END then return END end
        last[#last + 1] = value == nil and NULL or value
      until #last >= n
      if #last > n then table.remove(last, 1) end
      local window = {}
      for i = 1, n do window[i] = last[i] end
      return K.array(window)
    end
  end)
end

local function zip(self, other, block)
  if block ~= nil then K.expectBlock(block, "with:collect:") end
  if type(other) ~= "table" or not other._isCollection then K.elementsOf(other, "zip:") end
  return lazy(function()
    local a, b = begin(self), begin(other:lazy())
    return function()
      local one = a()
      if one == END then return END end
      local two = b()
      if two == END then return END end
      if block then return block(one, two) end
      return K.array({ one, two }, 2)
    end
  end)
end

local function uniq(self, block)
  if block ~= nil then block = asBlock(block, "uniq:") end
  return lazy(function()
    local next_, seen, n = begin(self), {}, 0
    return function()
      while true do
        local value = next_()
        if value == END then return END end
        local key = value
        if block then key = block(value) end
        key = K.key(key == nil and NULL or key)
        if not seen[key] then
          n = n + 1
          if n > MOST then throw("tooLarge", "uniq remembers at most 16777216 different elements") end
          seen[key] = true
          return value
        end
      end
    end
  end)
end

-- Values ------------------------------------------------------------------------------------------

local function each(self, block)
  block = asBlock(block, "do:")
  walk(self, function(value) block(value) end)
end

local function eachWithIndex(self, block)
  K.expectBlock(block, "doWithIndex:")
  local at = -1
  walk(self, function(value)
    at = at + 1
    block(value, at)
  end)
end

local function detect(self, block)
  block = asBlock(block, "detect:")
  local found, is = nil, false
  walk(self, function(value)
    if not yes(block(value)) then return false end
    found, is = value, true
    return true
  end)
  return found, is
end

local function inject(self, start, block)
  K.expectBlock(block, "inject:into:")
  walk(self, function(value) start = block(start, value) end)
  return start
end

local function firstN(self, n)
  n = count(n, "first:")
  return K.array(take(self, n):_elements())
end

local function first(self)
  local value = begin(self)()
  if value == END then return nil end
  return value
end

local function countAll(self)
  local n = 0
  walk(self, function() n = n + 1 end)
  return n
end

local function sum(self, key)
  local total, begun = 0, false
  if key then key = asBlock(key, "sum:") end
  walk(self, function(value)
    if key then value = key(value) end
    if value == nil then return end
    if not begun and type(value) == "table" then total = value else total = K.add(total, value) end
    begun = true
  end)
  return total
end

K.methods(Lazy, {
  --- -<LazySequence> lazy
  --- Answers the sequence itself.
  --- > (1 to: 3) lazy lazy asArray ⇒ [1, 2, 3]
  ["lazy"] = function(self) return self end,
  --- -<LazySequence> select:<Block(each)|String>condition
  --- -<LazySequence> filter:<Block(each)|String>condition
  --- Answers a sequence of the elements for which the condition is true.
  --- > (1 to: 1e9) lazy select: { :n | n even } | first: 3 ⇒ [2, 4, 6]
  ["select:"] = select_, ["filter:"] = select_,
  --- -<LazySequence> reject:<Block(each)|String>condition
  --- Answers a sequence of the elements for which the condition is false.
  --- > (1 to: 1e9) lazy reject: { :n | n even } | first: 3 ⇒ [1, 3, 5]
  ["reject:"] = reject,
  --- -<LazySequence> collect:<Block(each)|String>block
  --- -<LazySequence> map:<Block(each)|String>block
  --- Answers a sequence of the block's values.
  --- > (1 to: 1e9) lazy collect: { :n | n squared } | first: 3 ⇒ [1, 4, 9]
  ["collect:"] = collect, ["map:"] = collect,
  --- -<LazySequence> collectWithIndex:<Block(each, index)>block
  --- -<LazySequence> withIndexCollect:<Block(each, index)>block
  --- Answers a sequence of the block's values for each element and its position from 0.
  --- > ['a', 'b'] lazy collectWithIndex: { :text :i | "{i}{text}" } | asArray ⇒ ['0a', '1b']
  ["collectWithIndex:"] = withIndex, ["withIndexCollect:"] = withIndex,
  --- -<LazySequence> flatCollect:<Block(each)|String>block
  --- Answers a sequence of the block's values, with the elements of those that are collections in their place.
  --- > [1, 2] lazy flatCollect: { :n | [n, n * 10] } | asArray ⇒ [1, 10, 2, 20]
  ["flatCollect:"] = flatCollect,
  --- -<LazySequence> takeWhile:<Block(each)|String>condition
  --- Answers a sequence that ends before the first element for which the condition is false.
  --- > (1 to: 1e9) lazy takeWhile: { :n | n < 4 } | asArray ⇒ [1, 2, 3]
  ["takeWhile:"] = takeWhile,
  --- -<LazySequence> dropWhile:<Block(each)|String>condition
  --- Answers a sequence that begins with the first element for which the condition is false.
  --- > (1 to: 1e9) lazy dropWhile: { :n | n < 4 } | first ⇒ 4
  ["dropWhile:"] = dropWhile,
  --- -<LazySequence> take:<Number>count
  --- Answers a sequence of the first elements. `first:` computes them and answers an Array.
  --- > (1 to: 1e9) lazy take: 3 | sum ⇒ 6
  ["take:"] = take,
  --- -<LazySequence> skip:<Number>count
  --- -<LazySequence> allButFirst:<Number>count
  --- Answers a sequence of the elements after the first ones.
  --- > (1 to: 5) lazy skip: 3 | asArray ⇒ [4, 5]
  ["skip:"] = skip, ["allButFirst:"] = skip,
  --- -<LazySequence> allButFirst
  --- Answers a sequence of the elements after the first one.
  --- > (1 to: 3) lazy allButFirst asArray ⇒ [2, 3]
  ["allButFirst"] = function(self) return skip(self, 1) end,
  --- -<LazySequence> inGroupsOf:<Number>count
  --- Answers a sequence of Arrays of `count` elements each; the last one may be shorter.
  --- > (1 to: 1e9) lazy inGroupsOf: 2 | first: 2 ⇒ [[1, 2], [3, 4]]
  ["inGroupsOf:"] = groups,
  --- -<LazySequence> windowsOf:<Number>count
  --- Answers a sequence of Arrays of `count` neighbouring elements, each one element further.
  --- > (1 to: 1e9) lazy windowsOf: 2 | first: 2 ⇒ [[1, 2], [2, 3]]
  ["windowsOf:"] = windows,
  --- -<LazySequence> zip:<Collection>others
  --- Answers a sequence of pairs of the elements of both at a position. The shorter one ends it.
  --- > (1 to: 1e9) lazy zip: ['a', 'b'] | asArray ⇒ [[1, 'a'], [2, 'b']]
  ["zip:"] = function(self, other) return zip(self, other) end,
  --- -<LazySequence> with:<Collection>others collect:<Block(each, other)>block
  --- -<LazySequence> zip:<Collection>others collect:<Block(each, other)>block
  --- Answers a sequence of the block's values for the elements of both at each position.
  --- > (1 to: 1e9) lazy with: [10, 20] collect: { :a :b | a + b } | asArray ⇒ [11, 22]
  ["with:collect:"] = zip, ["zip:collect:"] = zip,
  --- -<LazySequence> uniq
  --- -<LazySequence> unique
  --- -<LazySequence> withoutDuplicates
  --- Answers a sequence of the different elements, each where it first occurs. It remembers those that it has passed,
  --- at most 16,777,216.
  --- > [2, 1, 2] lazy uniq asArray ⇒ [2, 1]
  ["uniq"] = function(self) return uniq(self) end, ["unique"] = function(self) return uniq(self) end,
  ["withoutDuplicates"] = function(self) return uniq(self) end,
  --- -<LazySequence> uniq:<Block(each)|String>key
  --- Answers a sequence of the first element for each different key.
  --- > (1 to: 1e9) lazy uniq: { :n | n mod: 3 } | first: 3 ⇒ [1, 2, 3]
  ["uniq:"] = uniq,
  --- As in Collection.
  ["do:"] = each,
  --- As in Collection.
  ["doWithIndex:"] = eachWithIndex,
  --- As in Collection.
  ["withIndexDo:"] = eachWithIndex,
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
  ["contains:"] = function(self, block) return self:anySatisfy_(block) end,
  --- As in Collection.
  ["noneSatisfy:"] = function(self, block) return not self:anySatisfy_(block) end,
  --- As in Collection.
  ["allSatisfy:"] = function(self, block)
    block = asBlock(block, "allSatisfy:")
    return not self:anySatisfy_(function(value) return not yes(block(value)) end)
  end,
  --- As in Collection.
  ["includes:"] = function(self, wanted)
    return self:anySatisfy_(function(value) return K.eq(value, wanted) end)
  end,
  --- As in Collection.
  ["inject:into:"] = inject,
  --- As in Collection.
  ["count:"] = function(self, block) return countAll(select_(self, block)) end,
  --- -<Number> count
  --- -<Number> size
  --- -<Number> length
  --- Computes all elements and answers their number.
  --- > (1 to: 10) lazy select: { :n | n even } | count ⇒ 5
  ["count"] = countAll, ["size"] = countAll, ["length"] = countAll,
  --- As in Collection.
  ["isEmpty"] = function(self) return begin(self)() == END end,
  --- As in Collection.
  ["notEmpty"] = function(self) return begin(self)() ~= END end,
  --- As in Collection.
  ["isNotEmpty"] = function(self) return begin(self)() ~= END end,
  --- As in Collection.
  ["sum"] = sum,
  --- As in Collection.
  ["sum:"] = sum,
  --- As in Collection.
  ["first"] = first,
  --- As in Collection.
  ["firstObject"] = first,
  --- As in Collection.
  ["first:"] = firstN,
  --- -<Enumerator> each
  --- -<Enumerator> objectEnumerator
  --- Computes all elements and answers an enumerator over them.
  --- > (1 to: 3) lazy each next ⇒ 1
  ["each"] = function(self) return K.enumerator(K.array(self:_elements())) end,
  ["objectEnumerator"] = function(self) return K.enumerator(K.array(self:_elements())) end,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Answers whether the other object is the same sequence.
  --- > (1 to: 3) lazy = (1 to: 3) lazy ⇒ false
  ["isEqual:"] = function(self, other) return rawequal(self, other) end,
  --- -<self> copy
  --- Answers the sequence itself, because it does not change.
  --- > (1 to: 3) lazy copy asArray ⇒ [1, 2, 3]
  ["copy"] = function(self) return self end,
  --- -<String> description
  --- Answers the text `a LazySequence`, without the elements.
  --- > (1 to: 3) lazy description ⇒ 'a LazySequence'
  ["description"] = function() return "a LazySequence" end,
})
K.method(Lazy, "_writeText", function(_, parts) parts[#parts + 1] = "a LazySequence" end)

K.classMethods(Lazy, {
  --- +<LazySequence> from:<any>first next:<Block(last)>block
  --- Answers the sequence of a first element and of what the block makes of each element. It ends before nil.
  --- > LazySequence from: 1 next: { :n | n * 2 } | first: 5 ⇒ [1, 2, 4, 8, 16]
  ["from:next:"] = function(_, start, block)
    K.expectBlock(block, "from:next:")
    return lazy(function()
      local value, begun = start, false
      return function()
        if begun and value ~= nil then value = block(value) end
        begun = true
        if value == nil then return END end
        return value
      end
    end)
  end,
  --- +<LazySequence> generate:<Block()>block
  --- Answers a sequence of the block's values, each computed when it is asked for. It ends before nil.
  --- > n := 0. LazySequence generate: { n := n + 1. n } | first: 3 ⇒ [1, 2, 3]
  ["generate:"] = function(_, block)
    K.expectBlock(block, "generate:")
    return lazy(function()
      return function()
        local value = block()
        if value == nil then return END end
        return value
      end
    end)
  end,
})

K.methods(K.classes.Collection, {
  --- -<LazySequence> lazy
  --- Answers a sequence whose `select:`, `collect:` and the like compute elements only when they are asked for.
  --- > (1 to: 1e9) lazy select: { :n | n squared > 50 } | first: 2 ⇒ [8, 9]
  --- > [3, 8, 12] lazy takeWhile: { :n | n < 10 } | asArray ⇒ [3, 8]
  ["lazy"] = function(self) return ofList(self:_elements()) end,
})
K.methods(K.classes.Interval, {
  --- As in Collection.
  ["lazy"] = ofInterval,
})
K.methods(K.classes.Enumerator, {
  --- As in Collection.
  ["lazy"] = ofEnumerator,
})
K.methods(K.classes.String, {
  --- -<LazySequence> lazy
  --- Answers a lazy sequence of the characters.
  --- > 'abc' lazy reject: { :c | c = 'a' } | first ⇒ 'b'
  ["lazy"] = function(self) return ofList(self:_elements()) end,
})
