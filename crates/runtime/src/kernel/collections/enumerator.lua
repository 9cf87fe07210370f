-- Enumerators: cursors over a collection, read element by element (`nextObject`, `?`).
-- `each` makes one; in a higher-order message it marks an argument that varies.
local K = ...
local setmetatable = setmetatable
local NULL = K.NULL

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
  ["nextObject"] = next_, ["next"] = next_,
  ["peek"] = function(self) return peek(self, self._at + 1) end,
  ["atEnd"] = function(self) return self._at >= total(self) end,
  ["hasNext"] = function(self) return self._at < total(self) end,
  ["next:"] = function(self, n)
    local out = {}
    n = K.expectInteger(n, "next:")
    while #out < n and self._at < total(self) do
      local value = next_(self)
      out[#out + 1] = value == nil and NULL or value
    end
    return K.array(out)
  end,
  ["skip:"] = function(self, n)
    self._at = math.max(0, math.min(total(self), self._at + K.expectInteger(n, "skip:")))
    return self
  end,
  ["reset"] = function(self)
    self._at = 0
    return self
  end,
  ["position"] = function(self) return self._at end,
  ["upToEnd"] = function(self) return K.array(self:_elements()) end,
  ["do:"] = each,
  ["count"] = function(self) return total(self) - self._at end,
  ["each"] = function(self) return self end,
  ["objectEnumerator"] = function(self) return self end,
  ["isEqual:"] = function(self, other) return rawequal(self, other) end,
  ["copy"] = function(self)
    return setmetatable({ _source = self._source, _list = self._list, _at = self._at },
      Enumerator._methods)
  end,
  ["description"] = function() return "an Enumerator" end,
})
K.classMethods(Enumerator, {
  ["on:"] = function(_, collection)
    if type(collection) == "string" then return K.enumerator(collection:asArray()) end
    K.elementsOf(collection, "on:")
    return K.enumerator(collection)
  end,
})
K.methods(K.classes.String, {
  ["each"] = function(self) return K.enumerator(self:asArray()) end,
})

K.methods(K.classes.Collection, {
  ["objectEnumerator"] = function(self) return K.enumerator(self) end,
  ["each"] = function(self) return K.enumerator(self) end,
  ["reverseObjectEnumerator"] = function(self) return K.enumerator(self:reversed()) end,
})
K.methods(K.classes.Dictionary, {
  ["keyEnumerator"] = function(self) return K.enumerator(self:keys()) end,
})
