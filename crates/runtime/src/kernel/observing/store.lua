-- Observed paths of stores. All observers of a path share one watch, which ends with the last of
-- them. Writes of this isolate to stores in memory and to stores of the program reach the observers
-- within the write.
local K = ...
local type, rawget, next, pairs, error, setmetatable = type, rawget, next, pairs, error, setmetatable
local find, gsub, sub = string.find, string.gsub, string.sub
local native = K.native
local observed = K.observedStores
local NULL = K.NULL

local hubs = setmetatable({}, { __mode = "k" }) -- store → path → hub
local MOST_VALUES = 1000 -- values that are known of one observed path and of those below it

local function plain(path) return (gsub(K.splitPath(path), "^/+", "")) end

local function isMemory(store)
  return K.isKind(store, K.classes.DictStore) or K.isKind(store, K.classes.SiteMap)
end

-- Whether one of two paths is the other, or below it.
local function touches(a, b)
  if a == b or a == "" or b == "" then return true end
  if #a > #b then a, b = b, a end
  return sub(b, 1, #a) == a and find(b, "^/", #a + 1) ~= nil
end

-- Remembers what is at a path now; answers whether it is what was known.
local function isKnown(hub, path)
  local ok, value = K.try(K.storeGet, hub.store, path, hub.scheme)
  if not ok then
    if K.catchable(value) then return false end
    error(value, 0)
  end
  if value == nil then value = NULL end
  local known = hub.known
  local before = known[path]
  if before == nil then
    if hub.count >= MOST_VALUES then return false end
    hub.count = hub.count + 1
  end
  known[path] = value
  return before ~= nil and K.sameValue(before, value)
end

local function changed(hub, path)
  -- After a write above it, the observed path itself is read.
  if #path < #hub.path then path = hub.path end
  if hub.compares and isKnown(hub, path) then return end
  hub:tell()
end

-- What is called with the path after a write of this isolate.
local function teller(paths)
  return function(written)
    written = plain(written)
    local told, n = {}, 0
    for path, hub in pairs(paths) do
      if touches(path, written) then
        n = n + 1
        told[n] = hub
      end
    end
    for i = 1, n do changed(told[i], written) end
  end
end

local written = setmetatable({}, { __mode = "k" }) -- the hubs that tellers know, by path

local function register(key, hub)
  local paths = written[key]
  if not paths then
    paths = {}
    written[key], observed[key] = paths, teller(paths)
  end
  paths[hub.path] = hub
  hub.registered = key
end

local function unregister(hub)
  local key = hub.registered
  local paths = key and written[key]
  if not paths or paths[hub.path] ~= hub then return end
  paths[hub.path] = nil
  if next(paths) == nil then written[key], observed[key] = nil, nil end
end

-- Takes a hub out, so that the next observer opens a watch of its own.
local function forget(hub)
  hub.released = true
  local paths = hubs[hub.store]
  if paths and paths[hub.path] == hub then
    paths[hub.path] = nil
    if next(paths) == nil then hubs[hub.store] = nil end
  end
  unregister(hub)
end

local function listen(hub, watch)
  native.fork(function()
    return K.alone(function()
      while true do
        local ok, told = K.try(native.nextChange, watch)
        if hub.released then return end
        if not ok or told == nil then
          forget(hub)
          if not ok then error(told, 0) end
          return
        end
        K.alone(function() changed(hub, plain(told[2])) end)
      end
    end)
  end, nil, false, true)
end

local function release(hub)
  forget(hub)
  if hub.watch then native.unwatch(hub.watch) end
  if hub.unfollow then hub.unfollow() end
end

local function watched(store, path, scheme, name)
  local at, query = K.splitPath(path)
  local ok, watch = K.try(native.watch, K.nativeStore(store), at, query, scheme)
  if ok then return watch end
  if type(watch) == "table" and watch.i_kind == "notAllowed" then
    K.cannotObserve(name, "its store reports no changes",
      "put `#Polling{ interval: 2 seconds }` before the store, or observe a store that reports its changes")
  end
  error(watch, 0)
end

local function open(hub, store, path, scheme)
  local inner = K.nativeOf(store)
  if inner then
    hub.compares = isMemory(store)
    -- The watch first: it reports writes that happen while the value is read.
    hub.watch = watched(store, path, scheme, hub._name)
    if hub.compares then hub.told = inner end
  else
    hub.compares = true
    if K.isKind(store, K.classes.LoggingStore) then
      hub.unfollow = store:_follow(function(written)
        written = plain(written)
        if touches(hub.path, written) then changed(hub, written) end
      end)
    else
      hub.told = store
    end
  end
  if hub.compares then isKnown(hub, hub.path) end
end

local function hubOf(store, path, scheme)
  local at = plain(path)
  local paths = hubs[store]
  local hub = paths and paths[at]
  if hub then return hub end
  hub = K.newHub((scheme and scheme .. ":" or "") .. path, nil, release)
  hub.store, hub.path, hub.scheme, hub.known, hub.count = store, at, scheme, {}, 0
  open(hub, store, path, scheme)
  -- Opening may wait, and another fiber may have opened the same meanwhile.
  paths = hubs[store]
  if paths and paths[at] then
    release(hub)
    return hubs[store][at]
  end
  if not paths then
    paths = {}
    hubs[store] = paths
  end
  paths[at] = hub
  if hub.told then register(hub.told, hub) end
  if hub.watch then listen(hub, hub.watch) end
  return hub
end

-- Whether a path is telling its observers just now.
function K.isStoreTelling(store, path)
  local paths = hubs[store]
  local hub = paths and paths[plain(path)]
  return K.isTelling(hub)
end

function K.isDictionaryView(store)
  return type(store) == "table" and rawget(store, "i_dictionary") ~= nil and K.isKind(store, K.classes.DictionaryView)
end

-- Observes a path of a store; answers what ends it.
function K.observeStore(store, path, scheme, update)
  local entry = hubOf(store, path, scheme):add(update)
  return function() K.unobserve(entry) end
end

-- Looks again at all that is observed in stores, for values that changed without a write.
function K.lookAgain()
  local list, n = {}, 0
  for _, paths in pairs(hubs) do
    for _, hub in pairs(paths) do
      n = n + 1
      list[n] = hub
    end
  end
  for i = 1, n do
    if not list[i].released then changed(list[i], list[i].path) end
  end
end
