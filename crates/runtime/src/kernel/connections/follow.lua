-- References and controls as sending ends: each new value is written to the other end.
local K = ...
local type, rawget, rawequal, error = type, rawget, rawequal, error
local classes = K.classes

-- Connections that follow something that may change after the program's last line.
local following = 0

-- Whether what a reference names can change when the program no longer runs: not its variables,
-- and not what only it holds in memory.
local DEEPEST = 100
local function changesFromOutside(reference)
  if rawget(reference, "_get") then return false end
  local scheme = reference._scheme
  if (scheme == "var" or scheme == "default") and not rawget(reference, "_store") then return false end
  local store = reference:store()
  for _ = 1, DEEPEST do
    local source = type(store) == "table" and not K.isClass(store) and rawget(store, "i_source")
    if not source then break end
    store = source
  end
  return not (K.isKind(store, classes.DictStore) or K.isKind(store, classes.SiteMap)
    or K.isKind(store, classes.DictionaryView))
end

-- For the end of the program: whether a connection is still to be served.
function K.isFollowing() return following > 0 end

-- The name of a variable of the script that a reference names; nil for others. Connections between
-- variables are as fast as an assignment, so they skip the reference.
local variables = K.variables
local function variableOf(thing)
  if type(thing) ~= "table" or K.isClass(thing) or not thing._isReference or K.defaultStore then return nil end
  if thing._scheme ~= "var" and thing._scheme ~= "default" then return nil end
  if rawget(thing, "_get") or rawget(thing, "_store") or string.find(thing._path, "/", 1, true) then return nil end
  return thing._path
end

-- Ends that take nil as well: references are deleted, and blocks and actions run.
local function takesNil(sink)
  return sink._isPort or sink._write or K.isKind(sink, classes.MapFilter)
end

-- How one value is written: a printing stream gets a line for each value.
local function writerTo(sink)
  if type(sink) == "table" and not K.isClass(sink) then
    local name = variableOf(sink)
    if name then return function(value) variables[name] = value end end
    if sink._isReference then return function(value) sink:setValue_(value) end end
    if K.isKind(sink, classes.ByteStream) then
      return function(value) if value ~= nil then sink:println_(value) end end
    end
    if takesNil(sink) then return function(value) sink:writeObject_(value) end end
  end
  return function(value) if value ~= nil then sink:writeObject_(value) end end
end
K.writerTo = writerTo

-- The end stays as it is while the value is the same, so that two ends that follow each other come
-- to rest. A table may have changed inside.
local function isSame(old, new)
  if type(new) ~= "table" then return rawequal(old, new) end
  return old ~= nil and not rawequal(old, new) and K.eq(old, new)
end

-- Follows one variable of the script in another one: nothing in it can wait or fail.
local function followVariable(reference, from, to)
  local stop = K.observe(reference, function() variables[to] = variables[from] end, true)
  if variables[from] ~= nil then variables[to] = variables[from] end
  return stop
end

-- Observes a reference; where its store cannot tell, the error says how to copy once.
local function observed(reference, update)
  local ok, stop = K.try(K.observe, reference, update)
  if ok then return stop end
  if type(stop) == "table" and stop.i_kind == "unsupported" then
    stop.i_hint = (stop.i_hint and stop.i_hint .. "; " or "") .. "`copyTo:` copies once"
  end
  error(stop, 0)
end

-- `reference → end`: the present value, then each new one. Answers what ends it.
function K.followReference(reference, sink)
  local from, to = variableOf(reference), variableOf(sink)
  if from and to then return followVariable(reference, from, to) end
  local write, last, ended = writerTo(sink), nil, false
  local function update()
    if ended then return end
    local value
    if from then value = variables[from] else value = reference:value() end
    if isSame(last, value) then return end
    last = value
    write(value)
  end
  local stop = observed(reference, update)
  local stays = changesFromOutside(reference)
  if stays then following = following + 1 end
  local function undo()
    if ended then return end
    ended = true
    if stays then following = following - 1 end
    stop()
  end
  -- The present value at once: an end that refuses it is not connected.
  local ok, failure = K.try(update)
  if not ok then
    undo()
    error(failure, 0)
  end
  return undo
end

-- `control → end`: each value that a person commits. Answers what ends it.
function K.followControl(control, sink)
  return control:_onAction(writerTo(sink))
end
