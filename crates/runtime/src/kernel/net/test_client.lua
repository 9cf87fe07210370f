-- A client of a scheme in a test: it serves the scheme on a free port of this machine until the test ends.
local K = ...
local throw, rawget, ipairs = K.throw, rawget, ipairs

-- Clients of one test.
local MOST_CLIENTS = 100

local clients, databases = {}, 0
for _, key in ipairs { "_served", "_isOwn" } do K.nilKeys[key] = true end

--- A client of a store, a scheme or a server in a test. Requests pass through the server as those of any client do. The
--- end of the test stops the server.
local Client = K.newClass("TestClient", K.classes.Object)
Client._plainName = true

local function ask(self, path, options)
  path = K.expectText(path, "get:")
  if not rawget(self, "_served") then throw("unavailable", "this client is stopped", { i_hint = "make one in each test" }) end
  if string.sub(path, 1, 1) ~= "/" then path = "/" .. path end
  local fields = K.newDictionary()
  fields:at_put_("redirects", "manual")
  for name, value in pairs(options or {}) do fields:at_put_(name, value) end
  return K.reference("http", "//127.0.0.1:" .. self._served:port() .. path):fetch_(fields)
end

-- A request with a method and content, given by name.
local function sending(method, content)
  return function(self, path, value)
    local options = { method = method }
    if content then options[content] = value end
    return ask(self, path, options)
  end
end

K.classMethods(Client, {
  --- +<TestClient> of:<any>served
  --- A client of a store, a scheme, a class of one, or a server that is not started.
  --- > ((TestClient of: #SiteMap{ hi: 'Hello' }) get: '/hi') text
  ["of:"] = function(class, served)
    if #clients >= MOST_CLIENTS then throw("tooLarge", "a test has at most " .. MOST_CLIENTS .. " clients") end
    local client = class:new()
    local isServer = type(served) == "table" and not K.isClass(served) and served._isServer
    local server = isServer and served or K.classes.HTTPServer:new()
    if not isServer then server:setScheme_(served) end
    if not rawget(server, "_server") then
      server.i_port = 0
      server:start()
    end
    client._served = server
    clients[#clients + 1] = client
    return client
  end,
  --- +<Reference> database
  --- A new empty database in memory, which no other test has.
  --- > TestClient database = TestClient database
  ["database"] = function()
    databases = databases + 1
    return K.reference("sqlite", ":memory:test-" .. databases)
  end,
})

K.methods(Client, {
  --- -<HTTPAnswer> get:<String>path
  --- Sends a GET request and answers status, headers and body. Redirects are not followed.
  --- > ((TestClient of: #SiteMap{ hi: 'Hello' }) get: '/no') status
  ["get:"] = sending("GET"),
  --- -<HTTPAnswer> delete:<String>path
  --- Sends a DELETE request.
  --- > ((TestClient of: #SiteMap{ hi: 'Hello' }) delete: '/hi') status
  ["delete:"] = sending("DELETE"),
  --- -<HTTPAnswer> post:<String>path json:<any>value
  --- Sends a POST request with a value as JSON.
  --- > { :client | (client post: '/tasks' json: #{ title: 'sow' }) status }
  ["post:json:"] = sending("POST", "json"),
  --- -<HTTPAnswer> put:<String>path json:<any>value
  --- Sends a PUT request with a value as JSON.
  --- > { :client | (client put: '/tasks/1' json: #{ title: 'sow' }) status }
  ["put:json:"] = sending("PUT", "json"),
  --- -<HTTPAnswer> patch:<String>path json:<any>value
  --- Sends a PATCH request with a value as JSON.
  --- > { :client | (client patch: '/tasks/1' json: #{ done: true }) status }
  ["patch:json:"] = sending("PATCH", "json"),
  --- -<HTTPAnswer> post:<String>path form:<Dictionary>fields
  --- Sends a POST request with the fields of a form.
  --- > { :client | (client post: '/login' form: #{ name: 'ann' }) status }
  ["post:form:"] = sending("POST", "form"),
  --- -<HTTPAnswer> fetch:<String>path with:<Dictionary>options
  --- Sends a request with the options of `fetch:` of a reference, such as `method` and `headers`.
  --- > { :client | (client fetch: '/me' with: #{ headers: #{ 'X-API-Key': 'k' } }) status }
  ["fetch:with:"] = function(self, path, options)
    local given = {}
    if type(options) ~= "table" or not options._isDictionary then
      throw("typeError", "fetch:with: expects a dictionary of options, got " .. K.nameOf(options))
    end
    options:keysAndValuesDo_(function(name, value) given[K.str(name)] = value end)
    return ask(self, path, given)
  end,
  --- -<self> stop
  --- Stops the server of the client; the end of a test does so.
  --- > (TestClient of: #SiteMap{ hi: 'Hello' }) stop
  ["stop"] = function(self)
    if rawget(self, "_served") then self._served:stop() end
    self._served = nil
    return self
  end,
})

-- Stops what a test has made. The next test does not wait for connections to end.
function K.stopTestClients()
  local made = clients
  clients = {}
  if #made == 0 then return end
  local function stop()
    for _, client in ipairs(made) do client:stop() end
  end
  K.detach(stop)
end
