-- Patterns: regular expressions, what they match in a text, and what replaces it.
local K = ...
local type, setmetatable, tonumber = type, setmetatable, tonumber
local sub, find, match = string.sub, string.find, string.match
local throw, expectText, native = K.throw, K.expectText, K.native
local Object, String = K.classes.Object, K.classes.String

--- A regular expression, written between slashes: `/[0-9]+/`. Matching takes linear time.
local Pattern = K.newClass("Pattern", Object)
K.method(Pattern, "_isPattern", true)

-- Compiled patterns that are kept: the cache is emptied when it is full.
local KEPT = 256
local kept, count = {}, 0

local function compile(source)
  local compiled = native.pattern(source)
  local names, numbers, groups = native.patternGroups(compiled), {}, 0
  for i = 2, #names do
    groups = i - 1
    if type(names[i]) == "string" then numbers[names[i]] = i - 1 end
  end
  return setmetatable({ _source = source, _compiled = compiled, _names = names, _numbers = numbers,
    _groups = groups }, Pattern._methods)
end

-- The pattern of a text: what a literal `/…/` and `asPattern` answer.
function K.pattern(source)
  local known = kept[source]
  if known then return known end
  known = compile(source)
  if count >= KEPT then kept, count = {}, 0 end
  kept[source], count = known, count + 1
  return known
end

local function expectPattern(value, selector)
  if type(value) == "table" and value._isPattern then return value end
  throw("typeError", selector .. " expects a Pattern, got " .. K.nameOf(value), {
    i_hint = "write it between slashes: /[0-9]+/; a text becomes one with asPattern",
  })
end

-- Matches ---------------------------------------------------------------------------------------

--- A place where a pattern matches a text, with the text of its groups.
local Match = K.newClass("Match", Object)

-- The offsets of a match follow a place in the list of a batch.
local function made(pattern, text, offsets, at)
  return setmetatable({ _pattern = pattern, _subject = text, _offsets = offsets, _at = at },
    Match._methods)
end

-- The text of a group, 0 being the whole match; nil where the group took no part.
local function group(self, number)
  local at = self._at + number * 2
  local from = self._offsets[at]
  if from >= 0 then return sub(self._subject, from + 1, self._offsets[at + 1]) end
end

local function numberOf(pattern, name)
  local number = pattern._numbers[name]
  if number then return number end
  throw("notFound", "the pattern " .. K.str(pattern) .. " has no group '" .. name .. "'")
end

local function expectGroup(pattern, number)
  if number < 0 or number > pattern._groups then
    throw("outOfRange", "the pattern " .. K.str(pattern) .. " has no group " .. K.str(number))
  end
  return number
end

local function groupAt(self, key)
  if type(key) == "number" then
    return group(self, expectGroup(self._pattern, K.expectInteger(key, "at:")))
  end
  return group(self, numberOf(self._pattern, expectText(key, "at:")))
end

local function itsText(self) return group(self, 0) end

K.methods(Match, {
  --- -<String> text
  --- -<String> description
  --- -<String> asString
  --- -<String> stringValue
  --- The text that the whole pattern matched.
  --- > ('order 17' firstMatch: /\d+/) text ⇒ '17'
  ["text"] = itsText, ["description"] = itsText, ["asString"] = itsText, ["stringValue"] = itsText,
  --- -<String?> at:<Number|String>group
  --- The text of a group by number or name, 0 being the whole match; nil where the group took no part. A group that the
  --- pattern does not have is an error.
  --- > ('k=v' firstMatch: /(\w)=(\w)/) at: 2 ⇒ 'v'
  ["at:"] = groupAt,
  --- -<Number> from
  --- The position of the first character of the match.
  --- > ('order 17' firstMatch: /\d+/) from ⇒ 6
  ["from"] = function(self) return K.positionOf(self._subject, self._offsets[self._at] + 1) end,
  --- -<Number> to
  --- The position of the last character of the match; of an empty match, the position before `from`.
  --- > ('order 17' firstMatch: /\d+/) to ⇒ 7
  ["to"] = function(self)
    return K.positionOf(self._subject, self._offsets[self._at + 1] + 1) - 1
  end,
  --- -<Array> groups
  --- The texts of all groups, without the whole match; nil for a group that took no part.
  --- > ('k=v' firstMatch: /(\w)=(\w)/) groups ⇒ ['k', 'v']
  ["groups"] = function(self)
    local list = {}
    for i = 1, self._pattern._groups do list[i] = group(self, i) or K.NULL end
    return K.array(list)
  end,
  --- -<Dictionary> named
  --- The texts of the named groups, by name; nil for a group that took no part.
  --- > ('k=v' firstMatch: /(?<key>\w)=(?<value>\w)/) named ⇒ #{ key: 'k', value: 'v' }
  ["named"] = function(self)
    local names, keys, values, n = self._pattern._names, {}, {}, 0
    for i = 2, #names do
      if type(names[i]) == "string" then
        n = n + 1
        keys[n], values[n] = names[i], group(self, i - 1) or K.NULL
      end
    end
    return K.literalDictionary(keys, values, n)
  end,
  --- -<self> copy
  --- The match itself: it does not change.
  --- > ('k=v' firstMatch: /k/) copy text ⇒ 'k'
  ["copy"] = function(self) return self end,
  --- -<Boolean> = <any?>other
  --- -<Boolean> isEqual:<any?>other
  --- Whether the other value is a match of the same text at the same position.
  --- > ('k=v' firstMatch: /k/) = ('k=v' firstMatch: /./) ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._offsets ~= nil and other:text() == itsText(self)
      and other:from() == self:from()
  end,
})

-- Calls `act` with the list of offsets and the place of each match in it.
local function eachMatch(pattern, text, act)
  local search, width = native.patternSearch(pattern._compiled, text), 2 * (pattern._groups + 1)
  while true do
    local offsets = native.patternNext(search, 65536)
    if not offsets then return end
    for at = 1, #offsets, width do act(offsets, at) end
  end
end

local function firstMatch(text, pattern)
  pattern = expectPattern(pattern, "firstMatch:")
  local offsets = native.patternNext(native.patternSearch(pattern._compiled, text), 1)
  if offsets then return made(pattern, text, offsets, 1) end
end

local function allMatches(text, pattern)
  pattern = expectPattern(pattern, "allMatches:")
  local list, n = {}, 0
  eachMatch(pattern, text, function(offsets, at)
    n = n + 1
    list[n] = made(pattern, text, offsets, at)
  end)
  return K.array(list)
end

-- Replacing and splitting -----------------------------------------------------------------------

-- The parts of a replacement: texts, and numbers of groups for `$1`, `$name` and `${name}`. `$$` is a
-- dollar sign, and so is `$` without a group.
local function template(pattern, text)
  local parts, at = {}, 1
  while true do
    local dollar = find(text, "$", at, true)
    if not dollar then break end
    parts[#parts + 1] = sub(text, at, dollar - 1)
    local name = match(text, "^{([%w_]+)}", dollar + 1)
    at = dollar + 1 + (name and #name + 2 or 0)
    if not name then
      name = match(text, "^%d+", at) or match(text, "^[%a_][%w_]*", at)
      at = at + (name and #name or 0)
    end
    if name then
      local number = tonumber(name)
      parts[#parts + 1] = number and expectGroup(pattern, number) or numberOf(pattern, name)
    else
      parts[#parts + 1] = "$"
      if sub(text, at, at) == "$" then at = at + 1 end
    end
  end
  parts[#parts + 1] = sub(text, at)
  return parts
end

-- Bytes of a text that replacing makes: 256 MiB.
local LONGEST = 268435456

local function replaced(pattern, text, new)
  local parts = type(new) ~= "function" and template(pattern, K.str(new))
  local out, n, size, from = {}, 0, 0, 1
  local function add(piece)
    n, size = n + 1, size + #piece
    out[n] = piece
    if size > LONGEST then throw("tooLarge", "a String may have at most 256 MiB") end
  end
  eachMatch(pattern, text, function(offsets, at)
    add(sub(text, from, offsets[at]))
    from = offsets[at + 1] + 1
    local found = made(pattern, text, offsets, at)
    if not parts then return add(K.str(new(found))) end
    for i = 1, #parts do
      local part = parts[i]
      if type(part) == "number" then part = group(found, part) or "" end
      if part ~= "" then add(part) end
    end
  end)
  if n == 0 then return text end
  add(sub(text, from))
  return K.joinTexts(out, n, "")
end

local function separated(pattern, text)
  local list, n, from = {}, 0, 1
  eachMatch(pattern, text, function(offsets, at)
    n = n + 1
    list[n] = sub(text, from, offsets[at])
    from = offsets[at + 1] + 1
  end)
  list[n + 1] = sub(text, from)
  return list
end

-- Messages --------------------------------------------------------------------------------------

-- What the messages of String ask of a pattern.
K.method(Pattern, "_foundIn", function(self, text)
  return native.patternFinds(self._compiled, text)
end)
K.method(Pattern, "_positionIn", function(self, text)
  local first = firstMatch(text, self)
  return first and first:from()
end)
K.method(Pattern, "_replacedIn", replaced)
K.method(Pattern, "_separated", separated)

local function source(self) return self._source end
K.methods(Pattern, {
  --- -<String> description
  --- The pattern between slashes.
  --- > /a+/ description ⇒ '/a+/'
  ["description"] = function(self) return "/" .. K.split(self._source, "/", "\\/") .. "/" end,
  --- -<String> asString
  --- -<String> stringValue
  --- The source of the pattern, without slashes.
  --- > /a+/ asString ⇒ 'a+'
  ["asString"] = source, ["stringValue"] = source,
  --- -<self> asPattern
  --- The pattern itself.
  --- > /a+/ asPattern asString ⇒ 'a+'
  ["asPattern"] = function(self) return self end,
  --- -<self> copy
  --- The pattern itself: it does not change.
  --- > /a+/ copy asString ⇒ 'a+'
  ["copy"] = function(self) return self end,
  --- -<Boolean> = <any?>other
  --- -<Boolean> isEqual:<any?>other
  --- Whether the other value is a pattern with the same source.
  --- > /a+/ = 'a+' asPattern ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isPattern == true and other._source == self._source
  end,
})
K.method(Pattern, "_keyText", function(self) return "/" .. #self._source .. ":" .. self._source end)

K.methods(String, {
  --- -<Pattern> asPattern
  --- The pattern that the text spells. A wrong one is an error of the kind `invalid` that says where.
  --- > 'a-b' split: '[-+]' asPattern ⇒ ['a', 'b']
  ["asPattern"] = function(text) return K.pattern(text) end,
  --- -<Boolean> matches:<Pattern>pattern
  --- Whether the pattern matches the whole text; `contains:` looks for a part that it matches.
  --- > '2026-11' matches: /\d{4}-\d{2}/ ⇒ true
  ["matches:"] = function(text, pattern)
    return native.patternMatches(expectPattern(pattern, "matches:")._compiled, text)
  end,
  --- -<Match?> firstMatch:<Pattern>pattern
  --- The first match of the pattern in the text; nil where there is none.
  --- > ('order 17' firstMatch: /\d+/) text ⇒ '17'

  --- -<Array> allMatches:<Pattern>pattern
  --- All matches of the pattern in the text, in order; they do not overlap.
  --- > 'a1b22' allMatches: /\d+/ | collect: { :match | match text } ⇒ ['1', '22']
  ["firstMatch:"] = firstMatch, ["allMatches:"] = allMatches,
})
