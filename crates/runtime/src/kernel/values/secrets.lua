-- Secrets: random tokens, UUIDs, hashes, authentication codes, passwords, comparison in constant time.
local K = ...
local gsub, byte, char, sub, find, match, lower = string.gsub, string.byte, string.char, string.sub,
  string.find, string.match, string.lower
local format, tonumber = string.format, tonumber
local throw, native, bytesOf = K.throw, K.native, K.bytesOf
local Object, String, Data = K.classes.Object, K.classes.String, K.classes.Data

-- Encodings of bytes as text -------------------------------------------------------------------

-- Base 64 with the alphabet for URLs, without padding (RFC 4648, section 5).
local function base64url(bytes)
  local function forUrl(piece) return (gsub(piece, "[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" })) end
  return K.pieces(String._methods.base64(bytes), forUrl)
end

local function fromBase64url(self)
  local text = bytesOf(self, "base64urlDecoded")
  if not K.hasNone(text, "[+/]") then throw("invalid", "this is not base64url") end
  local function plain(piece) return (gsub(piece, "[-_]", { ["-"] = "+", ["_"] = "/" })) end
  return String._methods.base64Decoded(K.pieces(text, plain))
end

local function fromHex(self)
  local text = bytesOf(self, "hexDecoded")
  if #text % 2 == 1 or not K.hasNone(text, "%X") then throw("invalid", "this is not hexadecimal") end
  local function meaning(two) return char(tonumber(two, 16)) end
  return K.data(K.pieces(text, function(piece) return (gsub(piece, "%x%x", meaning)) end, nil, 8192))
end

-- Hashes and passwords -------------------------------------------------------------------------

local function digest(hash)
  return function(self) return K.data(native.digest(hash, bytesOf(self, hash))) end
end

local function authenticate(hash, selector)
  return function(self, key)
    if key == nil then throw("nilValue", selector .. " needs a key, not nil") end
    return K.data(native.authenticate(hash, bytesOf(self, selector), bytesOf(key, selector)))
  end
end

-- The bytes of something that may be nil: nil where it is.
local function bytesOrNil(value, selector)
  if value == nil or value == K.NULL then return nil end
  return bytesOf(value, selector)
end

local function isSecret(self, other)
  other = bytesOrNil(other, "isSecret:")
  return other ~= nil and native.isSecret(bytesOf(self, "isSecret:"), other)
end

local messages = {
  ["sha256"] = digest("sha256"),
  ["sha512"] = digest("sha512"),
  ["hmacSHA256:"] = authenticate("sha256", "hmacSHA256:"),
  ["hmacSHA512:"] = authenticate("sha512", "hmacSHA512:"),
  ["passwordHash"] = function(self) return native.passwordHash(bytesOf(self, "passwordHash")) end,
  ["matchesPasswordHash:"] = function(self, hash)
    return native.matchesPasswordHash(bytesOf(self, "matchesPasswordHash:"),
      bytesOrNil(hash, "matchesPasswordHash:"))
  end,
  ["isSecret:"] = isSecret,
  ["base64urlDecoded"] = fromBase64url,
  ["hexDecoded"] = fromHex,
}
K.methods(String, messages)
K.methods(Data, messages)
K.methods(String, { ["base64url"] = base64url })
K.methods(Data, {
  ["base64url"] = function(self) return base64url(self._bytes) end,
  ["base64Decoded"] = function(self) return String._methods.base64Decoded(self._bytes) end,
})
-- Nothing is no secret, and no password: a guard fails closed.
K.methods(K.classes.Nil, {
  ["isSecret:"] = function() return false end,
  ["matchesPasswordHash:"] = function(_, hash)
    return native.matchesPasswordHash("", bytesOrNil(hash, "matchesPasswordHash:"))
  end,
})

-- Random values of the operating system ------------------------------------------------------------

-- Bytes of a token where no number is given: 256 bits.
local TOKEN = 32
-- Digits of a code at most.
local MOST_DIGITS = 64

local SecureRandom = K.newClass("SecureRandom", Object)

local function token(count) return base64url(native.secureRandom(count)) end
K.randomToken = token

-- Decimal digits, each equally likely: bytes from 250 on are drawn again.
local function digits(count)
  if count ~= math.floor(count) or count < 1 or count > MOST_DIGITS then
    throw("outOfRange", "a code has from 1 to " .. MOST_DIGITS .. " digits, not " .. K.str(count))
  end
  local text = ""
  while #text < count do
    local bytes = gsub(native.secureRandom(count - #text), "[\250-\255]", "")
    text = text .. gsub(bytes, ".", function(one) return format("%d", byte(one) % 10) end)
  end
  return text
end

K.classMethods(SecureRandom, {
  ["bytes:"] = function(_, count) return K.data(native.secureRandom(K.expectInteger(count, "bytes:"))) end,
  ["token"] = function() return token(TOKEN) end,
  ["token:"] = function(_, count) return token(K.expectInteger(count, "token:")) end,
  ["digits:"] = function(_, count) return digits(K.expectInteger(count, "digits:")) end,
})

-- The text of a UUID as RFC 9562 writes it, in lower case; nil for a text that is none. Braces, the
-- prefix of a URN and missing hyphens are accepted.
function K.uuidFromText(text)
  if #text > 45 then return nil end
  local digits = lower(gsub(text, "^[uU][rR][nN]:[uU][uU][iI][dD]:", ""))
  digits = match(digits, "^{(.*)}$") or digits
  local a, b, c, d, e = match(digits, "^(%x+)-(%x+)-(%x+)-(%x+)-(%x+)$")
  if not a then
    if #digits ~= 32 or find(digits, "%X") then return nil end
    return format("%s-%s-%s-%s-%s", sub(digits, 1, 8), sub(digits, 9, 12), sub(digits, 13, 16),
      sub(digits, 17, 20), sub(digits, 21))
  end
  return #a == 8 and #b == 4 and #c == 4 and #d == 4 and #e == 12 and digits or nil
end

local UUID = K.newClass("UUID", Object)
local function random() return native.uuid(4) end
K.classMethods(UUID, {
  ["new"] = random, ["v4"] = random,
  ["v7"] = function() return native.uuid(7) end,
})
K.methods(String, {
  ["asUUID"] = K.uuidFromText,
  ["isUUID"] = function(text) return K.uuidFromText(text) ~= nil end,
})
