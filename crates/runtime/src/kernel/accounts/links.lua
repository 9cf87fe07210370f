-- Tokens of mails: random, for one purpose and one user, used once, and over after a time.
--
-- The store has `link/PURPOSE/DIGEST` with the time of the end, what the password was, and the key of the user:
-- a token made before the password changed is worth nothing.
local K = ...
local native, match, format = K.native, string.match, string.format
local throw = K.throw
local Accounts, own = K.classes.Accounts, K.accountsOwn

local HOUR = 3600
local LONGEST_TOKEN = 64

local function purposeOf(purpose)
  purpose = K.str(purpose)
  if not match(purpose, "^[%w-]+$") then throw("invalid", "a purpose consists of letters, digits and `-`") end
  return purpose
end

-- Changes with the password.
local function mark(self, key) return own.digest(own.read(self, "password/" .. key) or "") end

-- Removes tokens that are over: whenever one is made, and at most this many.
local MOST_SWEPT = 100
local function sweep(self, purpose)
  local now, path = native.now(), "link/" .. purposeOf(purpose)
  local names = own.names(self, path)
  for i = 1, math.min(#names, MOST_SWEPT) do
    local at = path .. "/" .. names[math.random(#names)]
    local ends = tonumber(match(own.read(self, at) or "0", "^%S+"))
    if not ends or now >= ends then own.remove(self, at) end
  end
end

local function token(self, user, purpose, time)
  sweep(self, purpose)
  local key, secret = own.key(self, user), K.randomToken(32)
  local ends = native.now() + (time and K.secondsOf(time, "ttl:") or HOUR)
  local entry = format("%.3f %s %s", ends, mark(self, key), key)
  own.write(self, "link/" .. purposeOf(purpose) .. "/" .. own.digest(secret), entry)
  return secret
end

-- The user that a token is for, or nil; the token is used up.
local function redeem(self, secret, purpose)
  secret = own.text(secret)
  if secret == nil or #secret > LONGEST_TOKEN then return nil end
  local path = "link/" .. purposeOf(purpose) .. "/" .. own.digest(secret)
  local entry = own.read(self, path)
  if not entry or not own.remove(self, path) then return nil end
  local ends, marked, key = match(entry, "^(%S+) (%S+) (.+)$")
  if not ends or native.now() >= tonumber(ends) or marked ~= mark(self, key) then return nil end
  return own.user(self, key)
end

local function redeemGuess(self, secret, purpose)
  return own.guess(self, nil, true, function() return redeem(self, secret, purpose) end)
end

-- The same where a client sent the token.
local function redeemSent(self, secret, purpose)
  local user = redeemGuess(self, secret, purpose)
  if user == nil then
    K.refuseProblems { { "/token", "the link is not valid any more; ask for a new one" } }
  end
  return user
end

local function verified(self, user)
  local key = own.key(self, user)
  local name = own.read(self, "verified/" .. key)
  return name ~= nil and name == K.property(user, self:nameField())
end

K.methods(Accounts, {
  --- -<String> tokenFor:<any>user purpose:<String>purpose
  --- A random token for a link in a mail. It works once, for one purpose, for 1 hour, and not after the user's password
  --- has changed.
  --- > { :accounts :user | accounts tokenFor: user purpose: 'invite' }
  ["tokenFor:purpose:"] = token,
  --- -<String> tokenFor:<any>user purpose:<String>purpose ttl:<Duration>time
  --- The same as `tokenFor:purpose:` with another lifetime; a number counts seconds.
  --- > { :accounts :user | accounts tokenFor: user purpose: 'invite' ttl: 3 days }
  ["tokenFor:purpose:ttl:"] = token,
  --- -<any> redeem:<any>token purpose:<String>purpose
  --- The user of a token, which is used up. Nil where it is unknown, expired, used, or of another purpose.
  --- > { :accounts :token | accounts redeem: token purpose: 'invite' }
  ["redeem:purpose:"] = redeemGuess,
  --- -<self> offerReset:<any>name with:<Block(user, token)>block
  --- Runs the block with the user of that name and a token for `reset:password:`, in a fiber of its own: the response
  --- does not tell whether such a user exists. An unknown name runs nothing.
  --- > { :accounts | accounts offerReset: 'ann@example.org' with: { :user :token | stdout println: token } }
  ["offerReset:with:"] = function(self, name, block)
    K.expectBlock(block, "offerReset:with:")
    K.fork(function()
      local user = self:userNamed_(name)
      if user ~= nil then block(user, token(self, user, "reset")) end
    end)
    return self
  end,
  --- -<any> reset:<any>token password:<String>password
  --- Sets the password of the user of a token of `offerReset:with:`, and answers the user. An invalid token or password
  --- is an error (422); a refused password leaves the token valid.
  --- > { :accounts :token | accounts reset: token password: 'battery staple' }
  ["reset:password:"] = function(self, secret, password)
    -- A password that is refused leaves the token valid.
    own.admitPassword(self, password)
    local user = redeemSent(self, secret, "reset")
    self:setPassword_of_(password, user)
    return user
  end,
  --- -<String> verificationFor:<any>user
  --- A token for a mail that verifies the address of a user, for `verify:`. It works once, for 7 days.
  --- > { :accounts :user | accounts verificationFor: user }
  ["verificationFor:"] = function(self, user)
    return token(self, user, "verify", K.duration(7 * 86400))
  end,
  --- -<any> verify:<any>token
  --- Notes that the address of the user of a token of `verificationFor:` is verified, and answers the user. An invalid
  --- token is an error (422).
  --- > { :accounts :token | accounts verify: token }
  ["verify:"] = function(self, secret)
    local user = redeemSent(self, secret, "verify")
    own.write(self, "verified/" .. own.key(self, user), K.str(K.property(user, self:nameField())))
    return user
  end,
  --- -<Boolean> isVerified:<any>user
  --- Whether the present address of a user is verified. The argument is a row, not a key.
  --- > { :accounts :user | accounts isVerified: user }
  ["isVerified:"] = verified,
})
