-- The API of what a server serves, as plain data: crates/openapi makes documents, pages and clients of it.
local K = ...
local type, rawget, ipairs = type, rawget, ipairs
local entries, NULL = K.entries, K.NULL

local METHODS = { get = "GET", put = "PUT", post = "POST", merge = "PATCH", delete = "DELETE" }
local VERBS = { "get", "put", "post", "merge", "delete" }
local DEEPEST = 20

local function text(word) return K.recordOf { "text", word } end

local function orNull(value)
  if value == nil or value == false then return NULL end
  return value
end

-- What is collected: operations, tables and descriptions of classes.
local function newCollection()
  local placeOf, described = K.describedClasses(true)
  return { placeOf = placeOf, described = described, operations = {}, tables = {}, verbs = VERBS }
end

local function describe(collection, declared) return K.describeType(K.typeOf(declared), collection.placeOf, true) end

local function segmentsOf(collection, prefix, entry)
  local list = {}
  for i, name in ipairs(prefix) do list[i] = text(name) end
  for _, segment in ipairs(entry.segments) do
    if type(segment) == "string" then
      list[#list + 1] = text(segment)
    elseif segment.rest then
      list[#list + 1] = K.recordOf { "rest", segment[1] or "rest" }
    else
      list[#list + 1] = K.recordOf { "name", segment[1], "type", describe(collection, segment[2] or "string") }
    end
  end
  return K.array(list)
end

local function parametersOf(collection, declared, paged)
  local list, all = {}, K.copyList(declared or {})
  for _, parameter in ipairs(paged and K.pageParameters(paged.size, paged.most) or {}) do all[#all + 1] = parameter end
  for i, parameter in ipairs(all) do
    local kind = K.typeOf(parameter.type or "string")
    local default = NULL
    if parameter.default then
      default = K.textReader(kind.kind == "list" and kind.element or kind)(parameter.default)
      if type(default) == "table" then default = parameter.default end
      if default == nil then default = NULL end
    end
    local optional = kind.optional or kind.kind == "list" and (kind.min or 0) == 0
    list[i] = K.recordOf {
      "in", parameter.place, "name", parameter.name, "type", K.describeType(kind, collection.placeOf, true),
      "required", orNull(not optional and parameter.default == nil), "default", default,
      "about", orNull(parameter.about), "repeated", orNull(kind.kind == "list"),
    }
  end
  return K.array(list)
end

local JSON = K.array { "application/json" }

-- Behind a converter of JSON every answer is JSON.
local function answersOf(collection, declared)
  local list = {}
  for i, answer in ipairs(declared or {}) do
    local headers = {}
    for at, name in ipairs(answer.headers or {}) do headers[at] = name end
    list[i] = K.recordOf {
      "status", answer.status or 200, "type", answer.type and describe(collection, answer.type) or NULL,
      "headers", #headers > 0 and K.array(headers) or NULL, "member", orNull(answer.member),
      "media", answer.type and collection.json > 0 and JSON or NULL,
    }
  end
  return K.array(list)
end

local CONTENT = { "application/json", "application/x-www-form-urlencoded", "multipart/form-data" }

-- The body of a handler that takes it while it arrives.
local function streamedBody(declared)
  local kind = declared.parts and "record" or "bytes"
  return K.recordOf {
    "type", K.recordOf { "kind", kind }, "required", true,
    "media", K.array { declared.parts and "multipart/form-data" or "application/octet-stream" },
  }
end

local function bodyOf(collection, verb, declared)
  if declared.streamed then return streamedBody(declared) end
  if not declared.content then return NULL end
  local kind, member = K.typeOf(declared.content), declared.member
  return K.recordOf {
    "type", K.describeType(kind, collection.placeOf, true),
    "media", K.array(member and { CONTENT[1] } or K.copyList(CONTENT)), "member", orNull(member),
    "partial", orNull(verb == "merge" or declared.partial), "required", orNull(not kind.optional),
  }
end

-- The first literal segment behind the prefix groups the operations.
local function tagOf(class, entry)
  local first = entry.segments[1]
  return type(first) == "string" and first or class._name
end

local function pagesOf(declared)
  if not declared then return NULL end
  return K.recordOf { "size", declared.size, "most", declared.most }
end

-- Whether what `get` answers has an entity tag, which writes can name.
local function isConditional(entry, verb)
  local read = entry.declared.get
  return verb ~= "post" and entry.verbs.get and read and read.answers and read.answers[1].type ~= nil
end

-- How clients pass the Guard around; null without one.
local function securityList(collection)
  return collection.security and K.array(K.copyList(collection.security)) or NULL
end

local function addOperation(collection, prefix, class, entry, verb)
  local declared = entry.declared[verb] or {}
  if declared.hidden then return end
  -- The guards of classes that inherit a path, or that it inherits from, let nobody in for it.
  local guarded = declared.guarded or K.isGuardedElsewhere(class, entry) or collection.security ~= nil
  collection.operations[#collection.operations + 1] = K.recordOf {
    "method", METHODS[verb], "path", segmentsOf(collection, prefix, entry), "tag", tagOf(class, entry),
    "about", orNull(declared.about or entry.declared.about), "public", orNull(declared.public and not guarded),
    "guarded", orNull(guarded), "security", securityList(collection), "deprecated", orNull(declared.deprecated),
    "parameters", parametersOf(collection, declared.parameters, declared.paged), "paged", pagesOf(declared.paged),
    "body", bodyOf(collection, verb, declared), "answers", answersOf(collection, declared.answers),
    "finds", orNull(declared.finds), "conditional", orNull(isConditional(entry, verb)),
    "refused", declared.refused and describe(collection, declared.refused) or NULL,
  }
end

local function addTable(collection, prefix, class)
  local segments = {}
  for i, name in ipairs(prefix) do segments[i] = text(name) end
  collection.tables[#collection.tables + 1] = K.recordOf {
    "path", K.array(segments), "class", collection.placeOf(class), "security", securityList(collection),
    "served", K.servedLimits(class),
  }
end

-- The paths of a class and of those that it inherits from; the nearest one counts.
local function walkClass(visit, prefix, class)
  local taken, at = {}, class
  while at do
    for _, entry in ipairs(rawget(at, "_paths") or {}) do
      for _, verb in ipairs(visit.verbs) do
        local key = verb .. " " .. entry.pattern
        if entry.verbs[verb] and not taken[key] then
          taken[key] = true
          visit:path(prefix, class, entry, verb)
        end
      end
    end
    at = rawget(at, "_super")
  end
end

local function below(prefix, name)
  local list = K.copyList(prefix)
  for part in string.gmatch(name, "[^/]+") do list[#list + 1] = part end
  return list
end

local walk

-- How clients pass a Guard; the class as it is here, whatever a program calls by its name.
local Guard = K.classes.Guard
local function securityOf(guard)
  local list = {}
  if rawget(guard, "i_user") or rawget(guard, "i_users") then list[1] = "basic" end
  if rawget(guard, "i_bearer") or #list == 0 then list[#list + 1] = "bearer" end
  return list
end

-- What a Route has under its names.
local function walkRoute(visit, prefix, store, depth)
  local stores, names = store.i_stores or {}, rawget(store, "_names") or {}
  for i = 1, #stores do walk(visit, below(prefix, names[i] or ""), stores[i], depth + 1) end
  if store.i_otherwise then walk(visit, prefix, store.i_otherwise, depth + 1) end
end

-- What a store serves, and the stores that it is made of: `visit:path(prefix, class, entry, verb)` for each of
-- `visit.verbs` of a path, `visit:table(prefix, class)` for a table with a class. `visit.json` counts the
-- converters of JSON around, `visit.security` says how clients pass the innermost Guard around.
function walk(visit, prefix, store, depth)
  if type(store) ~= "table" or depth > DEEPEST or K.isClass(store) then return end
  local class = K.classOf(store)
  if not class or not class._subs then return end
  walkClass(visit, prefix, class)
  if store._isTable then
    if rawget(store, "i_class") then visit:table(prefix, store.i_class) end
    return
  end
  if K.isKind(store, K.classes.Route) then return walkRoute(visit, prefix, store, depth) end
  local converts, outer = K.isKind(store, K.classes.JSONConverter) and 1 or 0, visit.security
  visit.json = visit.json + converts
  if K.isKind(store, Guard) then visit.security = securityOf(store) end
  for i = 1, #(rawget(store, "i_stores") or {}) do walk(visit, prefix, store.i_stores[i], depth + 1) end
  if rawget(store, "i_source") then walk(visit, prefix, store.i_source, depth + 1) end
  visit.json, visit.security = visit.json - converts, outer
end

function K.walkServed(store, visit)
  visit.json = 0
  walk(visit, {}, store, 0)
end

-- The first of a store and the stores that it is made of for which a function answers something.
local function firstOf(store, depth, wanted)
  if type(store) ~= "table" or K.isClass(store) or depth > DEEPEST then return nil end
  local found = wanted(store)
  if found ~= nil then return found end
  local parts = K.copyList(rawget(store, "i_stores") or {})
  parts[#parts + 1] = rawget(store, "i_otherwise")
  parts[#parts + 1] = rawget(store, "i_source")
  for i = 1, #parts do
    found = firstOf(parts[i], depth + 1, wanted)
    if found ~= nil then return found end
  end
  return nil
end

-- What `#OpenAPI{ title: … }` in front of a store says of it.
local function described(store)
  if K.isKind(store, K.classes.OpenAPI) then return store end
  return nil
end

-- The class of a scheme with paths.
local function named(store)
  local class = K.classOf(store)
  return class and class._subs and rawget(class, "_paths") and class._name or nil
end

-- The API of a store at a base address.
local function apiOf(store, base)
  local collection = newCollection()
  collection.path, collection.table = addOperation, addTable
  K.walkServed(store, collection)
  local said = firstOf(store, 0, described) or {}
  return K.recordOf {
    "title", said.i_title or firstOf(store, 0, named) or "API", "version", said.i_version or "1.0.0",
    "about", orNull(said.i_about), "contact", orNull(said.i_contact), "strict", true, "servers", K.array { base },
    "operations", K.array(collection.operations), "tables", K.array(collection.tables),
    "classes", collection.described(),
  }
end

--- The OpenAPI document of a store, which `#OpenAPI{ }` serves at `/openapi.json`.
local ApiDescription = K.newClass("ApiDescription", K.classes.Store)
ApiDescription._plainName = true -- a program may have a class of this name
K.nilKeys._described = true
-- The store may be below a path that it does not know: its document says where it is.
K.method(ApiDescription, "at_", function(self) return K.native.json(apiOf(self._described, ".")) end)

local take = K.optionKinds
--- OpenAPI -<String?> title
--- OpenAPI -<nothing> setTitle:<String>value
--- The title of the document. Without one, it is the name of the first class with paths.
--- > #OpenAPI{ title: 'Shop' } title ⇒ 'Shop'

--- OpenAPI -<String?> version
--- OpenAPI -<nothing> setVersion:<String>value
--- The version of the API in the document; `1.0.0` without one.
--- > #OpenAPI{ version: '2.1' } version ⇒ '2.1'

--- OpenAPI -<String?> about
--- OpenAPI -<nothing> setAbout:<String>value
--- The description of the API in the document.
--- > #OpenAPI{ about: 'Orders and stock' } about ⇒ 'Orders and stock'

--- OpenAPI -<String?> contact
--- OpenAPI -<nothing> setContact:<String>value
--- Who answers questions on the API: a mail address or a URL.
--- > #OpenAPI{ contact: 'api@example.org' } contact ⇒ 'api@example.org'

--- A store that serves the OpenAPI document of the store behind it: `#OpenAPI{ title: 'Shop' } → shop`.
K.nativeCombinator {
  name = "OpenAPI", kind = "made:openAPI", super = K.classes.MappingStore,
  parts = function(self)
    local description = ApiDescription:new()
    description._described = self
    return { K.sourceOf(self), description }, { "source", "api" }
  end,
  options = { title = take.text, version = take.text, about = take.text, contact = take.text },
}

-- For `runnel openapi` and `runnel client`: the API of what the servers of a program serve, the first that
-- has one.
function entries.apiText()
  for _, server in ipairs(K.knownServers()) do
    local api = apiOf(server.i_scheme, "/")
    if #api._map.operations > 0 or #api._map.tables > 0 then return K.native.json(api) end
  end
  return nil
end
