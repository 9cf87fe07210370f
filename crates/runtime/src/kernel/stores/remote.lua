-- Stores of other machines with options of their own, which the command around the program makes.
local K = ...
local type, throw, take = type, K.throw, K.optionKinds

-- A dictionary of texts.
function take.texts(value, name, self)
  if type(value) ~= "table" or not value._isDictionary then
    throw("invalid", string.format("`%s` of %s must be a dictionary of texts", name, K.nameOf(self)))
  end
  local keys, texts, n = {}, {}, 0
  value:keysAndValuesDo_(function(key, text)
    n = n + 1
    keys[n] = K.str(key)
    texts[keys[n]] = K.str(text)
  end)
  return K.dictionary(keys, texts, n)
end

local function none() return {}, {} end

--- A client for one HTTP server, with options of each request: a base URL, credentials, timeouts, certificates. Options
--- that are not set are nil.
local HTTPStore = K.newClass("HTTPStore", K.classes.MappingStore)

--- HTTPStore -<String?> base
--- The base URL, which the paths of requests continue.
--- > #HTTPStore{ base: 'https://example.org/v1' } base ⇒ 'https://example.org/v1'

--- HTTPStore -<Dictionary?> headers
--- Headers of each request.
--- > #HTTPStore{ base: 'https://example.org', headers: #{ 'x-team': 'blue' } } headers count ⇒ 1

--- HTTPStore -<String?> token
--- A bearer token, sent in the header `Authorization`.
--- > { #HTTPStore{ base: 'https://example.org', token: env:API_TOKEN } token }

--- HTTPStore -<String?> user
--- The name of the user for basic authentication (RFC 7617).
--- > #HTTPStore{ base: 'https://example.org', user: 'ada', password: 'pw' } user ⇒ 'ada'

--- HTTPStore -<String?> password
--- The password for basic authentication (RFC 7617). No error and no log contains it.
--- > { #HTTPStore{ base: 'https://example.org', user: 'ada', password: env:PASSWORD } password }

--- HTTPStore -<Duration?> timeout
--- The timeout for the response head, and between two pieces of the body; 30 s by default.
--- > #HTTPStore{ base: 'https://example.org', timeout: 5 seconds } timeout ⇒ 5 seconds

--- HTTPStore -<String?> socket
--- The path of the server's Unix socket; the host of `base` is then used only in the request.
--- > #HTTPStore{ base: 'https://example.org', socket: '/run/app.sock' } socket ⇒ '/run/app.sock'

--- HTTPStore -<Number?> maxConnections
--- The most connections of a worker to the host; 1,024 by default.
--- > #HTTPStore{ base: 'https://example.org', maxConnections: 8 } maxConnections ⇒ 8

--- HTTPStore -<Duration?> poolTimeout
--- How long a request waits for a connection; 5 s by default.
--- > #HTTPStore{ base: 'https://example.org', poolTimeout: 1 second } poolTimeout ⇒ 1 second

--- HTTPStore -<Number?> maxRedirects
--- How many consecutive redirects are followed; 10 by default. With 0, a redirect is an error.
--- > #HTTPStore{ base: 'https://example.org', maxRedirects: 0 } maxRedirects ⇒ 0

--- HTTPStore -<String?> certificateAuthority
--- A PEM file of the certificate authorities to trust, or 'local' for those of Runnel on this machine; those of
--- browsers by default.
--- > { #HTTPStore{ base: 'https://example.org', certificateAuthority: 'local' } certificateAuthority }

--- HTTPStore -<String?> certificate
--- The PEM file of the client's own certificate, together with `key`.
--- > { #HTTPStore{ base: 'https://example.org', certificate: 'me.pem', key: 'me.key' } certificate }

--- HTTPStore -<String?> key
--- The PEM file of the private key of the client's own certificate.
--- > { #HTTPStore{ base: 'https://example.org', certificate: 'me.pem', key: 'me.key' } key }

--- HTTPStore -<Boolean?> http2
--- Whether the server may choose HTTP/2; true by default.
--- > #HTTPStore{ base: 'https://example.org', http2: false } http2 ⇒ false

--- HTTPStore -<Boolean?> cookies
--- Whether cookies of responses are kept and sent; false by default.
--- > #HTTPStore{ base: 'https://example.org', cookies: true } cookies ⇒ true

--- HTTPStore -<String?> proxy
--- The address of an HTTP proxy, such as 'http://user:password@proxy:3128'. No error and no log contains it.
--- > { #HTTPStore{ base: 'https://example.org', proxy: 'http://proxy:3128' } proxy }

--- HTTPStore -<Boolean?> private
--- Whether addresses that are not public can be reached; true by default. False is for addresses that strangers name.
--- > #HTTPStore{ base: 'https://example.org', private: false } private ⇒ false

K.nativeCombinator({
  name = "HTTPStore", kind = "remote:http", parts = none,
  options = {
    base = take.text, headers = take.texts, token = take.text, user = take.text, password = take.text,
    timeout = take.seconds, socket = take.text, maxConnections = take.count, poolTimeout = take.seconds,
    maxRedirects = take.count, certificateAuthority = take.text, certificate = take.text, key = take.text,
    http2 = take.flag, cookies = take.flag, proxy = take.text, private = take.flag,
  },
  secret = { proxy = true, password = true, token = true },
  -- A literal says at once which file or address is wrong.
  check = K.innerStore,
}, HTTPStore)

--- A bucket of a server that speaks the protocol of S3. Credentials that are not given come from the environment, as
--- for `s3:`.
local S3Store = K.newClass("S3Store", K.classes.MappingStore)

--- S3Store -<String?> bucket
--- The name of the bucket.
--- > #S3Store{ bucket: 'notes' } bucket ⇒ 'notes'

--- S3Store -<String?> endpoint
--- The address of the server; Amazon's by default.
--- > #S3Store{ bucket: 'notes', endpoint: 'http://127.0.0.1:9000' } endpoint ⇒ 'http://127.0.0.1:9000'

--- S3Store -<String?> region
--- The region; 'us-east-1' by default.
--- > #S3Store{ bucket: 'notes', region: 'eu-central-1' } region ⇒ 'eu-central-1'

--- S3Store -<String?> key
--- The identifier of the access key; that of the environment by default.
--- > { #S3Store{ bucket: 'notes', key: env:KEY, secret: env:SECRET } key }

--- S3Store -<String?> secret
--- The secret of the access key.
--- > { #S3Store{ bucket: 'notes', key: env:KEY, secret: env:SECRET } secret }

--- S3Store -<String?> token
--- The session token of temporary credentials.
--- > { #S3Store{ bucket: 'notes', key: env:KEY, secret: env:SECRET, token: env:TOKEN } token }

--- S3Store -<Boolean?> pathStyle
--- Whether the bucket is in the path instead of the host; with an endpoint true by default.
--- > #S3Store{ bucket: 'notes', pathStyle: true } pathStyle ⇒ true

K.nativeCombinator({
  name = "S3Store", kind = "remote:s3", parts = none,
  options = {
    bucket = take.text, endpoint = take.text, region = take.text, key = take.text, secret = take.text,
    token = take.text, pathStyle = take.flag,
  },
  secret = { secret = true, token = true },
}, S3Store)

-- A literal says at once what is wrong with it.
local function checked(class)
  local literal = class._meta._literal
  K.classMethod(class, "_literal", function(self, keys, values, n)
    local made = literal(self, keys, values, n)
    K.innerStore(made)
    return made
  end)
end

--- A mail server as a store whose paths are addresses: what is written to an address is sent, such as
--- `mail:ann@example.org ← #{ text: … }`.
local MailServer = K.newClass("MailServer", K.classes.MappingStore)

--- MailServer -<String?> url
--- The address of the mail server: `smtps://user:password@host` with TLS from the beginning, `smtp://host` with
--- STARTTLS.
--- > { #MailServer{ url: env:SMTP_URL, from: 'shop@example.org' } url }

--- MailServer -<String?> from
--- The sender: 'Shop <shop@example.org>' or 'shop@example.org'.
--- > { #MailServer{ url: env:SMTP_URL, from: 'shop@example.org' } from }

checked(K.nativeCombinator({
  name = "MailServer", kind = "remote:mail", parts = none,
  options = { url = take.text, from = take.text },
}, MailServer))

--- A reverse proxy: an HTTP server in front of it passes requests on to the upstreams, with load balancing, health
--- checks and retries.
local Proxy = K.newClass("Proxy", K.classes.MappingStore)

--- Proxy -<Array?> to
--- The upstreams, at most 64: `http://host:port`, `https://…`, or `unix:` and a path. It is required.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ] } to ⇒ [ 'http://127.0.0.1:9000' ]

--- Proxy -<String?> balance
--- Which upstream a request goes to: 'leastConnections' (the default), 'roundRobin', or 'random', the less busy of two.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], balance: 'roundRobin' } balance ⇒ 'roundRobin'

--- Proxy -<String?> host
--- What the upstream sees as `Host`: that of the 'client' (the default), or that of its own address, 'upstream'.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], host: 'upstream' } host ⇒ 'upstream'

--- Proxy -<String?> healthCheck
--- The path of active health checks: an upstream that does not answer it with 2xx or 3xx gets no requests.
--- > { #Proxy{ to: [ 'http://127.0.0.1:9000' ], healthCheck: '/healthz' } healthCheck }

--- Proxy -<Duration?> interval
--- The interval of the health checks, from 0.1 s to 1 h; 10 s by default.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], interval: 5 seconds } interval ⇒ 5 seconds

--- Proxy -<Number?> maxFails
--- How many failures within `failTimeout` let an upstream rest; 3 by default, at most 1,000.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], maxFails: 5 } maxFails ⇒ 5

--- Proxy -<Duration?> failTimeout
--- How long an upstream rests, from 0.1 s to 1 h; 10 s by default.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], failTimeout: 30 seconds } failTimeout ⇒ 30 seconds

--- Proxy -<Boolean?> encodedSlashes
--- Whether requests pass whose path has `%2F`, `%5C`, `\` or `;`, which servers read differently; they are 400 by default.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], encodedSlashes: true } encodedSlashes ⇒ true

--- Proxy -<Number?> retries
--- How often a request without an answer is sent again; 2 by default, at most 10.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], retries: 1 } retries ⇒ 1

--- Proxy -<any> sticky
--- Whether a client stays with its upstream, by a cookie; false by default. A secret as text keeps that over a restart.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], sticky: true } sticky ⇒ true

--- Proxy -<Duration?> connectTimeout
--- The connect timeout, with the lookup of the name and TLS; 5 s by default, at most 10 min.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], connectTimeout: 2 seconds } connectTimeout ⇒ 2 seconds

--- Proxy -<Duration?> timeout
--- The time from the request to the head of its response; 30 s by default, at most 1 day.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], timeout: 10 seconds } timeout ⇒ 10 seconds

--- Proxy -<Duration?> idleTimeout
--- The time between two pieces of a response, and without traffic on an upgraded connection; 60 s by default.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], idleTimeout: 2 minutes } idleTimeout ⇒ 2 minutes

--- Proxy -<Number?> maxConnections
--- The most connections of each upstream in use; 1,024 by default, at most 65,536. At most 1,024 requests wait.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], maxConnections: 64 } maxConnections ⇒ 64

--- Proxy -<Duration?> poolTimeout
--- The longest wait for a connection; 5 s by default, at most 10 min.
--- > #Proxy{ to: [ 'http://127.0.0.1:9000' ], poolTimeout: 1 second } poolTimeout ⇒ 1 second

--- Proxy -<String?> certificateAuthority
--- The PEM file of the authorities that `https` upstreams are verified against, or `'local'`; those of browsers
--- where it is nil.
--- > { #Proxy{ to: 'https://10.0.0.1', certificateAuthority: 'inner.pem' } certificateAuthority }

--- Proxy -<String?> certificate
--- The PEM file of the certificate that upstreams see; `key` names the file of its private key.
--- > { #Proxy{ to: 'https://10.0.0.1', certificate: 'me.pem', key: 'me.key' } certificate }

--- Proxy -<String?> key
--- The PEM file of the private key of `certificate`.
--- > { #Proxy{ to: 'https://10.0.0.1', certificate: 'me.pem', key: 'me.key' } key }

-- The table of `crates/http/src/proxy/options.rs` says what the options hold.
checked(K.nativeCombinator({
  name = "Proxy", kind = "remote:proxy", parts = none,
  options = {
    to = "texts", balance = "text", host = "text", healthCheck = "text", interval = "seconds", maxFails = "count",
    failTimeout = "seconds", retries = "count", sticky = "any", connectTimeout = "seconds", timeout = "seconds",
    idleTimeout = "seconds", maxConnections = "count", poolTimeout = "seconds", encodedSlashes = "flag",
    certificateAuthority = "text",
    certificate = "text", key = "text",
  },
}, Proxy))
