-- Sessions of accounts: a random secret in a cookie, its digest in the store.
--
-- A worker remembers for a second what it read, so that a page of a user asks the store once
-- a second. Ending a session is known to all workers of the process at once (`accountsRevision`).
local K = ...
local native, match, sub, format = K.native, string.match, string.sub, string.format
local Accounts, own = K.classes.Accounts, K.accountsOwn

for _, key in ipairs { "_known", "_count" } do K.nilKeys[key] = true end

local SECRET = 43 -- characters: 32 random bytes
local MOST_SESSIONS = 20 -- of a user; the oldest ends
local MOST_KNOWN = 4096 -- that a worker remembers
local FRESH = 1 -- seconds for which it does
local AGAIN = FRESH / 2 -- seconds less for a view, which asks twice a second (live/authority.lua)
local NOTED = 1 / 24 -- of the idle timeout: how exactly the last use is noted
local MOST_NOTED = 3600 -- seconds

local function sentCookie(self) return native.exchange("cookie", K.hostCookieName(K.str(self.i_cookie), self.i_secure)) end

local function setCookie(self, value, seconds) K.setHostCookie(K.str(self.i_cookie), self.i_secure, value, seconds) end

-- The key of the user and the secret that a client sent.
local function sent(self)
  local cookie = sentCookie(self)
  if cookie == nil or #cookie < SECRET + 2 or #cookie > 256 or sub(cookie, -SECRET - 1, -SECRET - 1) ~= "." then return nil end
  local key, secret = sub(cookie, 1, -SECRET - 2), match(sub(cookie, -SECRET), "^[%w_-]+$")
  if not secret or not match(key, "^[%w%%._~-]+$") or match(key, "^%.+$") then return nil end
  return key, secret, cookie
end

local function secondsOf(duration) return K.secondsOf(duration, "a time of Accounts") end

-- When a session began and when it was used last; nil where it is over.
local function timesOf(self, key, digest, now)
  local created = tonumber(own.read(self, "session/" .. key .. "/" .. digest))
  if not created or now >= created + secondsOf(self.i_lifetime) then return nil end
  local idle, used = secondsOf(self.i_idleTimeout), created
  if now - created > idle * NOTED then used = tonumber(own.read(self, "seen/" .. key .. "/" .. digest)) or created end
  if now >= used + idle then return nil end
  return created, used
end

function own.finish(self, key, digest)
  own.remove(self, "session/" .. key .. "/" .. digest)
  own.remove(self, "seen/" .. key .. "/" .. digest)
end
local finish = own.finish

function own.finishAll(self, key)
  for _, digest in ipairs(own.names(self, "session/" .. key)) do finish(self, key, digest) end
  native.accountsRevision(true)
end

-- The key of the user whose session this request has; and its digest.
local function current(self)
  local key, secret, cookie = sent(self)
  if not key then return nil end
  local now, revision = native.now(), native.accountsRevision(false)
  local known = self._known and self._known[cookie]
  local again = K.isAskedAgain()
  if known and known.revision == revision and now < known.ends - (again and AGAIN or 0) then return key, known.digest, cookie end
  local digest = own.digest(secret)
  local created, used = timesOf(self, key, digest, now)
  if not created then
    if known then self._known[cookie] = nil end
    return nil
  end
  local idle = secondsOf(self.i_idleTimeout) * NOTED
  -- A page that is only open does not use its session.
  if not again and now - used > math.min(idle, MOST_NOTED) then
    own.write(self, "seen/" .. key .. "/" .. digest, format("%.0f", now))
  end
  if not self._known or self._count >= MOST_KNOWN then self._known, self._count = {}, 0 end
  if not self._known[cookie] then self._count = self._count + 1 end
  local ends = math.min(now + math.min(FRESH, idle), created + secondsOf(self.i_lifetime))
  self._known[cookie] = { revision = revision, ends = ends, digest = digest }
  return key, digest, cookie
end
own.current = current

-- Sessions that are over, and the oldest beyond what a user may have.
local function tidy(self, key, now)
  local open = {}
  for _, digest in ipairs(own.names(self, "session/" .. key)) do
    local created = timesOf(self, key, digest, now)
    if created then
      open[#open + 1] = { digest = digest, created = created }
    else
      finish(self, key, digest)
    end
  end
  table.sort(open, function(a, b) return a.created > b.created end)
  for i = MOST_SESSIONS, #open do finish(self, key, open[i].digest) end
end

local function logInAs(self, user)
  local key, now = own.key(self, user), native.now()
  local oldKey, oldDigest = current(self)
  if oldKey then finish(self, oldKey, oldDigest) end
  tidy(self, key, now)
  local secret = K.randomToken(32)
  own.write(self, "session/" .. key .. "/" .. own.digest(secret), format("%.3f", now))
  native.accountsRevision(true)
  own.notePlace(self, key)
  setCookie(self, key .. "." .. secret, secondsOf(self.i_lifetime))
  return user
end

-- Ends all sessions of a user; that of the request gets a new secret.
function own.endSessions(self, key)
  local mine = current(self)
  own.finishAll(self, key)
  if mine == key then
    local user = own.user(self, key)
    if user ~= nil then logInAs(self, user) end
  end
end

K.methods(Accounts, {
  --- -<any> logIn:<any>object
  --- Begins a session for the name and the `password` of an object, such as the content of a request, and answers the
  --- user. A wrong name or password is an error of kind `unauthorized` (401).
  --- > { :accounts :form | accounts logIn: form }
  ["logIn:"] = function(self, given)
    if type(given) ~= "table" or K.isClass(given) then
      K.throw("typeError", "logIn: takes an object with a name and `password`, not " .. K.nameOf(given))
    end
    local field = self:nameField()
    return logInAs(self, self:authenticate_password_(K.property(given, field), K.property(given, "password")))
  end,
  --- -<any> logInAs:<any>user
  --- Begins a session for a user without a password, such as after `register:`, and answers the user. Ends the session
  --- of the request; the oldest of more than 20 sessions ends, too.
  --- > { :accounts :user | accounts logInAs: user }
  ["logInAs:"] = logInAs,
  --- -<self> logOut
  --- Ends the session of the request and removes its cookie.
  --- > { :accounts | accounts logOut }
  ["logOut"] = function(self)
    local key, digest = current(self)
    if key then
      finish(self, key, digest)
      native.accountsRevision(true)
    end
    if sentCookie(self) then setCookie(self, "", 0) end
    return self
  end,
  --- -<self> logOutEverywhere:<any>user
  --- Ends all sessions of a user. The argument is a row or a key.
  --- > { :accounts :user | accounts logOutEverywhere: user }
  ["logOutEverywhere:"] = function(self, user)
    own.finishAll(self, own.key(self, user))
    return self
  end,
  --- -<Array> sessionsOf:<any>user
  --- The sessions of a user as dictionaries with the dates `created` and `used`.
  --- > { :accounts :user | (accounts sessionsOf: user) count }
  ["sessionsOf:"] = function(self, user)
    local key, now, list = own.key(self, user), native.now(), {}
    for _, digest in ipairs(own.names(self, "session/" .. key)) do
      local created, used = timesOf(self, key, digest, now)
      if created then list[#list + 1] = K.recordOf { "created", K.date(created), "used", K.date(used) } end
    end
    return K.array(list)
  end,
})
