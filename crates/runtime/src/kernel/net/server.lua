-- HTTP servers: options, starting and stopping, the checks of readiness.
local K = ...
local type, rawget, rawset, setmetatable = type, rawget, rawset, setmetatable
local native = K.native

local servers = {}
K.runningServers = servers
local Server = K.newClass("HTTPServer", K.classes.Object)
for _, name in ipairs { "MPWHTTPServer", "MPWSchemeHttpServer", "SchemeHTTPServer" } do K.alias(name, Server) end
K.ivar(Server, "scheme")
-- What a server can be told is the host's to say: each option is a property.
local options = K.serverOptions
for i = 1, #options do K.ivar(Server, options[i]) end
for former, present in pairs(K.formerServerOptions) do
  K.method(Server, K.mangle("set" .. string.upper(string.sub(former, 1, 1)) .. string.sub(former, 2) .. ":"), function()
    K.throw("unknownProperty", string.format("`%s` of an HTTPServer is now `%s`", former, present))
  end)
end
K.nilKeys._server, K.nilKeys._isServer = true, true
rawset(Server._methods, "_isServer", true)
local DEFAULT_PORT = 51001
K.DEFAULT_PORT = DEFAULT_PORT
local known = setmetatable({}, { __mode = "v" }) -- every server with something to serve, for graphs
K.nilKeys._known = true

local function rootOf(self)
  if self.i_scheme == nil then
    K.throw("nilValue", "this server has nothing to serve",
      { i_hint = "connect a store to it: `server → store`" })
  end
  return K.nativeStore(self.i_scheme)
end

K.rootOfServer = rootOf

-- Where a running server is reached.
local function whereOf(self)
  if self.i_socket ~= nil then return "unix:" .. K.str(self.i_socket) end
  local scheme = self.i_certificate ~= nil and "https" or "http"
  local address = native.serverHost(self._server) or K.str(self.i_address or "127.0.0.1")
  if string.find(address, ":", 1, true) then address = "[" .. address .. "]" end
  return string.format("%s://%s:%d/", scheme, address, native.serverPort(self._server))
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
local function started(server)
  if native.serverObserved(server._server) then K.observeRequests() end
  for _, check in ipairs(rawget(server, "_checks") or {}) do
    native.serverCheck(server._server, check._check, check)
  end
end

-- The options of these names that were set, as a dictionary.
local function optionsOf(self, names)
  local keys, map, n = {}, {}, 0
  for i = 1, #names do
    local name = names[i]
    local value = self[K.ivarKey(name)]
    if value ~= nil then
      -- A time is a duration, or a number of seconds.
      if type(value) == "table" and value._isDuration then value = value._seconds end
      n = n + 1
      keys[n], map[name] = name, value
    end
  end
  return K.dictionary(keys, map, n)
end
rawset(Server._methods, "_options", function(self) return optionsOf(self, options) end)

-- An HTTP server whose requests are those of S3.
local S3Server = K.newClass("S3Server", Server)
for i = 1, #K.s3ServerOptions do K.ivar(S3Server, K.s3ServerOptions[i]) end
rawset(S3Server._methods, "_options", function(self)
  local all = optionsOf(self, options)
  all:at_put_("s3", optionsOf(self, K.s3ServerOptions))
  return all
end)
-- What clients put, copy and delete from then on. The values are read from the store behind the server.
K.methods(S3Server, {
  ["changes"] = function(self)
    if not rawget(self, "_server") then
      K.throw("unavailable", "this server does not run, so it tells of no changes",
        { i_hint = "start it first: `server start`" })
    end
    local reference = K.pathReference("")
    reference._store = self.i_scheme
    return K.changesFrom(reference, native.serverChanges(self._server))
  end,
})

K.methods(Server, {
  ["setScheme:"] = function(self, store)
    self.i_scheme = K.asStore(store)
    if not rawget(self, "_known") then
      self._known = true
      known[#known + 1] = self
    end
    if rawget(self, "_server") then native.serverRoot(self._server, rootOf(self)) end
  end,
  ["setDelegate:"] = function(self, store) self:setScheme_(store) end,
  ["setSource:"] = function(self, store) self:setScheme_(store) end,
  ["delegate"] = function(self) return self.i_scheme end,
  ["port"] = function(self)
    if rawget(self, "_server") then return native.serverPort(self._server) end
    return self.i_port or DEFAULT_PORT
  end,
  ["start"] = function(self)
    self._wasTried = true
    if rawget(self, "_server") then return self end
    -- A server may be started before it has something to serve, as the original's scripts do.
    local root = self.i_scheme ~= nil and rootOf(self) or K.classes.SiteMap:store()
    self._server = native.serve(root, self:_options())
    started(self)
    servers[#servers + 1] = self
    self._wasStarted = true
    -- With several workers, the first one prints it.
    native.write(3, "serving on " .. whereOf(self) .. "\n")
    return self
  end,
  ["start:"] = function(self) return self:start() end,
  ["run"] = function(self) return self:start() end,
  ["stop"] = function(self)
    if rawget(self, "_server") then
      native.serverStop(self._server)
      self._server = nil
      for i, server in ipairs(servers) do
        if server == self then table.remove(servers, i) break end
      end
    end
    return self
  end,
  ["isRunning"] = function(self) return rawget(self, "_server") ~= nil end,
})
K.methods(Server, K.linkMethods)
K.classMethods(Server, {
  ["serverOnPort:"] = function(class, port)
    local server = class:new()
    server:setPort_(port)
    return server
  end,
})

-- For Rust: what others can reach, as a plain list of name, store, name, …
function K.installedStores()
  local list = {}
  for i = 1, table.maxn(known) do
    if known[i] then
      list[#list + 1] = "server on port " .. K.str(known[i].i_port or DEFAULT_PORT)
      list[#list + 1] = rootOf(known[i])
    end
  end
  for _, name in ipairs(K.installed) do
    list[#list + 1] = "scheme:" .. name
    list[#list + 1] = K.nativeStore(K.schemes[name])
  end
  return list
end

function K.knownServers()
  local list = {}
  for i = 1, table.maxn(known) do list[#list + 1] = known[i] end
  return list
end

function K.serveOn(store, port)
  local server = Server:new()
  server.i_port = port
  server:setScheme_(store)
  return server:start()
end

K.methods(K.classes.Store, { ["serveOnPort:"] = K.serveOn })

K.methods(Server, {
  -- A readiness check, shown at `/readyz` of the admin port: ready when the block answers something.
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
