-- HTTP servers: options, starting and stopping, the checks of readiness.
local K = ...
local type, rawget, rawset, setmetatable = type, rawget, rawset, setmetatable
local native = K.native

local servers = {}
K.runningServers = servers
--- An HTTP server: `#HTTPServer{ port: 8080, scheme: store } start`. Its options are properties.
local Server = K.newClass("HTTPServer", K.classes.Object)
for _, name in ipairs { "MPWHTTPServer", "MPWSchemeHttpServer", "SchemeHTTPServer" } do K.alias(name, Server) end
--- -<any> scheme
--- -<any> delegate
--- The store that the server serves; nil before one is set.
--- > #HTTPServer{ scheme: #SiteMap{ hi: 'Hello' } } scheme class ⇒ SiteMap
K.ivar(Server, "scheme")
-- What a server can be told is the host's to say: each option is a property.
local options = K.serverOptions
--- HTTPServer -<nothing> setPort:<Number>port
--- Sets the port to listen on, from 0 to 65535; 0 takes a free one.
--- > #HTTPServer{ port: 8080 } port ⇒ 8080

--- HTTPServer -<String?> address
--- HTTPServer -<nothing> setAddress:<String>value
--- The IP address to listen on; nil for `127.0.0.1`, and for all with `advertise` or the certificate `auto`.
--- > #HTTPServer{ address: '0.0.0.0' } address ⇒ '0.0.0.0'

--- HTTPServer -<String?> socket
--- HTTPServer -<nothing> setSocket:<String>value
--- The path of a Unix socket to listen on, instead of a port; nil for none.
--- > #HTTPServer{ socket: '/run/shop.sock' } socket ⇒ '/run/shop.sock'

--- HTTPServer -<String?> socketMode
--- HTTPServer -<nothing> setSocketMode:<String>value
--- The permissions of the Unix socket, in the notation of chmod; nil for `660`.
--- > #HTTPServer{ socketMode: '600' } socketMode ⇒ '600'

--- HTTPServer -<String?> advertise
--- HTTPServer -<nothing> setAdvertise:<String>value
--- The name of the server on the local network (mDNS); nil for none.
--- > #HTTPServer{ advertise: 'defiant' } advertise ⇒ 'defiant'

--- HTTPServer -<Array|String?> trustedProxies
--- HTTPServer -<nothing> setTrustedProxies:<Array|String>value
--- The addresses and networks of proxies, or `unix:`, whose `X-Forwarded-For` is trusted; nil for none.
--- > #HTTPServer{ trustedProxies: [ '10.0.0.0/8' ] } trustedProxies ⇒ [ '10.0.0.0/8' ]

--- HTTPServer -<Boolean?> proxyProtocol
--- HTTPServer -<nothing> setProxyProtocol:<Boolean>value
--- Whether every connection begins with a header of the PROXY protocol; nil for false. Needs `trustedProxies`.
--- > #HTTPServer{ proxyProtocol: true } proxyProtocol ⇒ true

--- HTTPServer -<Boolean?> http2
--- HTTPServer -<nothing> setHttp2:<Boolean>value
--- Whether HTTP/2 is enabled; nil for true.
--- > #HTTPServer{ http2: false } http2 ⇒ false

--- HTTPServer -<Duration?> requestTimeout
--- HTTPServer -<nothing> setRequestTimeout:<Duration>value
--- The timeout from the end of a request to its response; nil for 30 s. Beyond, the response is 504.
--- > #HTTPServer{ requestTimeout: 1 minute } requestTimeout ⇒ 1 minute

--- HTTPServer -<Duration?> headerTimeout
--- HTTPServer -<nothing> setHeaderTimeout:<Duration>value
--- The timeout for the headers of a request; nil for 10 s. Beyond, the response is 408.
--- > #HTTPServer{ headerTimeout: 5 seconds } headerTimeout ⇒ 5 seconds

--- HTTPServer -<Duration?> bodyTimeout
--- HTTPServer -<nothing> setBodyTimeout:<Duration>value
--- The timeout between two pieces of a request body; nil for 30 s. Beyond, the response is 408.
--- > #HTTPServer{ bodyTimeout: 5 seconds } bodyTimeout ⇒ 5 seconds

--- HTTPServer -<Duration?> idleTimeout
--- HTTPServer -<nothing> setIdleTimeout:<Duration>value
--- The idle timeout of a connection; nil for 75 s.
--- > #HTTPServer{ idleTimeout: 30 seconds } idleTimeout ⇒ 30 seconds

--- HTTPServer -<Duration?> drainTime
--- HTTPServer -<nothing> setDrainTime:<Duration>value
--- The idle timeout of a connection while the server stops, up to 5 s; nil for 1 s.
--- > #HTTPServer{ drainTime: 2 seconds } drainTime ⇒ 2 seconds

--- HTTPServer -<Duration?> stopTimeout
--- HTTPServer -<nothing> setStopTimeout:<Duration>value
--- The time for requests in progress when the server stops, up to 20 s; nil for 10 s.
--- > #HTTPServer{ stopTimeout: 5 seconds } stopTimeout ⇒ 5 seconds

--- HTTPServer -<Duration?> writeTimeout
--- HTTPServer -<nothing> setWriteTimeout:<Duration>value
--- The timeout while a client reads nothing of a response; nil for 60 s.
--- > #HTTPServer{ writeTimeout: 30 seconds } writeTimeout ⇒ 30 seconds

--- HTTPServer -<Duration?> busyPoll
--- HTTPServer -<nothing> setBusyPoll:<Duration>value
--- How long the server polls for a request before it sleeps, up to 0.1 s; nil for 0 s.
--- > #HTTPServer{ busyPoll: 1 millisecond } busyPoll ⇒ 1 millisecond

--- HTTPServer -<ByteSize|String?> maxBodySize
--- HTTPServer -<nothing> setMaxBodySize:<ByteSize|String>value
--- The maximum size of a request body; nil for 16 MB. Beyond, the response is 413.
--- > #HTTPServer{ maxBodySize: 5 megabytes } maxBodySize ⇒ 5 megabytes

--- HTTPServer -<ByteSize|String?> minBodyRate
--- HTTPServer -<nothing> setMinBodyRate:<ByteSize|String>value
--- The minimum size of a request body per second, after `bodyTimeout`; nil for 240 bytes.
--- > #HTTPServer{ minBodyRate: 1 kilobyte } minBodyRate ⇒ 1 kilobyte

--- HTTPServer -<ByteSize|String?> maxTargetLength
--- HTTPServer -<nothing> setMaxTargetLength:<ByteSize|String>value
--- The maximum size of a request target; nil for 8 KB. Beyond, the response is 414.
--- > #HTTPServer{ maxTargetLength: 2 kilobytes } maxTargetLength ⇒ 2 kilobytes

--- HTTPServer -<ByteSize|String?> maxHeaderSize
--- HTTPServer -<nothing> setMaxHeaderSize:<ByteSize|String>value
--- The maximum size of all headers of a request; nil for 32 KB. Beyond, the response is 431.
--- > #HTTPServer{ maxHeaderSize: 8 kilobytes } maxHeaderSize ⇒ 8 kilobytes

--- HTTPServer -<Number?> maxHeaders
--- HTTPServer -<nothing> setMaxHeaders:<Number>value
--- The maximum number of headers of a request; nil for 100. Beyond, the response is 431.
--- > #HTTPServer{ maxHeaders: 50 } maxHeaders ⇒ 50

--- HTTPServer -<Number?> maxConnections
--- HTTPServer -<nothing> setMaxConnections:<Number>value
--- The maximum number of connections; nil for 10,000. Beyond, an idle one closes, or new ones wait.
--- > #HTTPServer{ maxConnections: 500 } maxConnections ⇒ 500

--- HTTPServer -<Number?> maxConnectionsPerClient
--- HTTPServer -<nothing> setMaxConnectionsPerClient:<Number>value
--- The maximum number of connections of a client; nil for no limit.
--- > #HTTPServer{ maxConnectionsPerClient: 100 } maxConnectionsPerClient ⇒ 100

--- HTTPServer -<Number?> maxRequestsPerConnection
--- HTTPServer -<nothing> setMaxRequestsPerConnection:<Number>value
--- The maximum number of requests on a connection; nil for 1,000,000.
--- > #HTTPServer{ maxRequestsPerConnection: 1000 } maxRequestsPerConnection ⇒ 1000

--- HTTPServer -<Number?> maxConcurrentStreams
--- HTTPServer -<nothing> setMaxConcurrentStreams:<Number>value
--- The maximum number of concurrent streams of an HTTP/2 connection; nil for 100.
--- > #HTTPServer{ maxConcurrentStreams: 50 } maxConcurrentStreams ⇒ 50

--- HTTPServer -<ByteSize|String?> maxMessageSize
--- HTTPServer -<nothing> setMaxMessageSize:<ByteSize|String>value
--- The maximum size of a WebSocket message; nil for 1 MB. Beyond, the socket closes with 1009.
--- > #HTTPServer{ maxMessageSize: 64 kilobytes } maxMessageSize ⇒ 64 kilobytes

--- HTTPServer -<Boolean?> websocketCompression
--- HTTPServer -<nothing> setWebsocketCompression:<Boolean>value
--- Whether WebSocket messages are compressed; nil for false.
--- > #HTTPServer{ websocketCompression: true } websocketCompression ⇒ true

--- HTTPServer -<ByteSize|String?> minCompressSize
--- HTTPServer -<nothing> setMinCompressSize:<ByteSize|String>value
--- The size from which responses are compressed; nil for 1 KB.
--- > #HTTPServer{ minCompressSize: 4 kilobytes } minCompressSize ⇒ 4 kilobytes

--- HTTPServer -<any> compression
--- HTTPServer -<nothing> setCompression:<any>value
--- The encodings of compressed responses, the preferred one first; true for all (also for nil), false for none.
--- > #HTTPServer{ compression: [ 'br', 'gzip' ] } compression ⇒ [ 'br', 'gzip' ]

--- HTTPServer -<String?> textType
--- HTTPServer -<nothing> setTextType:<String>value
--- The media type of texts and numbers: `text/plain` (also for nil), or `text/html` for programs that escape by
--- themselves.
--- > #HTTPServer{ textType: 'text/html' } textType ⇒ 'text/html'

--- HTTPServer -<Array|String?> allowedHosts
--- HTTPServer -<nothing> setAllowedHosts:<Array|String>value
--- The host names that are served; nil for any.
--- > #HTTPServer{ allowedHosts: [ 'shop.example' ] } allowedHosts ⇒ [ 'shop.example' ]

--- HTTPServer -<Array|String?> allowedOrigins
--- HTTPServer -<nothing> setAllowedOrigins:<Array|String>value
--- The origins whose pages may read and write (CORS), or `'*'`; nil for none.
--- > #HTTPServer{ allowedOrigins: [ 'https://shop.example' ] } allowedOrigins ⇒ [ 'https://shop.example' ]

--- HTTPServer -<Boolean?> allowCredentials
--- HTTPServer -<nothing> setAllowCredentials:<Boolean>value
--- Whether pages of `allowedOrigins` may send cookies; nil for false.
--- > #HTTPServer{ allowCredentials: true } allowCredentials ⇒ true

--- HTTPServer -<Boolean?> earlyHints
--- HTTPServer -<nothing> setEarlyHints:<Boolean>value
--- Whether browsers get early hints (103) over HTTP/1.1; nil for false.
--- > #HTTPServer{ earlyHints: true } earlyHints ⇒ true

--- HTTPServer -<String?> certificate
--- HTTPServer -<nothing> setCertificate:<String>value
--- The PEM file of the certificate and its chain; `'auto'` for one of an authority, `'local'` for development; nil for
--- plain HTTP.
--- > #HTTPServer{ certificate: 'auto' } certificate ⇒ 'auto'

--- HTTPServer -<String?> key
--- HTTPServer -<nothing> setKey:<String>value
--- The PEM file of the private key of the certificate.
--- > #HTTPServer{ key: 'key.pem' } key ⇒ 'key.pem'

--- HTTPServer -<any> certificates
--- HTTPServer -<nothing> setCertificates:<any>value
--- A store of certificates by host name; with `auto` the store that keeps them.
--- > #HTTPServer{ certificates: DictStore store }

--- HTTPServer -<Array|String?> hosts
--- HTTPServer -<nothing> setHosts:<Array|String>value
--- The host names of the certificate `auto`, up to 100.
--- > #HTTPServer{ hosts: [ 'shop.example' ] } hosts ⇒ [ 'shop.example' ]

--- HTTPServer -<String?> contact
--- HTTPServer -<nothing> setContact:<String>value
--- The mail address for the authority of the certificate `auto`.
--- > #HTTPServer{ contact: 'ops@shop.example' } contact ⇒ 'ops@shop.example'

--- HTTPServer -<String?> acmeDirectory
--- HTTPServer -<nothing> setAcmeDirectory:<String>value
--- The URL of the authority of the certificate `auto`; nil for Let's Encrypt.
--- > #HTTPServer{ acmeDirectory: 'https://ca.example/dir' } acmeDirectory ⇒ 'https://ca.example/dir'

--- HTTPServer -<String?> acmeAuthority
--- HTTPServer -<nothing> setAcmeAuthority:<String>value
--- The PEM file of who signs the certificate of the server of `acmeDirectory`.
--- > #HTTPServer{ acmeAuthority: 'ca.pem' } acmeAuthority ⇒ 'ca.pem'

--- HTTPServer -<any> redirectPort
--- HTTPServer -<nothing> setRedirectPort:<any>value
--- The port whose requests are redirected to https; false for none. Nil is 80 with the certificate `auto`, otherwise
--- none.
--- > #HTTPServer{ redirectPort: 80 } redirectPort ⇒ 80

--- HTTPServer -<String?> clientAuthority
--- HTTPServer -<nothing> setClientAuthority:<String>value
--- The PEM file of who signs the certificates of clients; nil asks for none.
--- > #HTTPServer{ clientAuthority: 'clients.pem' } clientAuthority ⇒ 'clients.pem'

--- HTTPServer -<String?> clientCertificate
--- HTTPServer -<nothing> setClientCertificate:<String>value
--- Whether a client without certificate is refused: `required` (also for nil) or `optional`.
--- > #HTTPServer{ clientCertificate: 'optional' } clientCertificate ⇒ 'optional'

--- HTTPServer -<any> admin
--- HTTPServer -<nothing> setAdmin:<any>value
--- The admin port on this machine, or an address with a port; nil and false for none.
--- > #HTTPServer{ admin: 9090 } admin ⇒ 9090

--- HTTPServer -<String?> adminToken
--- HTTPServer -<nothing> setAdminToken:<String>value
--- The token of the admin port: 16 to 256 visible ASCII characters; nil for none.
--- > { #HTTPServer{ admin: 9090, adminToken: env:ADMIN_TOKEN } }

--- HTTPServer -<Array|String?> adminHosts
--- HTTPServer -<nothing> setAdminHosts:<Array|String>value
--- The host names of the admin port, besides its address.
--- > #HTTPServer{ adminHosts: [ 'ops.example' ] } adminHosts ⇒ [ 'ops.example' ]

--- HTTPServer -<any> accessLog
--- HTTPServer -<nothing> setAccessLog:<any>value
--- The format of the access log: `json` (also for true) or `combined`; nil and false for none.
--- > #HTTPServer{ accessLog: 'json' } accessLog ⇒ 'json'

--- HTTPServer -<String?> accessLogTo
--- HTTPServer -<nothing> setAccessLogTo:<String>value
--- The target of the access log: `stdout` (also for nil), `stderr`, or the path of a file.
--- > #HTTPServer{ accessLogTo: 'access.log' } accessLogTo ⇒ 'access.log'

--- HTTPServer -<Boolean?> requestIds
--- HTTPServer -<nothing> setRequestIds:<Boolean>value
--- Whether responses have `X-Request-Id` without a log or traces; nil for false.
--- > #HTTPServer{ requestIds: true } requestIds ⇒ true
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
  local isSecure = self.i_certificate ~= nil or self.i_certificates ~= nil
  local scheme = isSecure and "https" or "http"
  local address = native.serverHost(self._server) or K.str(self.i_address or "127.0.0.1")
  if string.find(address, ":", 1, true) then address = "[" .. address .. "]" end
  return string.format("%s://%s:%d/", scheme, address, native.serverPort(self._server))
end

K.nilKeys._checks, K.nilKeys._ready, K.nilKeys._check = true, true, true

--- A block as a readiness check of a server.
local Check = K.newClass("ReadinessCheck", K.classes.Store)
K.methods(Check, {
  --- As in Store.
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
    -- The store of certificates is passed on as a store.
    if value ~= nil and name ~= "certificates" then
      n = n + 1
      keys[n], map[name] = name, K.optionText(value)
    end
  end
  return K.dictionary(keys, map, n)
end
rawset(Server._methods, "_options", function(self) return optionsOf(self, options) end)

--- An HTTP server for clients of S3. Buckets are the folders of the store behind it.
local S3Server = K.newClass("S3Server", Server)
--- S3Server -<Dictionary?> users
--- S3Server -<nothing> setUsers:<Dictionary>value
--- Who may sign requests: keys with their secrets, or with dictionaries of `secret`, `buckets`, `may` and `admin`. Nil
--- for requests of this machine without signature.
--- > { #S3Server{ users: #{ ann: env:ANN_SECRET } } }

--- S3Server -<String?> region
--- S3Server -<nothing> setRegion:<String>value
--- The region of signatures; nil for `us-east-1`.
--- > #S3Server{ region: 'eu-central-1' } region ⇒ 'eu-central-1'

--- S3Server -<String?> host
--- S3Server -<nothing> setHost:<String>value
--- The host name below which buckets are hosts, such as `photos.s3.example.org`; nil where buckets are in the path.
--- > #S3Server{ host: 's3.example.org' } host ⇒ 's3.example.org'
for i = 1, #K.s3ServerOptions do K.ivar(S3Server, K.s3ServerOptions[i]) end
rawset(S3Server._methods, "_options", function(self)
  local all = optionsOf(self, options)
  all:at_put_("s3", optionsOf(self, K.s3ServerOptions))
  return all
end)
-- What clients put, copy and delete from then on. The values are read from the store behind the server.
K.methods(S3Server, {
  --- -<Changes> changes
  --- What clients put, copy and delete from now on. The server must run.
  --- > #S3Server{} changes ⇒ error: this server does not run, so it tells of no changes
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
  --- -<nothing> setScheme:<any>store
  --- -<nothing> setDelegate:<any>store
  --- -<nothing> setSource:<any>store
  --- Sets what the server serves: a store, a scheme, a class of one, a dictionary. A running server serves it from the
  --- next request on.
  --- > server := #HTTPServer{}. server setScheme: #SiteMap{ hi: 'Hello' }. server scheme class ⇒ SiteMap
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
  --- -<Number> port
  --- The port: of a running server the one in use, also where `port: 0` took a free one. 51001 by default.
  --- > #HTTPServer{} port ⇒ 51001
  ["port"] = function(self)
    if rawget(self, "_server") then return native.serverPort(self._server) end
    return self.i_port or DEFAULT_PORT
  end,
  --- -<self> start
  --- -<self> start:<any>sender
  --- -<self> run
  --- Starts the server and prints its address to the standard error. The program then keeps running. A running server
  --- stays as it is; wrong options are an error.
  --- > #HTTPServer{ port: 8080, scheme: #SiteMap{ hi: 'Hello' } } start
  ["start"] = function(self)
    self._wasTried = true
    if rawget(self, "_server") then return self end
    -- A server may be started before it has something to serve, as the original's scripts do.
    local root = self.i_scheme ~= nil and rootOf(self) or K.classes.SiteMap:store()
    local certificates = self.i_certificates ~= nil and K.nativeStore(self.i_certificates) or nil
    self._server = native.serve(root, self:_options(), certificates)
    started(self)
    servers[#servers + 1] = self
    self._wasStarted = true
    -- With several workers, the first one prints it.
    native.write(3, "serving on " .. whereOf(self) .. "\n")
    return self
  end,
  ["start:"] = function(self) return self:start() end,
  ["run"] = function(self) return self:start() end,
  --- -<self> stop
  --- Stops the server: new connections are refused, requests in progress have `stopTimeout` to end.
  --- > #HTTPServer{} stop isRunning ⇒ false
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
  --- -<Boolean> isRunning
  --- Whether the server is started and not stopped.
  --- > #HTTPServer{ port: 0 } isRunning ⇒ false
  ["isRunning"] = function(self) return rawget(self, "_server") ~= nil end,
})
K.methods(Server, K.linkMethods)
K.classMethods(Server, {
  --- +<HTTPServer> serverOnPort:<Number>port
  --- A server for a port that is not started yet.
  --- > (HTTPServer serverOnPort: 8080) port ⇒ 8080
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

K.methods(K.classes.Store, {
  --- -<HTTPServer> serveOnPort:<Number>port
  --- Starts an HTTP server for the store, and answers it; port 0 takes a free one.
  --- > #SiteMap{ hi: 'Hello' } serveOnPort: 8080
  ["serveOnPort:"] = K.serveOn,
})

K.methods(Server, {
  --- -<self> ready:<String>name when:<Block()>block
  --- Adds a readiness check, which `/readyz` of the admin port shows: ready when the block answers something, not ready
  --- when it answers nil or false, or fails.
  --- > #HTTPServer{ admin: 9090 } ready: 'database' when: { ref:sqlite:shop.db isBound }
  ["ready:when:"] = function(self, name, block)
    local check = Check:new()
    check._check, check._ready = K.str(name), block
    self._checks = rawget(self, "_checks") or {}
    self._checks[#self._checks + 1] = check
    if rawget(self, "_server") then native.serverCheck(self._server, check._check, check) end
    return self
  end,
  --- -<Number?> adminPort
  --- The admin port of a running server; nil without one.
  --- > #HTTPServer{ admin: 9090 } adminPort ⇒ nil
  ["adminPort"] = function(self)
    return rawget(self, "_server") and native.serverAdminPort(self._server) or nil
  end,
})
