-- API keys: secrets of programs that act for a user, with scopes. `PREFIX_` and 43 random characters.
--
-- The store has `key/DIGEST` with what the key may do, and `keys/USER/DIGEST` with its first characters, by which
-- the user recognises it.
local K = ...
local native, match = K.native, string.match
local Accounts, own = K.classes.Accounts, K.accountsOwn

local MOST_KEYS = 100 -- of a user
local LONGEST = 128 -- characters of a key that is looked up
local SHOWN = 6 -- characters of the secret that its owner sees later
local USUAL_PREFIX = "key"

local function kept(value) return value end

-- A key with all rights, or without an end, is made by leaving the option out: nil is an error, because a program that
-- computes it has made a mistake.
local OPTIONS = {
  name = K.str,
  prefix = function(value)
    local prefix = K.str(value)
    if not match(prefix, "^[%w]+$") then K.throw("invalid", "the prefix of an API key consists of letters and digits") end
    return prefix
  end,
  scopes = function(value)
    if type(value) ~= "table" or not value._isArray then
      K.throw("typeError", "the scopes of an API key are an array of texts, not " .. K.nameOf(value),
        { i_hint = "without `scopes` a key has all rights" })
    end
    for i = 1, #value do K.expectText(value[i], "each scope of an API key") end
    return value
  end,
  ttl = function(value) return K.secondsOf(value, "ttl:") end,
}

-- `accounts createKey: #{ name: 'ci', scopes: [ 'read' ], ttl: 90 days } for: user`
local function create(self, given, user)
  local key = own.key(self, user)
  if #own.names(self, "keys/" .. key) >= MOST_KEYS then
    K.throw("conflict", "a user has at most " .. MOST_KEYS .. " API keys; remove one", { _side = "request" })
  end
  local options = K.readOptions(given, "an API key", self, OPTIONS)
  local prefix, scopes, ttl = options.prefix or USUAL_PREFIX, options.scopes, options.ttl
  local now = native.now()
  local text = prefix .. "_" .. K.randomToken(32)
  local digest = own.digest(text)
  local entry = K.recordOf {
    "id", digest, "user", key, "name", options.name or "", "created", now, "scopes", scopes or K.NULL,
    "shown", string.sub(text, 1, #prefix + 1 + SHOWN), "ends", ttl and now + ttl or K.NULL,
  }
  own.write(self, "keys/" .. key .. "/" .. digest, "")
  own.write(self, "key/" .. digest, K.json(entry))
  return text
end

local function entryOf(self, digest)
  local text = own.read(self, "key/" .. digest)
  local entry = text and K.parseJSON(text)
  local ends = entry and entry:at_("ends")
  if not entry or type(ends) == "number" and native.now() >= ends then return nil end
  return entry
end

-- The key of the user and the scopes of the API key that a request has; nil without one that is valid.
function own.apiKey(self)
  local bearer = K.bearerToken()
  local text = bearer and match(bearer, "^%w+_[%w_-]+$") or native.exchange("header", "x-api-key")
  if not text or #text > LONGEST then return nil end
  local entry = entryOf(self, own.digest(text))
  if not entry then return nil end
  local scopes = entry:at_("scopes")
  return entry:at_("user"), type(scopes) == "table" and scopes._isArray and scopes or nil
end

local function removeKey(self, digest, key)
  if not match(digest, "^%x+$") then return false end
  if own.read(self, "keys/" .. key .. "/" .. digest) == nil then return false end
  own.remove(self, "keys/" .. key .. "/" .. digest)
  return own.remove(self, "key/" .. digest)
end

function own.removeKeys(self, key)
  for _, digest in ipairs(own.names(self, "keys/" .. key)) do removeKey(self, digest, key) end
end

K.methods(Accounts, {
  --- -<String> createKey:<any>options for:<any>user
  --- Creates an API key and answers its text, which is known only now. Options are `name`, `scopes` (an array;
  --- without it the key has all rights), `ttl` (without it the key has no end) and `prefix`; any other is an error. A
  --- user has at most 100 keys; one more is a conflict.
  --- > { :accounts :user | accounts createKey: #{ name: 'ci', scopes: [ 'read' ], ttl: 90 days } for: user }
  ["createKey:for:"] = create,
  --- -<Array> keysOf:<any>user
  --- The API keys of a user as dictionaries with `id`, `name`, `shown` (the first characters), `scopes`, `created` and
  --- `ends`. Expired keys are removed.
  --- > { :accounts :user | (accounts keysOf: user) collect: { :key | key at: #shown } }
  ["keysOf:"] = function(self, user)
    local list, key = {}, own.key(self, user)
    for _, digest in ipairs(own.names(self, "keys/" .. key)) do
      local entry = entryOf(self, digest)
      if entry then
        local ends = entry:at_("ends")
        list[#list + 1] = K.recordOf {
          "id", digest, "name", entry:at_("name"), "shown", entry:at_("shown"), "scopes", entry:at_("scopes"),
          "created", K.date(entry:at_("created")), "ends", type(ends) == "number" and K.date(ends) or K.NULL,
        }
      else
        removeKey(self, digest, key)
      end
    end
    return K.array(list)
  end,
  --- -<Boolean> removeKey:<String>id of:<any>user
  --- Removes the API key with this id of a user. False where the user has no such key.
  --- > { :accounts :user | accounts removeKey: ((accounts keysOf: user) first at: 'id') of: user }
  ["removeKey:of:"] = function(self, id, user) return removeKey(self, K.str(id), own.key(self, user)) end,
})
