-- JSON Web Tokens (RFC 7519) and signatures (RFC 7515). The program fixes the algorithms; a token only selects
-- one of them. Signatures are verified by Rust (crates/jose), claims are checked here.
local K = ...
local type, floor, find, match, concat = type, math.floor, string.find, string.match, table.concat
local throw, native, take = K.throw, K.native, K.optionKinds
local NULL = K.NULL

-- Seconds for which a signed token is good.
local TTL = 3600
-- Seconds by which clocks may differ.
local LEEWAY = 30
local MOST_LEEWAY = 300
-- Seconds for which a fetched key set is good, and between two fetches for unknown keys.
local KEYS_TTL = 600
local KEYS_INTERVAL = 60
-- Bytes of the random `jti`.
local IDENTIFIER = 16

-- Options ---------------------------------------------------------------------------------------

local function texts(value, name, self)
  if type(value) == "table" and value._isArray and not value._isText then
    local list = {}
    for i = 1, #value do list[i] = take.text(value[i], name, self) end
    return list
  end
  return { take.text(value, name, self) }
end

-- Adds a key and its kind to the list that `native.tokenKeys` takes.
local function addKey(list, value, name, self, algorithms)
  local n = #list
  if type(value) == "table" and value._isDictionary then
    list[n + 1], list[n + 2] = "jwk", K.json(value)
    return
  end
  local bytes = K.secretBytes(value)
  if not bytes then K.refuseSecret(self, name, "a text, Data or a JSON Web Key", value) end
  local kind = "secret"
  if find(bytes, "^%s*{") then
    kind = "jwk"
  elseif find(bytes, "^%s*%-%-%-%-%-BEGIN ") and not find(algorithms, "HS", 1, true) then
    kind = "pem"
  end
  list[n + 1], list[n + 2] = kind, bytes
end

local function isAddress(value) return type(value) == "string" and find(value, "^https?://") ~= nil end

-- Keys of another server: who signs and for whom must be said, because its keys sign for others, too.
local function fetchedKeys(self, given, algorithms)
  if not given.issuer or not given.audience or algorithms == "" then
    throw("invalid", "keys of another server need `issuer`, `audience` and `algorithms`: it signs for others, too")
  end
  if find(algorithms, "HS", 1, true) then
    throw("invalid", "keys of another server are public: `algorithms` cannot have " .. match(algorithms, "HS%d*"))
  end
  self._document = K.cachedDocument(given.keys, "the key set", given.keysTtl or KEYS_TTL, KEYS_INTERVAL, function(text)
    return native.tokenKeys({ "jwks", text }, algorithms)
  end)
end

local function make(self, given)
  local algorithms = concat(given.algorithms or {}, " ")
  self._algorithms = algorithms
  if (given.key == nil) == (given.keys == nil) then
    throw("nilValue", "a JWT needs its `key`, or `keys`", { i_hint = "write `#JWT{ key: env:JWT_KEY, algorithm: 'HS256' }`" })
  end
  local name, list = given.key ~= nil and "key" or "keys", {}
  local value = given[name]
  if name == "keys" and isAddress(value) then return fetchedKeys(self, given, algorithms) end
  if name == "keys" and type(value) == "table" and value._isDictionary then
    list = { "jwks", K.json(value) }
  elseif name == "keys" then
    if type(value) ~= "table" or not value._isArray then
      K.refuseSecret(self, name, "an address, a key set or an array of keys", value)
    end
    for i = 1, #value do addKey(list, value[i], name, self, algorithms) end
  else
    addKey(list, value, name, self, algorithms)
  end
  self._keys = K.withOption(self, name, native.tokenKeys, list, algorithms)
end

local function kept(value) return value end
--- JWT -<nothing> setKey:<Data|Dictionary|String>key
--- Sets the key: a secret, a key pair or public key as PEM, or a JSON Web Key. Either `key` or `keys` is required.
--- > #JWT{} verify: 'x' ⇒ error: a JWT needs its `key`, or `keys`

--- JWT -<nothing> setKeys:<Array|Dictionary|String>keys
--- Sets several keys: an array, of which the first one signs and all verify; a key set; or the URL of a key set, which
--- needs `issuer`, `audience` and `algorithms`.
--- > #JWT{ keys: [ SecureRandom token, SecureRandom token ], algorithm: 'HS256' }

--- JWT -<nothing> setAlgorithm:<String>name
--- Sets the signature algorithm; by default that of the JSON Web Key.
--- > #JWT{ key: SecureRandom token, algorithm: 'none' } ⇒ error: `key` of a JWT: there is no algorithm `none`

--- JWT -<nothing> setAlgorithms:<Array|String>names
--- Sets the signature algorithms that are accepted.
--- > #JWT{ key: SecureRandom token, algorithms: [ 'HS256' ] }

--- JWT -<nothing> setIssuer:<String>issuer
--- Sets `iss`: added to signed tokens, and required of verified ones.
--- > #JWT{ key: SecureRandom token, algorithm: 'HS256', issuer: 'https://shop.example' }

--- JWT -<nothing> setAudience:<Array|String>audience
--- Sets `aud`: added to signed tokens; a verified token must have one of them. Without it, a token with an audience is
--- refused.
--- > #JWT{ key: SecureRandom token, algorithm: 'HS256', audience: 'api' }

--- JWT -<nothing> setType:<String>type
--- Sets `typ`: added to signed tokens, and required of verified ones. By default `JWT` is added and none required.
--- > #JWT{ key: SecureRandom token, algorithm: 'HS256', type: 'at+jwt' }

--- JWT -<nothing> setTtl:<Duration>time
--- Sets the lifetime of signed tokens; 1 hour by default.
--- > #JWT{ key: SecureRandom token, algorithm: 'HS256', ttl: 5 minutes }

--- JWT -<nothing> setKeysTtl:<Duration>time
--- Sets how long a fetched key set is used; 10 minutes by default.
--- > { #JWT{ keys: env:KEYS, keysTtl: 1 hour, issuer: 'a', audience: 'b', algorithms: [ 'ES256' ] } }

--- JWT -<nothing> setLeeway:<Duration>time
--- Sets by how much clocks may differ: 30 seconds by default, at most 5 minutes.
--- > #JWT{ leeway: 6 minutes } ⇒ error: `leeway` of a JWT must be at most 5 minutes

--- JWT -<nothing> setRequiresExpiry:<Boolean>flag
--- Sets whether a token without `exp` is refused, which is the default.
--- > #JWT{ key: SecureRandom token, algorithm: 'HS256', requiresExpiry: false }

--- Signs and verifies JSON Web Tokens (RFC 7519): `#JWT{ key: env:JWT_KEY, algorithm: 'HS256' }`.
local JWT = K.optionClass("JWT", {
  key = kept, keys = kept,
  algorithm = function(value, name, self)
    self._given.algorithms = { take.text(value, name, self) }
  end,
  algorithms = texts,
  issuer = take.text, audience = texts, type = take.text,
  ttl = take.seconds, keysTtl = take.seconds,
  leeway = K.durationUpTo(MOST_LEEWAY, "5 minutes"),
  requiresExpiry = take.flag,
}, make)
for _, key in ipairs { "_algorithms", "_document" } do K.nilKeys[key] = true end

-- Claims ----------------------------------------------------------------------------------------

local function isTime(value) return type(value) == "number" and value > -1e15 and value < 1e15 end

-- Whether one of the wanted audiences stands in the claim: a text, or an array of texts.
local function isFor(claim, wanted)
  if claim == nil then return wanted == nil end
  if wanted == nil then return false end
  local list = type(claim) == "table" and claim._isArray and claim or { claim }
  for i = 1, #list do
    for j = 1, #wanted do
      if list[i] == wanted[j] then return true end
    end
  end
  return false
end

-- Whether claims are good now (RFC 7519 section 4.1). A token for an audience is refused where the program names
-- none for itself.
local function admits(given, claims)
  local now, leeway = native.now(), given.leeway or LEEWAY
  if claims.exp == nil then
    if given.requiresExpiry ~= false then return false end
  elseif not isTime(claims.exp) or now >= claims.exp + leeway then
    return false
  end
  if claims.nbf ~= nil and (not isTime(claims.nbf) or now < claims.nbf - leeway) then return false end
  if claims.iat ~= nil and (not isTime(claims.iat) or now < claims.iat - leeway) then return false end
  if given.issuer and claims.iss ~= given.issuer then return false end
  return isFor(claims.aud, given.audience)
end

-- The payload of a token with a right signature. A key that the fetched set lacks may have been added since.
local function payloadOf(self, token)
  local bytes = K.secretBytes(token)
  if not bytes then return nil end
  self:connectComponents()
  local document, media = self._document, self._given.type
  local keys = document and K.documentValue(document) or self._keys
  local payload = native.verifyToken(keys, bytes, self._algorithms, media)
  if payload == false and document then
    local newer = K.newerDocumentValue(document)
    if newer ~= keys then payload = native.verifyToken(newer, bytes, self._algorithms, media) end
  end
  return payload or nil
end

-- The claims of a good token; nil for every other one, whatever is wrong with it.
local function verify(self, token)
  local payload = payloadOf(self, token)
  if not payload then return nil end
  local ok, claims = K.try(K.parseJSON, payload)
  if not ok or type(claims) ~= "table" or not claims._isDictionary then return nil end
  return admits(self._given, claims._map) and claims or nil
end
K.verifyToken = verify

local TIMES = { exp = true, nbf = true, iat = true }

local function sign(self, claims)
  if type(claims) ~= "table" or not claims._isDictionary then
    throw("typeError", "sign: expects a Dictionary of claims, got " .. K.nameOf(claims))
  end
  self:connectComponents()
  if self._document then throw("invalid", "keys of another server cannot sign") end
  local given, now = self._given, floor(native.now())
  local all = K.newDictionary()
  for _, key in ipairs(K.keysOf(claims)) do
    local value = claims._map[key]
    if TIMES[key] and type(value) == "table" and value._isDate then value = value._time end
    if value ~= NULL then all:at_put_(key, value) end
  end
  local audience = given.audience
  local added = { "iss", given.issuer, "aud", audience and (#audience == 1 and audience[1] or K.array(audience)),
    "iat", now, "exp", now + floor(given.ttl or TTL), "jti", K.randomToken(IDENTIFIER) }
  for i = 1, 10, 2 do
    if added[i + 1] and all._map[added[i]] == nil then all:at_put_(added[i], added[i + 1]) end
  end
  return native.signToken(self._keys, K.json(all), given.type or "JWT")
end

K.methods(JWT, {
  --- JWT -<String> sign:<Dictionary>claims
  --- A token with the claims, and with `iss`, `aud`, `iat`, `exp` and `jti` where they lack them. Dates in `exp`, `nbf`
  --- and `iat` become seconds. Needs a private key or a secret.
  --- > t := #JWT{ key: SecureRandom token, algorithm: 'HS256' }. (t verify: (t sign: #{ a: 1 })) at: #a ⇒ 1
  ["sign:"] = sign,
  --- JWT -<Dictionary?> verify:<any>token
  --- The claims of a valid token; nil for every other one, whatever is wrong with it. An error where a key set cannot
  --- be fetched.
  --- > #JWT{ key: SecureRandom token, algorithm: 'HS256' } verify: 'x' ⇒ nil
  ["verify:"] = verify,
  --- JWT -<Dictionary?> bearer
  --- The claims of the token in the header `Authorization` of the request; nil without a valid one.
  --- > { :tokens | tokens bearer }
  ["bearer"] = function(self) return verify(self, K.bearerToken()) end,
  --- JWT -<Dictionary> publicKeys
  --- The public keys as a JSON Web Key Set, which other servers can fetch. Secrets are not part of it.
  --- > #JWT{ key: SecureRandom token, algorithm: 'HS256' } publicKeys ⇒ #{ keys: [] }
  ["publicKeys"] = function(self)
    self:connectComponents()
    return K.parseJSON(native.publicKeys(self._document and K.documentValue(self._document) or self._keys))
  end,
})

-- Signatures of any content ------------------------------------------------------------------------

--- Signatures of any text or Data with a JSON Web Key (RFC 7515). JWT signs claims.
local JWS = K.newClass("JWS", K.classes.Object)
JWS._plainName = true

local function keyOf(key, selector)
  local text = type(key) == "table" and key._isDictionary and K.json(key) or K.secretBytes(key)
  if not text or not find(text, "^%s*{") then
    throw("typeError", selector .. " expects a JSON Web Key")
  end
  return native.tokenKeys({ "jwk", text }, "")
end

K.classMethods(JWS, {
  --- +<Data?> verify:<any>token key:<Data|Dictionary|String>key
  --- The content that was signed; nil where the signature is wrong. A key that is no JSON Web Key is an error.
  --- > key := #{ kty: 'oct', alg: 'HS256', k: SecureRandom token }. JWS verify: 'forged' key: key ⇒ nil
  ["verify:key:"] = function(_, token, key)
    local keys, bytes = keyOf(key, "verify:key:"), K.secretBytes(token)
    local payload = bytes and native.verifyToken(keys, bytes, "", nil)
    return payload and K.data(payload) or nil
  end,
  --- +<String> sign:<Data|String>content key:<Data|Dictionary|String>key
  --- A token with the content and its signature by a JSON Web Key.
  --- > JWS sign: 'any text' key: #{ kty: 'oct', alg: 'HS256', k: SecureRandom token }
  ["sign:key:"] = function(_, content, key)
    return native.signToken(keyOf(key, "sign:key:"), K.bytesOf(content, "sign:key:"), nil)
  end,
})
