-- Property paths: `/tasks/:<int>id { get { … } }`.
--
-- Literal segments win over parameters, and parameters over a rest; whatever their order in the
-- text. A class inherits the paths of its superclass; its own come first among equals.
local K = ...
local type, rawget = type, rawget
local throw = K.throw

-- Handlers that take their content while it arrives.
local streamed = setmetatable({}, { __mode = "k" })

-- A class's paths: `_paths` holds its own, in order; `_routes` is made when first asked.
-- `declared` says what its handlers take and answer (net/handler.lua).
function K.path(class, pattern, segments, verbs, declared)
  class._paths = rawget(class, "_paths") or {}
  local entry = { pattern = pattern, segments = segments, verbs = verbs, class = class, declared = declared or {} }
  for i = 1, #segments do
    local segment = segments[i]
    if type(segment) == "table" and segment.rest then entry.rest = i end
    if type(segment) == "table" and segment[2] then
      segment.type = K.typeOf(segment[2])
      -- Any text is one of these.
      local plain = segment.type.kind == "string" and segment.type.min == nil and segment.type.max == nil
        and not segment.type.pattern
      if not plain then segment.read = K.textReader(segment.type) end
    end
  end
  for verb, body in pairs(verbs) do
    if entry.declared[verb] and entry.declared[verb].streamed then streamed[body] = true end
  end
  -- Defined again (at the prompt): the new one takes the place of the old.
  for i, existing in ipairs(class._paths) do
    if existing.pattern == pattern then
      for verb, body in pairs(existing.verbs) do
        if not verbs[verb] then
          verbs[verb] = body
          entry.declared[verb] = existing.declared[verb]
        end
      end
      table.remove(class._paths, i)
      break
    end
  end
  table.insert(class._paths, entry)
  K.forgetRoutes(class)
end

function K.forgetRoutes(class)
  class._routes = nil
  for _, sub in ipairs(class._subs) do K.forgetRoutes(sub) end
end

-- Whether a goes before b: literal before parameter before rest, segment by segment.
local function rank(segment)
  if type(segment) == "string" then return 3 end
  if segment == nil then return 1.5 end
  return segment.rest and 1 or 2
end

local function before(a, b)
  for i = 1, math.max(#a.segments, #b.segments) do
    local left, right = rank(a.segments[i]), rank(b.segments[i])
    if left ~= right then return left > right end
  end
  return a.order < b.order
end

-- The guards of classes, for what their paths do not answer, and for paths of other classes in a line
-- of inheritance: those of a class's own paths are compiled into its handlers.
local guards = {}
function K.guardedBy(class, guard)
  guards[class] = guard
  K.forgetRoutes(class)
end

-- A handler of one class behind the guards of others.
local function guarded(body, others)
  if #others == 0 then return body end
  local function whole(self, reference, ...)
    for i = 1, #others do others[i](self, reference) end
    return body(self, reference, ...)
  end
  streamed[whole] = streamed[body]
  return whole
end

local function handlersOf(entry, all)
  local others = {}
  for i = 1, #all do
    if all[i].class ~= entry.class then others[#others + 1] = all[i].guard end
  end
  if #others == 0 then return entry.verbs end
  local verbs = {}
  for verb, body in pairs(entry.verbs) do verbs[verb] = guarded(body, others) end
  return verbs
end

-- The guards in a line of inheritance, from the root down.
local function guardsOf(class)
  local all = {}
  while class do
    if guards[class] then table.insert(all, 1, { class = class, guard = guards[class] }) end
    class = class._super
  end
  return all
end

-- Whether a path of a line of inheritance is behind a guard that stands outside of its class.
function K.isGuardedElsewhere(class, entry)
  for _, one in ipairs(guardsOf(class)) do
    if one.class ~= entry.class then return true end
  end
  return false
end

local function routes(class)
  local known = rawget(class, "_routes")
  if known then return known end
  local exact, patterns, order = {}, {}, 0
  local all = guardsOf(class)
  local at = class
  while at do
    for _, entry in ipairs(rawget(at, "_paths") or {}) do
      order = order + 1
      local literal = true
      for _, segment in ipairs(entry.segments) do literal = literal and type(segment) == "string" end
      if literal then
        local key = table.concat(entry.segments, "/")
        local verbs = exact[key] or {}
        for verb, body in pairs(handlersOf(entry, all)) do verbs[verb] = verbs[verb] or body end
        -- As requests write it, too: then nothing has to be cut off.
        exact[key], exact["/" .. key] = verbs, verbs
      else
        patterns[#patterns + 1] = {
          pattern = entry.pattern, segments = entry.segments, verbs = handlersOf(entry, all), rest = entry.rest,
          order = order,
        }
      end
    end
    at = at._super
  end
  table.sort(patterns, before)
  known = { exact = exact, patterns = patterns, empty = order == 0 and #all == 0, guards = #all > 0 and all or nil }
  class._routes = known
  return known
end
K.routesOf = routes

local function matches(entry, parts, count, path)
  local segments = entry.segments
  local rest = entry.rest
  if rest then
    if count < rest - 1 then return nil end
  elseif count ~= #segments then
    return nil
  end
  local values, n = {}, 0
  for i = 1, #segments do
    local segment = segments[i]
    if type(segment) == "string" then
      if parts[i] ~= segment then return nil end
    elseif segment.rest then
      -- The tail as it was written, with a slash at its end where there was one.
      local from = parts.starts[i]
      n = n + 1
      values[n] = from and string.sub(path, from) or ""
    else
      local value = K.decodeSegment(parts[i])
      if segment.read then value = segment.read(value) end
      if value == nil then return nil end
      n = n + 1
      values[n] = value
    end
  end
  return values, n
end

local function cut(path)
  local parts, starts, count = {}, {}, 0
  local from = 1
  while true do
    local first, last = string.find(path, "[^/]+", from)
    if not first then break end
    count = count + 1
    parts[count], starts[count] = string.sub(path, first, last), first
    from = last + 1
  end
  parts.starts = starts
  return parts, count
end

-- Finds who answers a verb on a path: the body and its parameters; or nil, and whether the path is
-- known under other verbs.
local function resolve(class, verb, path)
  local known = routes(class)
  if known.empty then return nil, false end
  local usual = known.exact[path]
  if usual and usual[verb] then return usual[verb] end
  local key = path
  if string.byte(key, 1) == 47 then key = string.gsub(key, "^/+", "") end
  if key == "." then key = "" end
  local exact = known.exact[key]
  if exact and exact[verb] then return exact[verb] end
  local seen = exact ~= nil
  if not exact and string.byte(key, -1) == 47 then
    exact = known.exact[(string.gsub(key, "/+$", ""))]
    if exact and exact[verb] then return exact[verb] end
    seen = exact ~= nil
  end
  if #known.patterns > 0 then
    local parts, count = cut(key)
    for i = 1, #known.patterns do
      local entry = known.patterns[i]
      local values, n = matches(entry, parts, count, key)
      if values then
        seen = true
        local body = entry.verbs[verb]
        if body then return body, values, n, entry.pattern end
      end
    end
  end
  return nil, seen
end

K.resolvePath = resolve

-- Whether the object's class has property paths.
function K.hasPath(object)
  local class = K.classOf(object)
  return class and class._subs and not routes(class).empty or false
end

-- Asks an object's property paths: whether one answered, and its answer. A `get` for a client may
-- write its page where the client can get it piece by piece.
function K.tryPath(object, verb, path, value, reference, client)
  local class = K.classOf(object)
  if not class or not class._subs then return false end
  local body, values, n = resolve(class, verb, path)
  reference = reference or K.pathReference(path)
  if not body then
    local all = routes(class).guards
    for i = 1, all and #all or 0 do all[i].guard(object, reference) end
    return false, nil, values
  end
  if not values then return true, body(object, reference, value, client) end
  if n == 1 then return true, body(object, reference, value, values[1], client) end
  values[n + 1] = client
  return true, body(object, reference, value, unpack(values, 1, n + 1))
end

-- Whether each `get` of a class is behind a guard: a cache in front of it would answer everybody.
function K.isGuarded(class)
  local any, at = false, class
  while at do
    for _, entry in ipairs(rawget(at, "_paths") or {}) do
      local declared = entry.declared and entry.declared.get
      if entry.verbs.get and not (declared and declared.guarded or K.isGuardedElsewhere(class, entry)) then return false end
      any = any or entry.verbs.get ~= nil
    end
    at = at._super
  end
  return any
end

-- The verbs that a path understands, as words; for 405 and OPTIONS. With `post` there is `post:streamed` where
-- its handler takes content while it arrives.
function K.pathVerbs(class, path)
  local verbs = {}
  for _, verb in ipairs { "get", "put", "post", "merge", "delete", "list" } do
    local body = resolve(class, verb, path)
    if body then verbs[#verbs + 1] = verb end
    if body and streamed[body] then verbs[#verbs + 1] = verb .. ":streamed" end
  end
  return verbs
end

K.nilKeys._paths, K.nilKeys._routes = true, true

-- What is said when a scheme has no such path or verb.
function K.refuseVerb(verb, path)
  throw("notAllowed", string.format("%s %s: this scheme does not %s here", verb, path, verb))
end
