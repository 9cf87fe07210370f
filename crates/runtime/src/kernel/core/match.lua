-- Pattern matching: what generated code calls for `value match: [ pattern → { … }, … ] otherwise: { … }`.
local K = ...
local type, select, unpack = type, select, unpack
local throw, truth = K.throw, K.truth

-- Patterns within each other.
local DEEPEST = 64

local fits

local function fitsArray(value, pattern, found, depth)
  if type(value) ~= "table" or not value._isArray or #value ~= #pattern then return false end
  for i = 1, #pattern do
    local one, part = value[i], pattern[i]
    if one == K.NULL then one = nil end
    if part == K.NULL then part = nil end
    if not fits(one, part, found, depth + 1) then return false end
  end
  return true
end

-- Each entry of the pattern must be there: an entry of a dictionary, or a property of another object.
local function fitsEntries(value, pattern, found, depth)
  if type(value) ~= "table" then return false end
  local keys, isDictionary = pattern:keys(), value._isDictionary
  for i = 1, #keys do
    local key = keys[i]
    local one
    if isDictionary then
      if not value:includesKey_(key) then return false end
      one = value:at_(key)
    else
      if type(key) ~= "string" or not K.understands(value, K.mangle(key)) then return false end
      one = K.property(value, key)
    end
    if not fits(one, pattern:at_(key), found, depth + 1) then return false end
  end
  return true
end

local function keep(found, value)
  found.n = found.n + 1
  found[found.n] = value
  return true
end

-- Whether a value fits a pattern. What classes and conditions in it stand for is kept in `found`.
function fits(value, pattern, found, depth)
  if depth > DEEPEST then throw("tooLarge", "match: patterns are nested deeper than 64 levels") end
  local kind = type(pattern)
  if kind == "function" then return truth(pattern(value)) and keep(found, value) end
  if kind ~= "table" then return K.eq(value, pattern) end
  if K.isClass(pattern) then return value ~= nil and K.isKind(value, pattern) and keep(found, value) end
  if pattern._isArray then return fitsArray(value, pattern, found, depth) end
  if pattern._isDictionary then return fitsEntries(value, pattern, found, depth) end
  if pattern._isInterval or pattern._isSet then return K.eq(value, pattern) or pattern:includes_(value) end
  if pattern._isPattern then return type(value) == "string" and value:matches_(pattern) end
  return K.eq(value, pattern)
end

-- The cases are patterns and blocks in turn.
function K.match(value, cases, count, ...)
  for i = 1, count, 2 do
    local found = { n = 0 }
    if fits(value, cases[i], found, 1) then
      if found.n == 0 then return cases[i + 1](value) end
      return cases[i + 1](unpack(found, 1, found.n))
    end
  end
  if select("#", ...) > 0 then return K.valueOf((...), value) end
  throw("noMatch", "no case of match: fits " .. K.nameOf(value), { i_hint = "add otherwise: { … } for the rest" })
end

local function refused()
  throw("typeError", "match: expects its cases written out: [ 0 → { 'none' }, Number → { :n | n } ]")
end
local messages = {
  --- Object -<any> match:<any>cases
  --- Answers the value of the block of the first case whose pattern fits; an error (`noMatch`) when none fits. A
  --- literal must be equal, an Interval or Set include the value, a regular expression match it, a class be its class,
  --- a block answer true. Arrays and Dictionaries fit part by part. The block gets what classes and blocks in the
  --- pattern matched, otherwise the whole value.
  --- > 7 match: [ 0 → { 'none' }, (1 to: 9) → { 'few' }, Number → { 'many' } ] ⇒ 'few'
  --- > [3, 4] match: [ [Number, Number] → { :x :y | x * y } ] ⇒ 12
  --- > 'x' match: [ Number → { 1 } ] ⇒ error: no case of match: fits a String ('x')
  ["match:"] = refused,
  --- Object -<any> match:<any>cases otherwise:<any?>alternative
  --- Like `match:`; when no case fits, answers the value of the block, or the argument itself.
  --- > #{ kind: 'square', side: 3 } match: [ #{ kind: 'circle' } → { 1 } ] otherwise: { 0 } ⇒ 0
  --- > #{ kind: 'square', side: 3 } match: [ #{ kind: 'square', side: Number } → { :a | a * a } ] otherwise: 0 ⇒ 9
  ["match:otherwise:"] = refused,
}
K.methods(K.classes.Object, messages)
