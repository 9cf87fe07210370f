-- LoggingStore: tells its log of each write, as a REST operation.
local K = ...
local rawget, setmetatable = rawget, setmetatable
local pathOf = K.pathOf
local Mapping = K.classes.MappingStore

local Operation = K.newClass("RESTOperation", K.classes.Object)
K.alias("MPWRESTOperation", Operation)
rawset(Operation._methods, "_isOperation", true)
K.nilKeys._isOperation = true
K.ivar(Operation, "verb")
K.ivar(Operation, "reference")
K.methods(Operation, {
  ["HTTPVerb"] = function(self) return self.i_verb end,
  ["description"] = function(self) return self.i_verb .. " " .. self.i_reference:stringValue() end,
  ["applyTo:"] = function(self, target)
    local path = self.i_reference._path
    if self.i_verb == "DELETE" then
      K.storeDelete(target, path)
    else
      K.storePutAt(target, path, self._source and K.storeGet(self._source, path))
    end
    return target
  end,
})
K.nilKeys._source, K.nilKeys._followers = true, true

local Logging = K.newClass("LoggingStore", Mapping)
K.alias("MPWLoggingStore", Logging)
K.alias("Log", Logging)
K.ivar(Logging, "log")
K.ivar(Logging, "logReads", "bool")
local function tell(self, verb, reference)
  local path = pathOf(reference)
  if self.i_log then
    local operation = setmetatable({ i_verb = verb, i_reference = K.pathReference(path) }, Operation._methods)
    operation._source = self.i_source
    self.i_log:writeObject_(operation)
  end
  local followers = rawget(self, "_followers")
  if followers and verb ~= "GET" then
    -- From the end, where the first one is: a follower may end itself here.
    for i = #followers, 1, -1 do
      if followers[i] then followers[i](path) end
    end
  end
end
local function told(verb, name)
  local method = Mapping._methods[name]
  return function(self, a, b)
    local answer = method(self, a, b)
    tell(self, verb, name == "merge_at_" and b or a)
    return answer
  end
end
K.method(Logging, "at_put_", told("PUT", "at_put_"))
K.method(Logging, "at_post_", told("POST", "at_post_"))
K.method(Logging, "merge_at_", told("PATCH", "merge_at_"))
K.method(Logging, "deleteAt_", told("DELETE", "deleteAt_"))
K.methods(Logging, {
  ["at:"] = function(self, reference)
    local answer = Mapping._methods.at_(self, reference)
    if self.i_logReads then tell(self, "GET", reference) end
    return answer
  end,
  ["logger"] = function(self) return self end,
  ["follow:"] = function(self, block)
    self._followers = rawget(self, "_followers") or {}
    table.insert(self._followers, 1, block)
    return self
  end,
})
-- The same; answers what ends it.
K.method(Logging, "_follow", function(self, block)
  self:follow_(block)
  return function()
    local followers = self._followers
    for i = 1, #followers do
      if followers[i] == block then return table.remove(followers, i) end
    end
  end
end)
