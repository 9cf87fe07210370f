-- One-time codes of authenticator apps (TOTP, RFC 6238).
local K = ...
local type, floor, format, find = type, math.floor, string.format, string.find
local throw, native, take = K.throw, K.native, K.optionKinds

-- Digits and seconds of a code.
local DIGITS = 6
local PERIOD = 30
-- Bytes of a secret (RFC 4226 section 4).
local SECRET = 20
-- Periods by which clocks may differ.
local WINDOW = 1
local HASHES = { SHA1 = true, SHA256 = true, SHA512 = true }

--- TOTP -<nothing> setIssuer:<String>name
--- Sets the name that authenticator apps show beside the account.
--- > #TOTP{ issuer: 'Shop' }

--- TOTP -<nothing> setDigits:<Number>count
--- Sets the number of digits of a code, from 6 to 8; 6 by default.
--- > #TOTP{ digits: 9 } ⇒ error: `digits` of a TOTP must be from 6 to 8

--- TOTP -<nothing> setPeriod:<Duration>time
--- Sets how long a code is shown, from 15 seconds to 5 minutes; 30 seconds by default.
--- > #TOTP{ period: 1 minute }

--- TOTP -<nothing> setHash:<String>name
--- Sets the hash of codes: SHA1 (the default), SHA256 or SHA512.
--- > #TOTP{ hash: 'MD5' } ⇒ error: `hash` of a TOTP must be SHA1, SHA256 or SHA512

--- One-time codes of authenticator apps (RFC 6238): `#TOTP{ issuer: 'Shop' }`.
local TOTP = K.optionClass("TOTP", {
  issuer = take.text,
  digits = function(value, name, self)
    local digits = take.count(value, name, self)
    if digits < 6 or digits > 8 then throw("invalid", "`digits` of a TOTP must be from 6 to 8") end
    return digits
  end,
  period = function(value, name, self)
    local seconds = take.seconds(value, name, self)
    if seconds < 15 or seconds > 300 or seconds ~= floor(seconds) then
      throw("invalid", "`period` of a TOTP must be from 15 seconds to 5 minutes")
    end
    return seconds
  end,
  hash = function(value, name, self)
    local hash = take.text(value, name, self)
    if not HASHES[hash] then throw("invalid", "`hash` of a TOTP must be SHA1, SHA256 or SHA512") end
    return hash
  end,
}, function() end)

local function settings(self)
  local given = self:connectComponents()._given
  return given.hash or "SHA1", given.digits or DIGITS, given.period or PERIOD
end

local function codeAt(self, secret, seconds)
  local hash, digits, period = settings(self)
  return native.codeAt(K.expectText(secret, "codeFor:"), hash, digits, floor(seconds / period))
end

-- The number of the period that a code belongs to, or nil. A code of an earlier period than the last one that was
-- used is refused: a code is good for one login.
local function verify(self, code, secret, after)
  local hash, digits, period = settings(self)
  local text = K.secretBytes(code)
  if not text or #text ~= digits or find(text, "%D") then return nil end
  local now = floor(native.now() / period)
  local first = now - WINDOW
  if type(after) == "number" and after >= first then first = after + 1 end
  if first > now + WINDOW then return nil end
  return native.findCode(K.expectText(secret, "verify:secret:"), hash, digits, text, first, now + WINDOW)
end

-- Codes have six digits: they can be guessed.
local ATTEMPTS = 10
local ATTEMPT_WINDOW = 180
local function verifyGuess(self, code, secret, after)
  local which = "code " .. K.accountsOwn.digest(K.expectText(secret, "verify:secret:"))
  return K.guess(ATTEMPTS, ATTEMPT_WINDOW, which, false, function() return verify(self, code, secret, after) end)
end

local function encoded(text) return K.str(text):urlEncoded() end

K.methods(TOTP, {
  --- TOTP -<String> secret
  --- A new random secret of 20 bytes in Base32, to be kept for a user.
  --- > #TOTP{} secret length ⇒ 32
  ["secret"] = function() return native.base32(native.secureRandom(SECRET)) end,
  --- TOTP -<String> codeFor:<String>secret
  --- The present code for a secret in Base32.
  --- > (#TOTP{} codeFor: 'JBSWY3DPEHPK3PXP') length ⇒ 6
  ["codeFor:"] = function(self, secret) return codeAt(self, secret, native.now()) end,
  --- TOTP -<String> codeFor:<String>secret at:<Date>date
  --- The code for a secret at a moment.
  --- > #TOTP{} codeFor: 'JBSWY3DPEHPK3PXP' at: (Date dateWithTimeIntervalSince1970: 0) ⇒ '282760'
  ["codeFor:at:"] = function(self, secret, date)
    if type(date) ~= "table" or not date._isDate then
      throw("typeError", "codeFor:at: expects a Date, got " .. K.nameOf(date))
    end
    return codeAt(self, secret, date._time)
  end,
  --- TOTP -<Number?> verify:<any>code secret:<String>secret
  --- The number of the period that a code belongs to; nil for a wrong code. Codes of the periods before and after the
  --- present one are right, too.
  --- > #TOTP{} verify: 'hello' secret: 'JBSWY3DPEHPK3PXP' ⇒ nil
  ["verify:secret:"] = function(self, code, secret) return verifyGuess(self, code, secret) end,
  --- TOTP -<Number?> verify:<any>code secret:<String>secret after:<Number?>period
  --- As `verify:secret:`, and nil for codes up to a period that was answered before: so each code logs in once.
  --- > totp := #TOTP{}. key := totp secret. n := totp verify: (totp codeFor: key) secret: key. n
  ["verify:secret:after:"] = verifyGuess,
  --- TOTP -<String> addressFor:<String>account secret:<String>secret
  --- The `otpauth:` URL that authenticator apps read from a QR code.
  --- > #TOTP{ issuer: 'Shop' } addressFor: 'ann@example.org' secret: 'JBSWY3DPEHPK3PXP'
  ["addressFor:secret:"] = function(self, account, secret)
    local hash, digits, period = settings(self)
    local issuer = self._given.issuer
    local label = issuer and encoded(issuer) .. ":" .. encoded(account) or encoded(account)
    return format("otpauth://totp/%s?secret=%s%s&algorithm=%s&digits=%d&period=%d", label,
      K.expectText(secret, "addressFor:secret:"), issuer and "&issuer=" .. encoded(issuer) or "", hash, digits, period)
  end,
})
