-- Stores that are filled before they are used: routes as a table, values put in beforehand.
local K = ...
local type, rawget = type, rawget
local pathOf, throw = K.pathOf, K.throw
local Store, Mapping = K.classes.Store, K.classes.MappingStore

-- TemplateStore: what is put at `hello/:who` answers at `hello/anna`. A block gets the parameters;
-- anything else is the answer itself.
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
  ["at:"] = function(self, reference)
    local body, values, n = K.resolvePath(routing(self), "get", (K.splitPath(pathOf(reference))))
    if not body then return nil end
    if not values then return body(self, reference, nil) end
    return body(self, reference, nil, unpack(values, 1, n))
  end,
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
  -- The patterns, in the order in which they were put.
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

-- InitStore: puts values where its source has nothing, when it gets its source.
local Init = K.newClass("InitStore", Mapping)
K.alias("MPWInitStore", Init)
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
  ["setSource:"] = function(self, source)
    setSource(self, source)
    fill(self)
  end,
  ["setValues:"] = function(self, values)
    if type(values) ~= "table" or not values._isDictionary then
      throw("typeError", "`values` of an InitStore must be a dictionary, not " .. K.nameOf(values))
    end
    self.i_values = values
    fill(self)
  end,
})

-- BlockFilterStore: references and values go through blocks.
local BlockFilter = K.newClass("BlockFilterStore", Mapping)
for _, name in ipairs { "BlockFilterScheme", "MPWBlockFilterScheme" } do K.alias(name, BlockFilter) end
for _, name in ipairs { "idFilter", "valueFilter", "storeFilter" } do K.ivar(BlockFilter, name) end
K.methods(BlockFilter, {
  ["mapReference:"] = function(self, reference)
    local block = self.i_idFilter
    if not block then return reference end
    return K.pathReference(pathOf(block(pathOf(reference))), reference._scheme)
  end,
  ["mapRetrievedObject:forReference:"] = function(self, object)
    if self.i_valueFilter then return self.i_valueFilter(object) end
    return object
  end,
  ["mapObjectToStore:forReference:"] = function(self, object)
    if self.i_storeFilter then return self.i_storeFilter(object) end
    return object
  end,
})
