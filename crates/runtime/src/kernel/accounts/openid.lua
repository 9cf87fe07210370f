-- Logging in through a provider: the authorization code flow of OpenID Connect Core 1.0 (section 3.1), with PKCE
-- (RFC 7636) and the issuer in the response (RFC 9207).
--
-- What must be remembered between the two requests (state, nonce, code verifier) is in a sealed cookie of the
-- browser. The server keeps nothing but the states that were used, until they expire.
local K = ...
local type, match, find, concat, byte = type, string.match, string.find, table.concat, string.byte
local throw, native, take, try = K.throw, K.native, K.optionKinds, K.try
local JWT = K.classes.JWT -- not a class of this name that a program has

-- Seconds for which a login may take, and a description of a provider is good.
local LOGIN, DESCRIPTION = 600, 3600
-- Logins of one browser at the same time, each with a cookie.
local COOKIES = 4
-- Characters of the digest that tells providers apart, in the names of cookies and the purpose of the seal.
local NAME, PURPOSE = 4, 22
-- Bytes of state, nonce and code verifier, and of a code of a provider.
local RANDOM, LONGEST_CODE = 32, 4096
-- Bytes of what a login begins with: a browser takes 4096 for the whole cookie (RFC 6265, section 6.1).
local LONGEST_VALUES = 1024
-- Signatures of a provider where nothing is said.
local ALGORITHMS = { "RS256", "PS256", "ES256", "EdDSA" }

-- Refuses a login. The words name the check, never a value.
local function refuse(why)
  throw("unauthorized", "the login was refused: " .. why, { _side = "request", i_hint = "start the login again" })
end

-- The provider ------------------------------------------------------------------------------------

local ENDPOINTS = { "authorization_endpoint", "token_endpoint", "jwks_uri" }

-- A description (OpenID Connect Discovery 1.0, section 4). It must be that of the issuer itself.
local function readDescription(text, issuer)
  local description = K.parseJSON(text)
  local map = type(description) == "table" and description._isDictionary and description._map or {}
  if map.issuer ~= issuer then throw("invalid", "it is the description of another issuer") end
  for _, name in ipairs(ENDPOINTS) do
    if type(map[name]) ~= "string" then throw("invalid", "it has no " .. name) end
    K.secureAddress(map[name], name)
  end
  return map
end

local function make(self, given)
  for _, name in ipairs { "issuer", "client", "redirect", "seal" } do
    if given[name] == nil then throw("nilValue", "an OpenID needs its `" .. name .. "`") end
  end
  local _, _, isSecure = K.secureAddress(given.redirect, "`redirect` of an OpenID")
  self._isSecure = isSecure
  -- A login that began with one provider is not finished with another (mix-up, RFC 9700 section 4.4).
  local parties = table.concat({ given.issuer, given.client, given.redirect }, "\n")
  local digest = K.data(native.digest("sha256", parties)):base64url()
  self._name = string.sub(digest, 1, NAME)
  self._seal = K.sealFor(given.seal, "openid " .. string.sub(digest, 1, PURPOSE))
  local issuer = given.issuer
  local address = (string.gsub(issuer, "/$", "")) .. "/.well-known/openid-configuration"
  self._document = K.cachedDocument(address, "the description of the login provider", DESCRIPTION, DESCRIPTION,
    function(text) return readDescription(text, issuer) end)
end

--- OpenID -<nothing> setIssuer:<String>address
--- Sets the URL of the provider; its description is at `/.well-known/openid-configuration` below it.
--- > #OpenID{ issuer: 'https://accounts.google.com' } start ⇒ error: an OpenID needs its `client`

--- OpenID -<nothing> setClient:<String>id
--- OpenID -<nothing> setSecret:<Data|String>secret
--- Sets the client id and the client secret that the provider gave to the program; a public client has no secret.
--- > { #OpenID{ issuer: env:ISSUER, client: env:CLIENT, secret: env:SECRET } }

--- OpenID -<nothing> setRedirect:<String>address
--- Sets the URL of the handler that calls `finish`, as it is registered at the provider.
--- > { #OpenID{ issuer: env:ISSUER, redirect: 'https://shop.example/login/done' } }

--- OpenID -<nothing> setScope:<String>scopes
--- Sets the scopes to ask for, separated by spaces; `openid` by default, which must be one of them.
--- > #OpenID{ scope: 'email' } ⇒ error: `scope` of an OpenID must have `openid`

--- OpenID -<nothing> setSeal:<Seal>seal
--- Sets the seal of the cookie between the two requests.
--- > #OpenID{ seal: 7 } ⇒ error: `seal` of an OpenID must be a Seal, not a Number (7)

--- OpenID -<nothing> setAlgorithms:<Array>names
--- Sets the signature algorithms of ID tokens; by default RS256, PS256, ES256 and EdDSA.
--- > { #OpenID{ issuer: env:ISSUER, algorithms: [ 'RS256' ] } }

--- OpenID -<nothing> setParameters:<Dictionary>parameters
--- Sets further parameters of the authorization request, such as `prompt`.
--- > { #OpenID{ issuer: env:ISSUER, parameters: #{ prompt: 'login' } } }

--- Login through a provider with OpenID Connect: the authorization code flow with PKCE.
local OpenID = K.optionClass("OpenID", {
  issuer = take.text, client = take.text, redirect = take.text,
  scope = function(value, name, self)
    local scope = take.text(value, name, self)
    if not find(" " .. scope .. " ", " openid ", 1, true) then
      throw("invalid", "`scope` of an OpenID must have `openid`")
    end
    return scope
  end,
  secret = function(value, name, self)
    return K.secretBytes(value) or K.refuseSecret(self, name, "a text", value)
  end,
  seal = function(value, _, self)
    if not K.isSeal(value) then throw("typeError", "`seal` of an OpenID must be a Seal, not " .. K.nameOf(value)) end
    return value
  end,
  algorithms = function(value, _, self)
    if type(value) ~= "table" or not value._isArray then
      throw("typeError", "`algorithms` of an OpenID must be an array, not " .. K.nameOf(value))
    end
    return value
  end,
  parameters = take.texts,
}, make)
for _, key in ipairs { "_isSecure", "_name", "_seal", "_tokens", "_tokensOf" } do K.nilKeys[key] = true end

-- What verifies the provider's tokens.
local function tokensOf(self, description)
  if self._tokensOf ~= description.jwks_uri then
    local given = self._given
    self._tokensOf = description.jwks_uri
    self._tokens = K.object(JWT, { "keys", "algorithms", "issuer", "audience" },
      { description.jwks_uri, given.algorithms or K.array(ALGORITHMS), given.issuer, given.client }, 4)
  end
  return self._tokens
end

-- Cookies ---------------------------------------------------------------------------------------

local function cookieName(self, state) return "openid-" .. self._name .. byte(state) % COOKIES end

local function setCookie(self, state, value, seconds)
  K.setHostCookie(cookieName(self, state), self._isSecure, value, seconds)
end

-- The two requests --------------------------------------------------------------------------------

local function encodedForm(pairsOf)
  local parts = {}
  for i = 1, #pairsOf, 2 do
    parts[#parts + 1] = pairsOf[i] .. "=" .. K.str(pairsOf[i + 1]):urlEncoded()
  end
  return concat(parts, "&")
end

-- Answers 303 to the provider. The values come back with the user; the browser keeps them, sealed.
local function start(self, values)
  local description, given = K.documentValue(self:connectComponents()._document), self._given
  local state, nonce, verifier = K.randomToken(RANDOM), K.randomToken(RANDOM), K.randomToken(RANDOM)
  if values ~= nil and #K.json(values) > LONGEST_VALUES then
    throw("invalid", "start: takes values of at most " .. LONGEST_VALUES .. " bytes as JSON")
  end
  local login = K.dictionary({ "state", "nonce", "verifier", "values" },
    { state = state, nonce = nonce, verifier = verifier, values = values }, values == nil and 3 or 4)
  setCookie(self, state, self._seal:seal_ttl_(login, K.duration(LOGIN)), LOGIN)
  local parameters = { "response_type", "code", "client_id", given.client, "redirect_uri", given.redirect,
    "scope", given.scope or "openid", "state", state, "nonce", nonce,
    "code_challenge", K.data(native.digest("sha256", verifier)):base64url(), "code_challenge_method", "S256" }
  if given.parameters then
    given.parameters:keysAndValuesDo_(function(name, value)
      parameters[#parameters + 1] = K.str(name):urlEncoded()
      parameters[#parameters + 1] = value
    end)
  end
  local address = description.authorization_endpoint
  native.respond("status", 303)
  native.respond("cache-control", "no-store")
  native.respond("location", address .. (find(address, "?", 1, true) and "&" or "?") .. encodedForm(parameters))
  return ""
end

-- What was remembered for the state of the request. Its cookie is removed: a login is finished once.
local function remembered(self)
  local state = native.exchange("query", "state")
  if state == nil or not find(state, "^[%w_-]+$") then refuse("the state is missing") end
  local cookie = native.exchange("cookie", K.hostCookieName(cookieName(self, state), self._isSecure))
  if cookie == nil then refuse("it did not begin in this browser, or it took too long") end
  setCookie(self, state, "", 0)
  native.respond("cache-control", "no-store")
  local login = self._seal:open_(cookie)
  if type(login) ~= "table" or not native.isSecret(K.str(login:at_("state")), state) then
    refuse("the state is of another login, or it took too long")
  end
  return login, state
end

-- Client authentication: the provider says which way it takes (OpenID Connect Core, section 9).
local function authentication(given, description)
  if not given.secret then return nil, { "client_id", given.client } end
  local ways = description.token_endpoint_auth_methods_supported
  local isBasic = type(ways) ~= "table" or not ways._isArray
  for i = 1, isBasic and 0 or #ways do isBasic = isBasic or ways[i] == "client_secret_basic" end
  if isBasic then
    return { user = given.client:urlEncoded(), password = K.str(given.secret):urlEncoded() }, {}
  end
  return nil, { "client_id", given.client, "client_secret", given.secret }
end

local REFUSED = { invalid = true, unauthorized = true, denied = true, notFound = true, unprocessable = true }

-- The ID token for a code.
local function exchanged(self, description, code, verifier)
  local given = self._given
  local options, form = authentication(given, description)
  for _, part in ipairs { "grant_type", "authorization_code", "code", code, "redirect_uri", given.redirect,
    "code_verifier", verifier } do form[#form + 1] = part end
  local client, path = K.fixedClient(description.token_endpoint, "the token endpoint", options)
  local at, query = K.splitPath(path)
  local ok, answer = try(function()
    return native.postForm(K.nativeStore(client), at, query, nil, encodedForm(form))
  end)
  if not ok then
    if REFUSED[answer.i_kind] then refuse("the provider does not take the code") end
    throw("unavailable", "the login provider does not answer: " .. K.str(answer.i_message), { _side = "store" })
  end
  local parsed, tokens = try(K.parseJSON, answer or "")
  local token = parsed and type(tokens) == "table" and tokens._isDictionary and tokens:at_("id_token")
  if type(token) ~= "string" then refuse("the provider gives no ID token") end
  return token
end

-- Checks of an ID token beyond those of every token (OpenID Connect Core, section 3.1.3.7).
local function checkClaims(given, claims, nonce)
  if type(claims.iat) ~= "number" or type(claims.sub) ~= "string" or claims.sub == "" then
    refuse("the ID token lacks `sub` or `iat`")
  end
  if type(claims.nonce) ~= "string" or not native.isSecret(claims.nonce, nonce) then
    refuse("the nonce is of another login")
  end
  local isOfMany = type(claims.aud) == "table" and #claims.aud > 1
  if (isOfMany or claims.azp ~= nil) and claims.azp ~= given.client then
    refuse("the ID token is for another client")
  end
end

-- Whether the response is of the provider that was asked (RFC 9207 section 2.4).
local function checkIssuer(given, description)
  local issuer = native.exchange("query", "iss")
  local isPromised = description.authorization_response_iss_parameter_supported == true
  if issuer ~= given.issuer and (issuer ~= nil or isPromised) then refuse("the response is of another provider") end
end

-- The claims of the user who has logged in, and the values with which the login began.
local function finish(self)
  local given = self:connectComponents()._given
  local login, state = remembered(self)
  local description = K.documentValue(self._document)
  checkIssuer(given, description)
  local failure = native.exchange("query", "error")
  if failure ~= nil then
    refuse("the provider says " .. (match(failure, "^[%l_]+$") and #failure <= 40 and failure or "no"))
  end
  local code = native.exchange("query", "code")
  if code == nil or code == "" or #code > LONGEST_CODE then refuse("the code is missing") end
  if not native.useOnce("openid " .. state, LOGIN) then refuse("it is finished already") end
  local token = exchanged(self, description, code, login:at_("verifier"))
  local claims = K.verifyToken(tokensOf(self, description), token)
  if not claims then refuse("the ID token is not valid") end
  checkClaims(given, claims._map, login:at_("nonce"))
  return claims, login:at_("values")
end

K.methods(OpenID, {
  --- OpenID -<String> start
  --- Redirects the browser (303) to the login page of the provider, for a `get` handler to answer. Sets a cookie that
  --- `finish` needs within 10 minutes.
  --- > { :google | google start }
  ["start"] = function(self) return start(self) end,
  --- OpenID -<String> start:<any>values
  --- As `start`, with a value that `finish:` gives back, such as the page to go to. At most 1,024 bytes as JSON.
  --- > { :google | google start: #{ next: '/orders' } }
  ["start:"] = start,
  --- OpenID -<Dictionary> finish
  --- The claims of the ID token of the user who has logged in, in the handler of the redirect. Every failed check is an
  --- error of kind `unauthorized` (401).
  --- > { :google | google finish at: 'email' }
  ["finish"] = function(self) return (finish(self)) end,
  --- OpenID -<any> finish:<Block(claims, values)>block
  --- The value of the block for the claims, as `finish` answers them, and for the value that `start:` took.
  --- > { :google | google finish: { :claims :begun | stdout println: (claims at: 'email') } }
  ["finish:"] = function(self, block) return block(finish(self)) end,
})
