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
  --- String -<Data> sha256
  --- Data -<Data> sha256
  --- The SHA-256 digest: 32 bytes. For passwords use `passwordHash`.
  --- > 'abc' sha256 hex hasPrefix: 'ba7816bf' ⇒ true
  ["sha256"] = digest("sha256"),
  --- String -<Data> sha512
  --- Data -<Data> sha512
  --- The SHA-512 digest: 64 bytes. For passwords use `passwordHash`.
  --- > 'abc' sha512 count ⇒ 64
  ["sha512"] = digest("sha512"),
  --- String -<Data> hmacSHA256:<String|Data>key
  --- Data -<Data> hmacSHA256:<String|Data>key
  --- The authentication code by HMAC with SHA-256 (RFC 2104): 32 bytes. An empty key is an error. Compare codes with
  --- `isSecret:`.
  --- > ('what do ya want for nothing?' hmacSHA256: 'Jefe') hex hasPrefix: '5bdcc146' ⇒ true
  ["hmacSHA256:"] = authenticate("sha256", "hmacSHA256:"),
  --- String -<Data> hmacSHA512:<String|Data>key
  --- Data -<Data> hmacSHA512:<String|Data>key
  --- The authentication code by HMAC with SHA-512 (RFC 2104): 64 bytes. An empty key is an error.
  --- > ('text' hmacSHA512: 'key') count ⇒ 64
  ["hmacSHA512:"] = authenticate("sha512", "hmacSHA512:"),
  --- String -<String> passwordHash
  --- Data -<String> passwordHash
  --- An Argon2id hash of the password with a random salt, to be stored. A pool thread computes it while the fiber
  --- waits. An error for an empty password and for one of more than 4,096 bytes.
  --- > 'correct horse' matchesPasswordHash: 'correct horse' passwordHash ⇒ true
  ["passwordHash"] = function(self) return native.passwordHash(bytesOf(self, "passwordHash")) end,
  --- String -<Boolean> matchesPasswordHash:<String|Data?>hash
  --- Data -<Boolean> matchesPasswordHash:<String|Data?>hash
  --- Whether the hash belongs to this password; false for nil and `''` on either side, after the same time. A text
  --- that is no Argon2id hash is an error.
  --- > 'correct horse' matchesPasswordHash: nil ⇒ false
  ["matchesPasswordHash:"] = function(self, hash)
    return native.matchesPasswordHash(bytesOf(self, "matchesPasswordHash:"),
      bytesOrNil(hash, "matchesPasswordHash:"))
  end,
  --- String -<Boolean> isSecret:<String|Data?>other
  --- Data -<Boolean> isSecret:<String|Data?>other
  --- Whether both have the same bytes, compared in constant time; false for nil and empty values on either side.
  --- > ['abc' isSecret: 'abc', '' isSecret: ''] ⇒ [true, false]
  ["isSecret:"] = isSecret,
  --- String -<Data> base64urlDecoded
  --- Data -<Data> base64urlDecoded
  --- The bytes that the text writes in base 64 with the alphabet for URLs, with or without padding. Any other text is
  --- an error.
  --- > 'aGVsbG8_Pg' base64urlDecoded ⇒ 'hello?>' asData
  ["base64urlDecoded"] = fromBase64url,
  --- String -<Data> hexDecoded
  --- Data -<Data> hexDecoded
  --- The bytes that the text writes as hexadecimal digits in lower or upper case. Any other text is an error.
  --- > '68656C6C6F' hexDecoded ⇒ 'hello' asData
  ["hexDecoded"] = fromHex,
}
K.methods(String, messages)
K.methods(Data, messages)
K.methods(String, {
  --- -<String> base64url
  --- The UTF-8 bytes of the text in base 64 with the alphabet for URLs, without padding (RFC 4648, section 5).
  --- > 'hello?>' base64url ⇒ 'aGVsbG8_Pg'
  ["base64url"] = base64url,
})
K.methods(Data, {
  --- -<String> base64url
  --- The bytes in base 64 with the alphabet for URLs, without padding (RFC 4648, section 5).
  --- > 'hello?>' asData base64url ⇒ 'aGVsbG8_Pg'
  ["base64url"] = function(self) return base64url(self._bytes) end,
  --- -<Data> base64Decoded
  --- The bytes that the data, as text, writes in base 64. Blanks and missing padding are allowed; anything else is an
  --- error.
  --- > 'aGVsbG8/Pg==' asData base64Decoded ⇒ 'hello?>' asData
  ["base64Decoded"] = function(self) return String._methods.base64Decoded(self._bytes) end,
})
-- Nothing is no secret, and no password: a guard fails closed.
K.methods(K.classes.Nil, {
  --- -<Boolean> isSecret:<any>other
  --- false: nil is no secret, so that a guard without one lets no request in.
  --- > nil isSecret: nil ⇒ false
  ["isSecret:"] = function() return false end,
  --- -<Boolean> matchesPasswordHash:<String|Data?>hash
  --- false, after the time that a wrong password takes. A text that is no Argon2id hash is an error.
  --- > nil matchesPasswordHash: nil ⇒ false
  ["matchesPasswordHash:"] = function(_, hash)
    return native.matchesPasswordHash("", bytesOrNil(hash, "matchesPasswordHash:"))
  end,
})

-- Random values of the operating system ------------------------------------------------------------

-- Bytes of a token where no number is given: 256 bits.
local TOKEN = 32
-- Digits of a code at most.
local MOST_DIGITS = 64

--- Random values of the operating system, for tokens and codes. The class answers the messages; `random` of numbers and
--- collections is for games and samples.
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
  --- +<Data> bytes:<Number>count
  --- This many random bytes, from 1 to 65,536.
  --- > (SecureRandom bytes: 32) count ⇒ 32
  ["bytes:"] = function(_, count) return K.data(native.secureRandom(K.expectInteger(count, "bytes:"))) end,
  --- +<String> token
  --- 32 random bytes as a text of 43 characters that is safe in URLs.
  --- > SecureRandom token count ⇒ 43
  ["token"] = function() return token(TOKEN) end,
  --- +<String> token:<Number>count
  --- This many random bytes, from 1 to 65,536, as a text that is safe in URLs (base 64 without padding).
  --- > (SecureRandom token: 16) count ⇒ 22
  ["token:"] = function(_, count) return token(K.expectInteger(count, "token:")) end,
  --- +<String> digits:<Number>count
  --- This many random decimal digits, from 1 to 64, for codes that users type.
  --- > (SecureRandom digits: 6) count ⇒ 6
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

--- Random identifiers as text (RFC 9562), such as `0192f2c8-5b9d-7cc1-8b2f-3c4d5e6f7a8b`. A UUID is a String.
local UUID = K.newClass("UUID", Object)
local function random() return native.uuid(4) end
K.classMethods(UUID, {
  --- +<String> new
  --- +<String> v4
  --- A random UUID of version 4.
  --- > UUID new count ⇒ 36
  ["new"] = random, ["v4"] = random,
  --- +<String> v7
  --- A UUID of version 7: it begins with the time, so that UUIDs sort in the order in which they are made.
  --- > first := UUID v7. first < UUID v7 ⇒ true
  ["v7"] = function() return native.uuid(7) end,
})
K.methods(String, {
  --- -<String?> asUUID
  --- The UUID in lower case with hyphens; nil for any other text. Capitals, braces, `urn:uuid:` and missing hyphens
  --- are allowed.
  --- > 'F81D4FAE7DEC41D0A76500A0C91E6BF6' asUUID ⇒ 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6'
  ["asUUID"] = K.uuidFromText,
  --- -<Boolean> isUUID
  --- Whether the text is a UUID, in one of the forms that `asUUID` reads.
  --- > 'not a uuid' isUUID ⇒ false
  ["isUUID"] = function(text) return K.uuidFromText(text) ~= nil end,
})
