-- Accounts: the users of a table log in with a password, and a cookie says who asks.
--
-- What belongs to a user beside the row is kept in a store of its own, so that no answer made of rows
-- contains it. Secrets of clients are kept as digests. The entries of the store:
--   password/KEY             the hash of the password of the user with that key
--   session/KEY/DIGEST       when a user logged in (sessions.lua)
--   link/PURPOSE/DIGEST      a token of a mail (links.lua)
--   key/DIGEST               an API key (api_keys.lua)
--   place/KEY/DIGEST         an address from which a user logged in (attempts.lua)
local K = ...
local type, rawget, lower = type, rawget, string.lower
local native, throw = K.native, K.throw

--- Users of a table who log in with a password: `#Accounts{ users: users }`. Passwords, sessions, links and API keys
--- are entries of a store beside the table.
local Accounts = K.newClass("Accounts", K.classes.Object)
Accounts._plainName = true -- a program may have a class of this name

--- Accounts -<any> users
--- The table of the users.
--- > { :accounts | accounts users count }

--- Accounts -<any> store
--- The store of password hashes, sessions, links and API keys; nil until it is set or used first. By default it is the
--- key-value store `accounts` in the database of the table.
--- > #Accounts{} store ⇒ nil

--- Accounts -<String?> name
--- The field that users log in with; nil where the class decides: see `nameField`.
--- > #Accounts{ name: 'login' } name ⇒ 'login'

--- Accounts -<String> cookie
--- The name of the session cookie, without `__Host-`.
--- > #Accounts{} cookie ⇒ 'session'

--- Accounts -<Duration> idleTimeout
--- A session ends after this time without a request; a number counts seconds.
--- > #Accounts{} idleTimeout ⇒ 7 days

--- Accounts -<Duration> lifetime
--- A session ends after this time, used or not; a number counts seconds.
--- > #Accounts{} lifetime ⇒ 30 days

--- Accounts -<Number> minPasswordLength
--- The minimum number of characters of a password.
--- > #Accounts{} minPasswordLength ⇒ 8

--- Accounts -<Number> attempts
--- How many wrong passwords of one client for one account are checked in an `attemptWindow`; more are refused (429).
--- > #Accounts{} attempts ⇒ 10

--- Accounts -<Duration> attemptWindow
--- The time in which `attempts` wrong passwords are forgotten.
--- > #Accounts{} attemptWindow ⇒ 3 minutes

--- Accounts -<String?> loginPage
--- The path to which guards redirect browsers that must log in; nil for a 401 page.
--- > #Accounts{ loginPage: '/login' } loginPage ⇒ '/login'

--- Accounts -<Boolean> secure
--- Whether the cookie is sent over TLS only, with the prefix `__Host-`.
--- > #Accounts{} secure ⇒ true
for _, option in ipairs {
  "users", "store", "name", "cookie", "idleTimeout", "lifetime", "minPasswordLength", "loginPage", "secure",
  "attempts", "attemptWindow",
} do K.ivar(Accounts, option) end

-- For the other files of this room.
local own = {}
K.accountsOwn = own

local MOST_NAME = 320 -- bytes of what somebody logs in with; an e-mail address has at most 254

-- Options -----------------------------------------------------------------------------------------------

local take = K.optionKinds
local DEFAULTS = {
  i_cookie = "session", i_idleTimeout = K.duration(7 * 86400), i_lifetime = K.duration(30 * 86400),
  i_minPasswordLength = 8, i_secure = true, i_attempts = 10, i_attemptWindow = K.duration(180),
}
for key, value in pairs(DEFAULTS) do rawset(Accounts._methods, key, value) end

local function checked(option, kind)
  K.method(Accounts, K.mangle(K.setterName(option)), function(self, value)
    kind(value, option, self)
    self[K.ivarKey(option)] = value
  end)
end

--- Accounts -<nothing> setUsers:<any>table
--- Sets the table of the users. Anything else than a table is an error.
--- > #Accounts{ users: 7 } ⇒ error: `users` of an Accounts must be a table, not a Number (7)

--- Accounts -<nothing> setName:<String>field
--- Sets the field that users log in with.
--- > #Accounts{ name: 'login' }

--- Accounts -<nothing> setLoginPage:<String>path
--- Sets the path to which guards redirect browsers that must log in.
--- > #Accounts{ loginPage: '/login' }

--- Accounts -<nothing> setIdleTimeout:<Duration>time
--- Accounts -<nothing> setLifetime:<Duration>time
--- Sets how long a session lasts: without a request, and at all.
--- > #Accounts{ idleTimeout: 1 hour, lifetime: 12 hours }

--- Accounts -<nothing> setMinPasswordLength:<Number>characters
--- Sets the minimum number of characters of a password.
--- > #Accounts{ minPasswordLength: 12 } minPasswordLength ⇒ 12

--- Accounts -<nothing> setAttempts:<Number>count
--- Accounts -<nothing> setAttemptWindow:<Duration>time
--- Sets how many wrong passwords of one client for one account are checked in which time.
--- > #Accounts{ attempts: 5, attemptWindow: 10 minutes } attempts ⇒ 5

--- Accounts -<nothing> setSecure:<Boolean>flag
--- Sets whether the cookie is sent over TLS only.
--- > #Accounts{ secure: false } secure ⇒ false

--- Accounts -<nothing> setCookie:<String>name
--- Sets the name of the session cookie: letters, digits, `-` and `_`.
--- > #Accounts{ cookie: 'a b' } ⇒ error: `cookie` of an Accounts consists of letters, digits, `-` and `_`
-- All accounts of the program, by number.
own.all, own.count = setmetatable({}, { __mode = "k" }), 0
checked("users", function(value, _, self)
  if type(value) ~= "table" or K.isClass(value) or not value._isTable then
    throw("typeError", "`users` of " .. K.nameOf(self) .. " must be a table, not " .. K.nameOf(value),
      { i_hint = "write `users: (database table: User)`" })
  end
  own.usual = self
  if not own.all[self] then
    own.count = own.count + 1
    own.all[self] = own.count
  end
end)
checked("name", take.text)
checked("loginPage", function(value, option, self)
  take.text(value, option, self)
  own.hasPage = true
end)
checked("idleTimeout", take.seconds)
checked("lifetime", take.seconds)
checked("minPasswordLength", take.count)
checked("attempts", take.count)
checked("attemptWindow", take.seconds)
checked("secure", take.flag)
checked("cookie", function(value, option, self)
  if not string.find(take.text(value, option, self), "^[%w_-]+$") then
    throw("invalid", "`cookie` of " .. K.nameOf(self) .. " consists of letters, digits, `-` and `_`")
  end
end)
--- -<nothing> setStore:<any>store
--- Sets the store of password hashes, sessions, links and API keys.
--- > #Accounts{ store: DictStore store }
K.method(Accounts, K.mangle("setStore:"), function(self, value) self.i_store = K.asStore(value) end)

local function usersOf(self)
  if self.i_users == nil then
    throw("nilValue", "these Accounts have no `users`", { i_hint = "write `#Accounts{ users: (database table: User) }`" })
  end
  return self.i_users
end

-- Where the entries are: in the database of the users unless the program says otherwise.
local function storeOf(self)
  if self.i_store == nil and native.isInTransaction() then
    -- Its tables would wait for the transaction, which waits for them.
    throw("invalid", "a transaction began before the Accounts", { i_hint = "write the `#Accounts{ … }` above it" })
  end
  if self.i_store == nil then self.i_store = K.storeBesideTable(usersOf(self), "accounts") end
  return self.i_store
end

-- Its tables are made with the accounts, where they can be. A database that is not there yet is asked at first use.
K.method(Accounts, "connectComponents", function(self)
  if self.i_users ~= nil and self.i_users._place and not native.isInTransaction() then K.try(storeOf, self) end
  return self
end)

-- The users among those of the process.
function own.place(self)
  local users = usersOf(self)
  return (users._place and users._place[2] or "") .. " " .. K.nameOf(users.i_class)
end

function own.read(self, path)
  local value = K.storeGet(storeOf(self), path)
  if value == nil then return nil end
  return type(value) == "string" and value or K.bytesOf(value, "an entry of accounts")
end

function own.write(self, path, text) K.storePutAt(storeOf(self), path, text) end

-- Whether there was such an entry: of several who remove the same one, one gets true.
function own.remove(self, path) return K.storeDelete(storeOf(self), path) == true end

function own.names(self, path)
  local names, list = K.storeList(storeOf(self), path), {}
  for i = 1, names and #names or 0 do list[i] = K.str(names[i]) end
  return list
end

-- A text, mutable or not; nil for anything else.
function own.text(value)
  if type(value) == "table" and value._isText then return value:_string() end
  return type(value) == "string" and value or nil
end

function own.digest(secret) return K.classes.String._methods.hex(native.digest("sha256", secret)) end

-- Users ---------------------------------------------------------------------------------------------------

-- The field with the name of a user.
local function nameField(self)
  if self.i_name ~= nil then return K.str(self.i_name) end
  local class = usersOf(self).i_class
  for _, name in ipairs { "email", "username", "name" } do
    if class and K.hasVariable(class, name) then return name end
  end
  throw("invalid", "the users have neither `email` nor `username` nor `name`",
    { i_hint = "say what they log in with: `#Accounts{ users: …, name: 'login' }`" })
end

-- An e-mail address is the same in capitals.
local function plainName(self, field, name)
  name = own.text(name)
  if name == nil or name == "" or #name > MOST_NAME then return nil end
  local class = usersOf(self).i_class
  local marks = class and class._marks and class._marks[field]
  if field == "email" or marks and marks.type.kind == "email" then return lower(name) end
  return name
end

-- The user with that name, or nil.
local function userNamed(self, name)
  local users, field = usersOf(self), nameField(self)
  name = plainName(self, field, name)
  if name == nil then return nil end
  return K.rowsOf(users._native, "", nil, users.i_class, { filter = { "=", field, name } }):first()
end

-- The key of a user in paths: `7`.
function own.key(self, user)
  local key = user
  if type(user) == "table" then
    if user._isDictionary then key = user:at_("id") else key = rawget(user, "i_id") end
  end
  if key == nil or key == K.NULL then
    throw("invalid", K.nameOf(user) .. " is no user with a key", { i_hint = "register the user first" })
  end
  return K.encodeSegment(K.str(key))
end

function own.user(self, key) return usersOf(self):at_(K.decodeSegment(key)) end

-- Passwords -----------------------------------------------------------------------------------------------

local function refuse(message) throw("unauthorized", message, { _side = "request" }) end

-- Refuses a new password that is too short.
function own.admitPassword(self, password)
  local text, least = own.text(password), self.i_minPasswordLength
  if text == nil or K.characters(text) < least then
    K.refuseProblems { { "/password", "the password has at least " .. least .. " characters" } }
  end
  return text
end

-- A hash takes longer than all else: the writer of a database must not wait for it.
local function admitHash()
  if native.isInTransaction() then
    throw("invalid", "a password is not checked or set in a transaction: other writers would wait for its hash",
      { i_hint = "do it before the transaction" })
  end
end

local function matches(password, hash)
  admitHash()
  return native.matchesPasswordHash(own.text(password) or "", hash)
end

local function hashOf(self, password)
  admitHash()
  return native.passwordHash(own.admitPassword(self, password))
end

-- What a client sent, or a program says, as a dictionary without the password; and the password.
local function parted(given)
  if type(given) ~= "table" or K.isClass(given) then
    throw("typeError", "register: takes an object with the fields of a user and `password`, not " .. K.nameOf(given))
  end
  local record = K.fieldsRecord(given)
  local password = record:at_("password")
  record:removeKey_("password")
  return record, password
end

local NOTHING = K.dictionary({}, {}, 0)

-- Everything that belongs to a key. A database may give the key of a deleted row to another one: a new user
-- begins with nothing.
local function forget(self, key)
  own.finishAll(self, key)
  own.removeKeys(self, key)
  own.forgetPlaces(self, key)
  own.remove(self, "password/" .. key)
  own.remove(self, "verified/" .. key)
end

local function add(self, record)
  local field = nameField(self)
  local name = plainName(self, field, record:at_(field))
  if name then record:at_put_(field, name) end
  local user = usersOf(self):insert_with_(record, NOTHING)
  local key = own.key(self, user)
  forget(self, key)
  return user, key
end

local function register(self, given)
  local record, password = parted(given)
  local hash = hashOf(self, password)
  local user, key = add(self, record)
  own.write(self, "password/" .. key, hash)
  return user
end

-- An unknown user takes as long as a wrong password: the same reads, and a hash.
local function authenticate(self, name, password)
  local user = userNamed(self, name)
  local key = user and own.key(self, user) or "0"
  local hash, isKnown = own.read(self, "password/" .. key), own.isKnownPlace(self, key)
  local field = nameField(self)
  local isRight = own.guess(self, plainName(self, field, name) or "", user ~= nil and isKnown, function()
    return matches(password, user and hash or nil)
  end)
  if not isRight then refuse("the " .. nameField(self) .. " or the password is wrong") end
  return user
end

local function setPassword(self, password, user)
  local key, hash = own.key(self, user), hashOf(self, password)
  own.write(self, "password/" .. key, hash)
  own.endSessions(self, key)
  return self
end

K.methods(Accounts, {
  --- -<any> register:<any>object
  --- Inserts a user with a password and answers the row. The object has the fields of a user and `password`. A password
  --- that is too short is an error (422), a name that is taken a conflict (409).
  --- > { :accounts | accounts register: #{ email: 'ann@example.org', password: 'correct horse' } }
  ["register:"] = register,
  --- -<any> add:<any>object
  --- Inserts a user without a password, such as one of a login provider, and answers the row. `register:` also sets a
  --- password.
  --- > { :accounts | accounts add: #{ email: 'ann@example.org' } }
  ["add:"] = function(self, given) return (add(self, (parted(given)))) end,
  --- -<any> userNamed:<any>name
  --- The user with that name or e-mail address; nil without one. Addresses match in any case.
  --- > { :accounts | accounts userNamed: 'ann@example.org' }
  ["userNamed:"] = userNamed,
  --- -<String> nameField
  --- The field that users log in with: the option `name`, or the first of `email`, `username` and `name` that the class
  --- has.
  --- > { :accounts | accounts nameField }
  ["nameField"] = nameField,
  --- -<any> authenticate:<any>name password:<any>password
  --- The user with that name and password; an error of kind `unauthorized` (401) for an unknown name and a wrong
  --- password alike. Begins no session: see `logIn:`.
  --- > { :accounts | accounts authenticate: 'ann@example.org' password: 'correct horse' }
  ["authenticate:password:"] = authenticate,
  --- -<Boolean> hasPassword:<any>user
  --- Whether the user has a password. The argument is a row or a key.
  --- > { :accounts :user | accounts hasPassword: user }
  ["hasPassword:"] = function(self, user) return own.read(self, "password/" .. own.key(self, user)) ~= nil end,
  --- -<Boolean> remove:<any>user
  --- Removes the row of a user, with password, sessions and API keys. The argument is a row or a key. Answers whether
  --- there was such a row.
  --- > { :accounts :user | accounts remove: user }
  ["remove:"] = function(self, user)
    local key = own.key(self, user)
    forget(self, key)
    return usersOf(self):removeAt_(K.decodeSegment(key))
  end,
  --- -<self> setPassword:<String>password of:<any>user
  --- Sets the password of a user and ends the user's sessions, but that of the request. A password that is too short is
  --- an error (422).
  --- > { :accounts :user | accounts setPassword: 'battery staple' of: user }
  ["setPassword:of:"] = setPassword,
  --- -<self> changePassword:<any>user from:<any>old to:<String>new
  --- Sets the password as `setPassword:of:` does, where the old one is right; otherwise an error (422).
  --- > { :accounts :user | accounts changePassword: user from: 'correct horse' to: 'battery staple' }
  ["changePassword:from:to:"] = function(self, user, old, new)
    local key = own.key(self, user)
    local hash, isKnown = own.read(self, "password/" .. key), own.isKnownPlace(self, key)
    if not own.guess(self, "change " .. key, isKnown, function() return matches(old, hash) end) then
      K.refuseProblems { { "/password", "the password is wrong" } }
    end
    return setPassword(self, new, user)
  end,
  --- As in Object.
  ["description"] = function() return "accounts" end,
})
