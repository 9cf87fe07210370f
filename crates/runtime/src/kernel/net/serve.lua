-- Requests: how Rust asks an object of the program for a verb, and what a client gets.
local K = ...
local type, rawget = type, rawget
local native = K.native

-- Whether a server counts requests by pattern.
local isObserved = false
function K.observeRequests() isObserved = true end

-- Says which path of a scheme answers a verb. Asked only once a server counts requests.
local function tellPattern(object, verb, path)
  local class = K.classOf(object)
  if not class or not class._subs then return end
  local body, _, _, pattern = K.resolvePath(class, verb, path)
  if not body then return end
  -- A path without parameters is its own pattern.
  pattern = pattern or path
  if string.byte(pattern, 1) ~= 47 then pattern = "/" .. pattern end
  native.answeredBy(pattern)
end

local function putInto(object, path, written, value)
  if object._isStore then return object:at_put_(K.pathReference(written), value) end
  return K.walkPut(object, path, value)
end

-- Verbs for objects without a property path for them. `written` is the path as references have it, where a question
-- mark begins the query.
local otherwise = {
  get = function(object, path, written)
    if type(object) == "function" then return object(path) end
    if object._isStore then return K.storeGet(object, written, nil, true) end
    if object._isReference then return object:value() end
    local inner = string.gsub(path, "^/+", "")
    if inner == "" then return object end
    if object._isWidget then return nil end
    return K.walk(object, inner)
  end,
  put = function(object, path, written, value)
    local inner, below = string.gsub(path, "^/+", ""), string.gsub(written, "^/+", "")
    putInto(object, inner, below, value)
  end,
  post = function(object, path, written, value)
    if object._isStore then return object:at_post_(K.pathReference(written), value) end
    K.refuseVerb("post", path)
  end,
  merge = function(object, path, written, value)
    if object._isStore then return object:merge_at_(value, K.pathReference(written)) end
    K.refuseVerb("merge", path)
  end,
  delete = function(object, _, written)
    if object._isStore then return object:deleteAt_(K.pathReference(written)) end
  end,
  list = function(object, _, written)
    if object._isStore then return object:childrenOfReference_(K.pathReference(written)) end
    return nil
  end,
}

-- Where a row is that was just inserted, when it can be read there: `/tasks` and its key.
local function placeBelow(object, path, answer)
  local key = K.placeOf(answer)
  if not key then return nil end
  local class = K.classOf(object)
  local place = string.gsub(path, "/+$", "") .. "/" .. key
  if not class or not class._subs then return nil end
  for _, verb in ipairs(K.pathVerbs(class, place)) do
    if verb == "get" then return place end
  end
  return nil
end

local BRACKET = 91 -- `[`

-- Whether a post was an event of a live page: in a form, or as a message of its client.
local function isEvent(object, path, query, reference, value)
  if type(value) == "table" and value._isData then value = K.bytesOf(value, "an event") end
  if type(value) ~= "string" then return false end
  if string.byte(value) == BRACKET then return K.postedEvent(value) end
  return string.find(value, "_event", 1, true) ~= nil and K.plainEvent(object, path, query, reference)
end

-- Whether an object is a component: `#Layout{ … }[ … ]` and `#Form{ … }` are pages, and no records.
local function isComponent(object)
  if object._kind == K.kinds.element or not K.understands(object, "asHtml") then return false end
  return K.isKind(object, K.classes.Form) or K.understands(object, "children")
end

-- Rust asks an object of the program for a verb. A reference as the answer of a read redirects.
-- `live`: the client asks for the session of a live page (live/session.lua); false for another WebSocket.
function K.serve(object, verb, path, query, value, live)
  local reference, written = K.requestReference(path, query)
  if isObserved then tellPattern(object, verb, path) end
  if verb == "post" and isEvent(object, path, query, reference, value) then return nil end
  if type(value) == "table" and not K.isClass(value) then K.admitSent(value) end
  local ask = not live and K.isForBrowser(verb) and K.tryPathForBrowser or K.tryPath
  local found, answer, authority
  if live ~= nil then
    found, answer, authority = K.openWithAuthority(object, path, reference)
  else
    found, answer = ask(object, verb, path, value, reference, verb == "get")
  end
  if not found then answer = otherwise[verb](object, path, written, value) end
  if verb == "delete" then
    K.tellWatchers(object, "deleted", path)
  elseif verb ~= "get" and verb ~= "list" then
    K.tellWatchers(object, "changed", path)
  end
  if verb == "list" then return answer end
  if type(answer) == "table" and answer._isRaw then answer = K.markup(answer._text) end
  if verb == "get" and K.isHandedOver(answer) then return answer, true end
  if type(answer) ~= "table" then return answer end
  if answer._isSocket then K.openSocketHere(answer, authority) end
  if answer._isWidget and verb == "get" then answer = answer:_page() end
  if isComponent(answer) then
    answer = answer:asHtml()
    if type(answer) ~= "table" then return answer end
  end
  -- An error that a handler answers is an error, also where `signal` was forgotten.
  if answer._isError then K.raise(answer) end
  if answer._isTable then answer = K.allRows(answer) end
  if answer._isRows then return K.answerOf(answer) end
  if answer._kind == K.kinds.element then
    if live and not rawget(answer, "_media") then return K.openLive(answer, live, authority) end
    if verb == "get" then return K.sendPage(answer) end
    return answer
  end
  if verb == "get" and rawget(answer, "_path") and answer._isReference then
    native.respond("status", 302)
    local scheme = answer._scheme
    native.respond("location", (scheme == "http" or scheme == "https") and answer:stringValue() or answer._path)
    return ""
  end
  if verb == "post" then return answer, placeBelow(object, path, answer) or K.placeOf(answer) and 1 end
  if verb == "put" and K.wasCreated(answer) then return answer, 1 end
  return answer
end
