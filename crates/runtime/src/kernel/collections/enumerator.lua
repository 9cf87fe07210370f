-- Enumerators: cursors over a collection, read element by element (`nextObject`, `?`).
-- `each` makes one; in a higher-order message it marks an argument that varies. Texts enumerate
-- their characters.
local K = ...
local setmetatable = setmetatable
local NULL = K.NULL

--- A cursor over the elements of a collection: `next` or `?` takes one element after the other. Collection messages
--- such as `collect:` take all elements that are left, also `first`. As an argument of a higher-order message it
--- varies.
local Enumerator = K.newClass("Enumerator", K.classes.Collection)
K.alias("NSEnumerator", Enumerator)
K.alias("ReadStream", Enumerator)
K.method(Enumerator, "_isEnumerator", true)

-- Over a collection: `_list` holds the elements, or `_source` is an interval, which is not spread
-- out; `_at` counts what was taken.
function K.enumerator(collection)
  if collection._isInterval then
    return setmetatable({ _source = collection, _list = false, _at = 0 }, Enumerator._methods)
  end
  return setmetatable({ _source = false, _list = collection:_elements(), _at = 0 },
    Enumerator._methods)
end

local function total(self)
  if self._list then return #self._list end
  return self._source._count
end

local function peek(self, place)
  if place > total(self) then return nil end
  local list = self._list
  if list then
    local value = list[place]
    if value == NULL then return nil end
    return value
  end
  local interval = self._source
  return interval._from + (place - 1) * interval._by
end

local function next_(self)
  local value = peek(self, self._at + 1)
  if self._at < total(self) then self._at = self._at + 1 end
  return value
end

-- What was not yet taken; taking it ends the walk.
K.method(Enumerator, "_elements", function(self)
  local out, n, list = {}, 0, self._list
  for place = self._at + 1, total(self) do
    n = n + 1
    if list then out[n] = list[place] else out[n] = peek(self, place) end
  end
  self._at = total(self)
  return out
end)

local function each(self, block)
  if type(block) ~= "function" then block = K.asBlock(block, "do:") end
  while self._at < total(self) do block(next_(self)) end
end

K.methods(Enumerator, {
  --- -<any> next
  --- -<any> nextObject
  --- Takes the next element and answers it; nil at the end. An element can be nil too, so `atEnd` asks for the end.
  --- > cursor := ['a', 'b'] each. cursor next. cursor next ⇒ 'b'
  ["next"] = next_, ["nextObject"] = next_,
  --- -<any> peek
  --- Answers the next element without taking it; nil at the end.
  --- > cursor := ['a', 'b'] each. cursor peek. cursor next ⇒ 'a'
  ["peek"] = function(self) return peek(self, self._at + 1) end,
  --- -<Boolean> atEnd
  --- Answers whether all elements are taken.
  --- > ['a'] each atEnd ⇒ false
  ["atEnd"] = function(self) return self._at >= total(self) end,
  --- -<Boolean> hasNext
  --- Answers whether elements are left.
  --- > ['a'] each hasNext ⇒ true
  ["hasNext"] = function(self) return self._at < total(self) end,
  --- -<Array> next:<Number>count
  --- Takes the next `count` elements and answers them, fewer at the end; a negative count takes none.
  --- > [1, 2, 3] each next: 2 ⇒ [1, 2]
  ["next:"] = function(self, n)
    local out = {}
    n = K.expectInteger(n, "next:")
    while #out < n and self._at < total(self) do
      local value = next_(self)
      out[#out + 1] = value == nil and NULL or value
    end
    return K.array(out)
  end,
  --- -<self> skip:<Number>count
  --- Advances by `count` elements, at most to the end, and answers the enumerator; a negative count moves back.
  --- > ([1, 2, 3] each skip: 1) next ⇒ 2
  ["skip:"] = function(self, n)
    self._at = math.max(0, math.min(total(self), self._at + K.expectInteger(n, "skip:")))
    return self
  end,
  --- -<self> reset
  --- Moves back to the first element and answers the enumerator.
  --- > cursor := ['a', 'b'] each. cursor next. cursor reset next ⇒ 'a'
  ["reset"] = function(self)
    self._at = 0
    return self
  end,
  --- -<Number> position
  --- Answers the number of elements that are taken.
  --- > cursor := ['a', 'b'] each. cursor next. cursor position ⇒ 1
  ["position"] = function(self) return self._at end,
  --- -<Array> upToEnd
  --- Takes all elements that are left and answers them.
  --- > cursor := [1, 2, 3] each. cursor next. cursor upToEnd ⇒ [2, 3]
  ["upToEnd"] = function(self) return K.array(self:_elements()) end,
  --- -<nothing> do:<Block(each)|String>block
  --- Takes each element that is left and evaluates the block for it. The block may take more with `next`.
  --- > list := []. ([1, 2, 3] each skip: 1) do: { :n | list add: n }. list ⇒ [2, 3]
  ["do:"] = each,
  --- -<Number> count
  --- Answers the number of elements that are left.
  --- > cursor := [1, 2, 3] each. cursor next. cursor count ⇒ 2
  ["count"] = function(self) return total(self) - self._at end,
  --- -<self> each
  --- -<self> objectEnumerator
  --- Answers the enumerator itself.
  --- > [1, 2] each each next ⇒ 1
  ["each"] = function(self) return self end,
  ["objectEnumerator"] = function(self) return self end,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Answers whether the other object is the same enumerator.
  --- > cursor := [1] each. cursor = cursor ⇒ true
  ["isEqual:"] = function(self, other) return rawequal(self, other) end,
  --- -<Enumerator> copy
  --- Answers an enumerator over the same elements at the same position, which moves on its own.
  --- > cursor := [1, 2] each. cursor copy next. cursor next ⇒ 1
  ["copy"] = function(self)
    return setmetatable({ _source = self._source, _list = self._list, _at = self._at },
      Enumerator._methods)
  end,
  --- -<String> description
  --- Answers the text `an Enumerator`, without the elements.
  --- > [1, 2] each description ⇒ 'an Enumerator'
  ["description"] = function() return "an Enumerator" end,
})
K.classMethods(Enumerator, {
  --- +<Enumerator> new
  --- +<Enumerator> alloc
  --- Answers an enumerator without elements.
  --- > Enumerator new atEnd ⇒ true
  ["new"] = function() return K.enumerator(K.array {}) end,
  ["alloc"] = function() return K.enumerator(K.array {}) end,
  --- +<Enumerator> on:<Collection|String>elements
  --- Answers an enumerator over the elements of a collection or the characters of a text, as `each` does.
  --- > (Enumerator on: ['a', 'b']) next ⇒ 'a'
  ["on:"] = function(_, collection)
    if type(collection) == "string" then return K.enumerator(collection:asArray()) end
    K.elementsOf(collection, "on:")
    return K.enumerator(collection)
  end,
})
K.methods(K.classes.String, {
  --- -<Enumerator> each
  --- Answers an enumerator over the characters.
  --- > 'hi' each next ⇒ 'h'
  ["each"] = function(self) return K.enumerator(self:asArray()) end,
})

K.methods(K.classes.Collection, {
  --- -<Enumerator> each
  --- -<Enumerator> objectEnumerator
  --- Answers an enumerator at the first element. As an argument of a higher-order message it gives one element per
  --- step.
  --- > cursor := ['a', 'b'] each. cursor next ⇒ 'a'
  --- > [1, 2] collect + [10, 20] each ⇒ [11, 22]
  ["objectEnumerator"] = function(self) return K.enumerator(self) end,
  ["each"] = function(self) return K.enumerator(self) end,
  --- -<Enumerator> reverseObjectEnumerator
  --- Answers an enumerator over the elements from the last one to the first.
  --- > ['a', 'b'] reverseObjectEnumerator next ⇒ 'b'
  ["reverseObjectEnumerator"] = function(self) return K.enumerator(self:reversed()) end,
})
K.methods(K.classes.Dictionary, {
  --- -<Enumerator> keyEnumerator
  --- Answers an enumerator over the keys. `each` enumerates the values.
  --- > #{ anna: 31 } keyEnumerator next ⇒ 'anna'
  ["keyEnumerator"] = function(self) return K.enumerator(self:keys()) end,
})

-- Strings as collections of their characters ----------------------------------------------------

--- String -<nothing> doWithIndex:<Block(each, index)>block
--- String -<nothing> withIndexDo:<Block(each, index)>block
--- Evaluates the block for each character and its position from 0.
--- > lines := []. 'ab' doWithIndex: { :c :i | lines add: "{i} {c}" }. lines ⇒ ['0 a', '1 b']

--- String -<nothing> do:<Block(each)>block separatedBy:<Block()>separator
--- Evaluates the first block for each character, and the second between two characters.
--- > out := ByteStream new. 'ab' do: { :c | out print: c } separatedBy: { out print: '-' }. out stringValue ⇒ 'a-b'

--- String -<nothing> reverseDo:<Block(each)|String>block
--- Evaluates the block for each character, the last one first.
--- > list := []. 'ab' reverseDo: { :c | list add: c }. list ⇒ ['b', 'a']

--- String -<Array> collect:<Block(each)|String>block
--- String -<Array> map:<Block(each)|String>block
--- Answers an Array of the block's values for all characters. `join` makes a text of it again.
--- > 'ab' collect: { :c | c uppercase } ⇒ ['A', 'B']

--- String -<Array> collectWithIndex:<Block(each, index)>block
--- String -<Array> withIndexCollect:<Block(each, index)>block
--- Answers an Array of the block's values for each character and its position from 0.
--- > 'ab' collectWithIndex: { :c :i | "{i}{c}" } ⇒ ['0a', '1b']

--- String -<String?> detect:<Block(each)|String>condition
--- Answers the first character for which the condition is true; nil when there is none.
--- > 'a1b2' detect: { :c | c isNumeric } ⇒ '1'

--- String -<any> detect:<Block(each)|String>condition ifNone:<any>alternative
--- Answers the first character for which the condition is true, otherwise the alternative: a block's value, or the
--- argument itself.
--- > 'ab' detect: { :c | c = 'x' } ifNone: '?' ⇒ '?'

--- String -<any> inject:<any>start into:<Block(result, each)>block
--- Folds the characters: the block gets the result so far, `start` at first, and a character. Answers the last result.
--- > 'ab' inject: '' into: { :text :c | c , text } ⇒ 'ba'

--- String -<any> reduce:<Block(result, each)>block
--- Folds the characters, starting with the first one; nil for an empty text.
--- > 'abc' reduce: { :text :c | text , '-' , c } ⇒ 'a-b-c'

--- String -<Boolean> anySatisfy:<Block(each)|String>condition
--- Answers whether the condition is true for at least one character.
--- > 'a1' anySatisfy: { :c | c = '1' } ⇒ true

--- String -<Boolean> allSatisfy:<Block(each)|String>condition
--- Answers whether the condition is true for all characters; true for an empty text.
--- > 'aab' allSatisfy: { :c | 'abc' includes: c } ⇒ true

--- String -<Boolean> noneSatisfy:<Block(each)|String>condition
--- Answers whether the condition is true for no character.
--- > 'ab' noneSatisfy: { :c | c = ' ' } ⇒ true

--- String -<Number> countOf:<any>character
--- String -<Number> occurrencesOf:<any>character
--- Answers how many characters equal the given one; a block counts as a condition, as in `count:`.
--- > 'a,b,c' countOf: ',' ⇒ 2

--- String -<Number> count:<Block(each)|String>condition
--- Answers for how many characters the condition is true.
--- > 'banana' count: { :c | c = 'a' } ⇒ 3

--- String -<Array> uniq
--- Answers an Array of the different characters, each where it first occurs.
--- > 'abba' uniq ⇒ ['a', 'b']

--- String -<Dictionary> groupBy:<Block(each)|String>key
--- String -<Dictionary> groupedBy:<Block(each)|String>key
--- Answers a Dictionary from each key to an Array of the characters with that key.
--- > 'abA' groupBy: { :c | c lowercase } ⇒ #{ a: ['a', 'A'], b: ['b'] }

--- String -<Dictionary> tally
--- String -<Dictionary> occurrences
--- Answers a Dictionary from each different character to the number of its occurrences.
--- > 'aba' tally ⇒ #{ a: 2, b: 1 }

--- String -<Array> inGroupsOf:<Number>count
--- Answers an Array of Arrays of `count` characters each; the last one may be shorter. A count below 1 is an
--- `outOfRange` error.
--- > 'abc' inGroupsOf: 2 ⇒ [['a', 'b'], ['c']]

--- String -<Array> sorted
--- Answers an Array of the characters in ascending order.
--- > 'cab' sorted join ⇒ 'abc'

--- String -<Array> sorted:<Block(each)|Block(a, b)|String|Array>order
--- Answers an Array of the characters in the given order, as `sorted:` of a collection.
--- > 'cab' sorted: { :a :b | a > b } ⇒ ['c', 'b', 'a']

--- String -<String?> random
--- String -<String?> randomElement
--- Answers one of the characters at random; nil for an empty text.
--- > 'abc' includes: 'abc' random ⇒ true

--- String -<Array> zip:<Collection|String>others
--- Answers an Array of pairs of a character and an element at the same position. The shorter one ends it.
--- > 'abc' zip: [1, 2] ⇒ [['a', 1], ['b', 2]]

--- String -<Array> partition:<Block(each)|String>condition
--- Answers an Array of two Arrays: the characters for which the condition is true, and the others.
--- > 'a1b' partition: { :c | c = '1' } ⇒ [['1'], ['a', 'b']]

--- String -<Array> flatCollect:<Block(each)|String>block
--- Answers an Array of the block's values for all characters, with the elements of collections in their place.
--- > 'ab' flatCollect: { :c | [c, c] } ⇒ ['a', 'a', 'b', 'b']

--- String -<Array> uniq:<Block(each)|String>key
--- Answers an Array of the first character for each different key.
--- > 'aAb' uniq: { :c | c lowercase } ⇒ ['a', 'b']

--- String -<Array> distinct:<Block(each)|String>block
--- Answers an Array of the block's different values for all characters.
--- > 'aAb' distinct: { :c | c lowercase } ⇒ ['a', 'b']

--- String -<Array> with:<Collection|String>others collect:<Block(each, other)>block
--- Answers an Array of the block's values for a character and an element at the same position.
--- > 'ab' with: [1, 2] collect: { :c :n | "{c}{n}" } ⇒ ['a1', 'b2']

--- String -<nothing> keysAndValuesDo:<Block(index, each)>block
--- Evaluates the block for each position from 0 and its character.
--- > lines := []. 'ab' keysAndValuesDo: { :i :c | lines add: "{i} {c}" }. lines ⇒ ['0 a', '1 b']

--- String -<Array> sortedDescending
--- Answers an Array of the characters in descending order.
--- > 'acb' sortedDescending ⇒ ['c', 'b', 'a']

--- String -<Array> sortedDescending:<Block(each)|String>key
--- Answers an Array of the characters sorted by a key, the greatest first.
--- > 'aB' sortedDescending: { :c | c lowercase } ⇒ ['B', 'a']

--- String -<any> ifEmpty:<any>alternative
--- Answers the text itself, or the alternative when it is empty: a block's value, or the argument itself.
--- > '' ifEmpty: 'no name' ⇒ 'no name'

--- String -<any> ifNotEmpty:<any>block
--- Answers the value of the block, which gets the text; nil for an empty text.
--- > 'ann' ifNotEmpty: { :name | 'Hello ' , name } ⇒ 'Hello ann'

--- String -<String> join:<any>separator
--- Answers the characters with the separator between two of them.
--- > 'abc' join: '-' ⇒ 'a-b-c'

local String, Collection = K.classes.String, K.classes.Collection
for _, selector in ipairs {
  "doWithIndex:", "withIndexDo:", "do:separatedBy:", "reverseDo:", "collect:", "map:",
  "collectWithIndex:", "withIndexCollect:", "detect:", "detect:ifNone:", "inject:into:", "reduce:",
  "anySatisfy:", "allSatisfy:", "noneSatisfy:", "countOf:", "count:", "uniq", "groupBy:",
  "groupedBy:", "tally", "occurrences", "occurrencesOf:", "inGroupsOf:", "sorted", "sorted:",
  "random", "randomElement", "zip:", "ifEmpty:", "ifNotEmpty:", "join:", "partition:", "flatCollect:", "uniq:",
  "distinct:", "with:collect:", "keysAndValuesDo:", "sortedDescending", "sortedDescending:",
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
  --- -<String> select:<Block(each)|String>condition
  --- -<String> filter:<Block(each)|String>condition
  --- Answers a text of the characters for which the condition is true.
  --- > 'a1b2' select: { :c | 'ab' includes: c } ⇒ 'ab'
  ["select:"] = chosen(true), ["filter:"] = chosen(true),
  --- -<String> reject:<Block(each)|String>condition
  --- Answers a text of the characters for which the condition is false.
  --- > 'a-b-c' reject: { :c | c = '-' } ⇒ 'abc'
  ["reject:"] = chosen(false),
})
