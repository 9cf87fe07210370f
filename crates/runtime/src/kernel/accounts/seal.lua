-- Seals: values that a client keeps, sealed so that it can neither read nor change them, or signed so that
-- it can only read them. The cryptography is Rust's (crates/jose/src/seal.rs).
local K = ...
local type, throw, native = type, K.throw, K.native

-- Seconds for which a text is good where nothing is said, and at most: cookies live no longer than 400 days.
local TTL = 86400
local LONGEST = 400 * 86400

local takeTtl = K.durationUpTo(LONGEST, "400 days")

local Seal
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
  ["seal:"] = function(self, value) return close(self, false, value) end,
  ["seal:ttl:"] = function(self, value, ttl) return close(self, false, value, ttl) end,
  ["open:"] = function(self, text) return open(self, false, text) end,
  ["sign:"] = function(self, value) return close(self, true, value) end,
  ["sign:ttl:"] = function(self, value, ttl) return close(self, true, value, ttl) end,
  ["verify:"] = function(self, text) return open(self, true, text) end,
  ["for:"] = function(self, purpose) return K.sealFor(self, K.expectText(purpose, "for:")) end,
})
