-- Seals: values that a client keeps, sealed so that it can neither read nor change them, or signed so that
-- it can only read them. The cryptography is Rust's (crates/jose/src/seal.rs).
local K = ...
local type, throw, native = type, K.throw, K.native

-- Seconds for which a text is good where nothing is said, and at most: cookies live no longer than 400 days.
local TTL = 86400
local LONGEST = 400 * 86400

local takeTtl = K.durationUpTo(LONGEST, "400 days")

--- Seal -<nothing> setKeys:<Array>secrets
--- Sets 1 to 8 secrets of at least 32 bytes each, as text or Data. The first one seals, all of them open.
--- > #Seal{ keys: [ 'short' ] } ⇒ error: `keys` of a Seal: a key has at least 32 bytes (got 5)

--- Seal -<nothing> setPurpose:<String>purpose
--- Sets what the texts are for: texts of another purpose are not opened. At most 64 bytes.
--- > #Seal{ keys: [ SecureRandom token ], purpose: 'cart' }

--- Seal -<nothing> setTtl:<Duration>time
--- Sets how long a text is valid: 1 day by default, at most 400 days.
--- > #Seal{ keys: [ SecureRandom token ], ttl: 1 hour }

local Seal
--- Encrypts or signs values that clients keep, in cookies, links or hidden fields: `#Seal{ keys: [ env:KEY ] }`.
Seal = K.optionClass("Seal", {
  keys = function(value, name, self)
    if type(value) ~= "table" or not value._isArray then
      K.refuseSecret(self, name, "an array of secrets, such as [ env:KEY ]", value)
    end
    local secrets = {}
    for i = 1, #value do
      local secret = value[i]
      if secret == K.NULL then secret = nil end
      secrets[i] = K.secretBytes(secret)
      if not secrets[i] then K.refuseSecret(self, name, "an array of texts or Data", secret) end
    end
    return secrets
  end,
  purpose = K.optionKinds.text,
  ttl = takeTtl,
}, function(self, given)
  if not given.keys then
    throw("nilValue", "a Seal needs its `keys`", { i_hint = "write `#Seal{ keys: [ env:KEY ] }`" })
  end
  self._keys = K.withOption(self, "keys", native.sealKeys, given.keys, given.purpose or "")
end)
K.nilKeys._keys = true

local function keysOf(self) return self:connectComponents()._keys end

local function close(self, isReadable, value, ttl)
  local keys = keysOf(self)
  local seconds = ttl ~= nil and takeTtl(ttl, "ttl", self) or self._given.ttl or TTL
  return native.closeSeal(keys, isReadable, K.json(value), seconds)
end

-- The value of a text; nil for a forged or expired one, and for another key or purpose.
local function open(self, isReadable, text)
  local bytes = K.secretBytes(text)
  local json = bytes and native.openSeal(keysOf(self), isReadable, bytes)
  if json == nil then return nil end
  return K.parseJSON(json)
end

-- The same keys for another purpose: its texts are none of this one's.
function K.sealFor(seal, purpose)
  local other = Seal:new()
  local own = seal:connectComponents()._given.purpose
  other._given = { keys = seal._given.keys, ttl = seal._given.ttl, purpose = own and own .. "/" .. purpose or purpose }
  return other:connectComponents()
end

function K.isSeal(value) return type(value) == "table" and K.isKind(value, Seal) end

K.methods(Seal, {
  --- Seal -<String> seal:<any>value
  --- An encrypted URL-safe text of a value that JSON has, for `open:`. The client can neither read nor change it.
  --- > seal := #Seal{ keys: [ SecureRandom token ] }. seal open: (seal seal: [ 7, 9 ]) ⇒ [ 7, 9 ]
  ["seal:"] = function(self, value) return close(self, false, value) end,
  --- Seal -<String> seal:<any>value ttl:<Duration>time
  --- As `seal:`, with another lifetime; a number counts seconds.
  --- > seal := #Seal{ keys: [ SecureRandom token ] }. seal open: (seal seal: 7 ttl: 1 hour) ⇒ 7
  ["seal:ttl:"] = function(self, value, ttl) return close(self, false, value, ttl) end,
  --- Seal -<any> open:<any>text
  --- The value of a text of `seal:`; nil where it is forged, expired, or of another key or purpose.
  --- > #Seal{ keys: [ SecureRandom token ] } open: 'forged' ⇒ nil
  ["open:"] = function(self, text) return open(self, false, text) end,
  --- Seal -<String> sign:<any>value
  --- A signed URL-safe text of a value that JSON has, for `verify:`. The client can read it, but not change it.
  --- > seal := #Seal{ keys: [ SecureRandom token ] }. seal verify: (seal sign: 'dark') ⇒ 'dark'
  ["sign:"] = function(self, value) return close(self, true, value) end,
  --- Seal -<String> sign:<any>value ttl:<Duration>time
  --- As `sign:`, with another lifetime; a number counts seconds.
  --- > seal := #Seal{ keys: [ SecureRandom token ] }. seal verify: (seal sign: 'dark' ttl: 1 hour) ⇒ 'dark'
  ["sign:ttl:"] = function(self, value, ttl) return close(self, true, value, ttl) end,
  --- Seal -<any> verify:<any>text
  --- The value of a text of `sign:`; nil where it is forged, expired, or of another key or purpose.
  --- > #Seal{ keys: [ SecureRandom token ] } verify: 'forged' ⇒ nil
  ["verify:"] = function(self, text) return open(self, true, text) end,
  --- Seal -<Seal> for:<String>purpose
  --- A seal with the same keys for another purpose: neither opens texts of the other.
  --- > seal := #Seal{ keys: [ SecureRandom token ] }. (seal for: 'reset') open: (seal seal: 7) ⇒ nil
  ["for:"] = function(self, purpose) return K.sealFor(self, K.expectText(purpose, "for:")) end,
})
