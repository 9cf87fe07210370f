-- How requests and answers carry credentials: bearer tokens and cookies.
local K = ...
local match, format = string.match, string.format
local native = K.native

-- The token of `Authorization: Bearer` (RFC 6750, section 2.1), or nil.
function K.bearerToken()
  native.exchange("asks-visitor", "")
  local field = native.exchange("header", "authorization")
  return field and match(field, "^[Bb][Ee][Aa][Rr][Ee][Rr] +(%S+)$")
end

-- `__Host-` cookies are set by this host alone, over TLS, for all of its paths (RFC 6265bis, section 4.1.3.2).
function K.hostCookieName(name, isSecure) return (isSecure and "__Host-" or "") .. name end

-- Sets a cookie that no script reads and no other site sends along with its forms.
function K.setHostCookie(name, isSecure, value, seconds)
  native.respond("set-cookie", format("%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax%s",
    K.hostCookieName(name, isSecure), value, seconds, isSecure and "; Secure" or ""))
end
