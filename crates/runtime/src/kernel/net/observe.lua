-- Seeing inside a server: which pattern answers a request, and when a program is ready.
local K = ...
local native, rawget = K.native, rawget
local Server = K.classes.HTTPServer

-- Says which path of a scheme answers a verb. Asked only once a server counts requests.
function K.tellPattern(object, verb, path)
  local class = K.classOf(object)
  if not class or not class._subs then return end
  local body, _, _, pattern = K.resolvePath(class, verb, path)
  if not body then return end
  -- A path without parameters is its own pattern.
  pattern = pattern or path
  if string.byte(pattern, 1) ~= 47 then pattern = "/" .. pattern end
  native.answeredBy(pattern)
end

K.nilKeys._checks, K.nilKeys._ready, K.nilKeys._check = true, true, true

-- A block as a store: what it raises, or that it answers nothing, is why the program is not ready.
local Check = K.newClass("ReadinessCheck", K.classes.Store)
K.methods(Check, {
  ["at:"] = function(self)
    if not self._ready() then K.throw("unavailable", self._check .. " is not ready") end
    return "ready"
  end,
})

-- A server has started: from now on requests are counted by pattern, and its checks are asked.
function K.serverStarted(server)
  if native.serverObserved(server._server) then K.isObserved = true end
  for _, check in ipairs(rawget(server, "_checks") or {}) do
    native.serverCheck(server._server, check._check, check)
  end
end

K.methods(Server, {
  -- The program is ready when the block answers something: `/readyz` of the admin port says so.
  ["ready:when:"] = function(self, name, block)
    local check = Check:new()
    check._check, check._ready = K.str(name), block
    self._checks = rawget(self, "_checks") or {}
    self._checks[#self._checks + 1] = check
    if rawget(self, "_server") then native.serverCheck(self._server, check._check, check) end
    return self
  end,
  ["adminPort"] = function(self)
    return rawget(self, "_server") and native.serverAdminPort(self._server) or nil
  end,
})
