-- Stores that are filled before they are used: routes as a table, values put in beforehand.
local K = ...
local type, rawget = type, rawget
local pathOf, throw = K.pathOf, K.throw
local Store, Mapping = K.classes.Store, K.classes.MappingStore

--- A table of routes: what is put at `hello/:who` answers at `hello/anna`. A block gets the parameters; another value
--- is the answer itself. Literal segments win over parameters.
local Template = K.newClass("TemplateStore", Store)
for _, name in ipairs { "MPWTemplateMatchingStore", "TemplateMatchingStore" } do K.alias(name, Template) end
K.nilKeys._routing = true
Template._plainName = true

-- The segments of a pattern, as property paths have them.
local function segmentsOf(pattern)
  local segments = {}
  for part in string.gmatch(pattern, "[^/]+") do
    local kind, name = string.match(part, "^:<(%w+)>(.+)$")
    if not name then name = string.match(part, "^:(.+)$") end
    if part == "*" or string.find(part, "^%*:") then
      segments[#segments + 1] = { string.match(part, "^%*:(.+)$") or "rest", rest = true }
    elseif name then
      segments[#segments + 1] = { name, kind }
    else
      segments[#segments + 1] = part
    end
  end
  return segments
end

local function patternOf(reference)
  return (string.gsub((K.splitPath(pathOf(reference))), "^/+", ""))
end

-- The table of an instance: it has the form of a class, whose paths are looked up in the same way.
local function routing(self)
  local routes = rawget(self, "_routing")
  if not routes then
    routes = { _subs = {} }
    self._routing = routes
  end
  return routes
end

K.methods(Template, {
  --- -<any> at:<Reference|String|Number>pattern put:<any>answer
  --- Adds a route, or replaces the one of the same pattern. `:name` is a parameter, `:<int>n` a number, `*:rest` the
  --- rest of the path, which stands at the end. Answers the value; nil removes the route.
  --- > store := TemplateStore new. store at: 'square/:<int>n' put: { :n | n * n }. store at: 'square/12' ⇒ 144
  ["at:put:"] = function(self, reference, value)
    local pattern, routes = patternOf(reference), routing(self)
    if value == nil then return self:deleteAt_(reference) end
    local segments = segmentsOf(pattern)
    for i = 1, #segments - 1 do
      if type(segments[i]) == "table" and segments[i].rest then
        throw("invalid", string.format("`%s`: what takes the rest of a path stands at its end", pattern))
      end
    end
    local function answer(_, _, _, ...)
      if type(value) == "function" then return value(...) end
      return value
    end
    K.path(routes, pattern, segments, { get = answer })
    return value
  end,
  --- -<any> at:<Reference|String|Number>path
  --- The answer of the route that matches the path; nil where none does.
  --- > #TemplateStore{ 'hello/:who': { :who | "Hello {who}!" } } at: 'hello/Ann' ⇒ 'Hello Ann!'
  ["at:"] = function(self, reference)
    local body, values, n = K.resolvePath(routing(self), "get", (K.splitPath(pathOf(reference))))
    if not body then return nil end
    if not values then return body(self, reference, nil) end
    return body(self, reference, nil, unpack(values, 1, n))
  end,
  --- -<Boolean> deleteAt:<Reference|String|Number>pattern
  --- Removes the route of exactly this pattern, and answers whether there was one.
  --- > #TemplateStore{ 'hello/:who': 'Hello!' } deleteAt: 'hello/:who' ⇒ true
  ["deleteAt:"] = function(self, reference)
    local pattern, routes = patternOf(reference), routing(self)
    for i, entry in ipairs(rawget(routes, "_paths") or {}) do
      if entry.pattern == pattern then
        table.remove(routes._paths, i)
        K.forgetRoutes(routes)
        return true
      end
    end
    return false
  end,
  --- -<Array?> childrenOfReference:<Reference|String|Number>path
  --- The patterns in the order in which they were put, for the root; nil for other paths.
  --- > #TemplateStore{ 'hello/:who': 'Hello!' } childrenOfReference: '' ⇒ [ 'hello/:who' ]
  ["childrenOfReference:"] = function(self, reference)
    if patternOf(reference) ~= "" then return nil end
    local names = {}
    for i, entry in ipairs(rawget(routing(self), "_paths") or {}) do names[i] = entry.pattern end
    return K.array(names, #names)
  end,
})
K.classMethod(Template, "_literal", function(class, keys, values, n)
  local store = class:new()
  for i = 1, n do store:at_put_(K.pathReference(K.str(keys[i])), values[i]) end
  return store
end)

--- A store that writes initial values to its source, where the source has none.
local Init = K.newClass("InitStore", Mapping)
K.alias("MPWInitStore", Init)
--- -<Dictionary?> values
--- The initial values by path; nil before they are set.
--- > #InitStore{ values: #{ size: 10 } } values ⇒ #{ size: 10 }
K.ivar(Init, "values")
local function fill(self)
  if self.i_source == nil or self.i_values == nil then return end
  self.i_values:keysAndValuesDo_(function(path, value)
    path = K.str(path)
    if K.storeGet(self.i_source, path) == nil then K.storePutAt(self.i_source, path, value) end
  end)
end
local setSource = Mapping._methods.setSource_
K.methods(Init, {
  --- -<nothing> setSource:<any>source
  --- Sets the source, and writes the initial values that it lacks.
  --- > store := #InitStore{ values: #{ size: 10 } }. store setSource: #{ }. store at: 'size' ⇒ 10
  ["setSource:"] = function(self, source)
    setSource(self, source)
    fill(self)
  end,
  --- -<nothing> setValues:<Dictionary>values
  --- Sets the initial values by path, and writes those that the source lacks. Another value than a dictionary is an
  --- error.
  --- > store := #InitStore{ source: #{ size: 7 } }. store setValues: #{ size: 10 }. store at: 'size' ⇒ 7
  ["setValues:"] = function(self, values)
    if type(values) ~= "table" or not values._isDictionary then
      throw("typeError", "`values` of an InitStore must be a dictionary, not " .. K.nameOf(values))
    end
    self.i_values = values
    fill(self)
  end,
})

--- A store that maps references and values through blocks: `idFilter`, `valueFilter` and `storeFilter`.
local BlockFilter = K.newClass("BlockFilterStore", Mapping)
for _, name in ipairs { "BlockFilterScheme", "MPWBlockFilterScheme" } do K.alias(name, BlockFilter) end
--- BlockFilterStore -<Block(path)?> idFilter
--- The block that makes the path for the source of a path; nil leaves paths as they are.
--- > #BlockFilterStore{ source: #{ a: 1 }, idFilter: { :path | path lowercase } } at: 'A' ⇒ 1

--- BlockFilterStore -<Block(value)?> valueFilter
--- The block that maps each value that is read; nil leaves values as they are.
--- > #BlockFilterStore{ source: #{ a: 1 }, valueFilter: { :value | value + 1 } } at: 'a' ⇒ 2

--- BlockFilterStore -<Block(value)?> storeFilter
--- The block that maps each value that is written; nil leaves values as they are.
--- > all := #{ }. #BlockFilterStore{ source: all, storeFilter: { :value | value * 2 } } at: 'a' put: 1. all ⇒ #{ a: 2 }
for _, name in ipairs { "idFilter", "valueFilter", "storeFilter" } do K.ivar(BlockFilter, name) end
K.methods(BlockFilter, {
  --- -<any> mapReference:<Reference>reference
  --- The reference with the path that `idFilter` makes of its path.
  --- > (#BlockFilterStore{ idFilter: { :path | path lowercase } } mapReference: ref:memory:A) path ⇒ 'a'
  ["mapReference:"] = function(self, reference)
    local block = self.i_idFilter
    if not block then return reference end
    return K.pathReference(pathOf(block(pathOf(reference))), reference._scheme)
  end,
  --- -<any> mapRetrievedObject:<any>object forReference:<Reference>reference
  --- What `valueFilter` makes of a value of the source.
  --- > #BlockFilterStore{ source: #{ a: 'x' }, valueFilter: { :value | value uppercase } } at: 'a' ⇒ 'X'
  ["mapRetrievedObject:forReference:"] = function(self, object)
    if self.i_valueFilter then return self.i_valueFilter(object) end
    return object
  end,
  --- -<any> mapObjectToStore:<any>object forReference:<Reference>reference
  --- What `storeFilter` makes of a value that is written.
  --- > all := #{ }. #BlockFilterStore{ source: all, storeFilter: { :v | v + 1 } } at: 'a' put: 1. all at: 'a' ⇒ 2
  ["mapObjectToStore:forReference:"] = function(self, object)
    if self.i_storeFilter then return self.i_storeFilter(object) end
    return object
  end,
})
