-- What the language adds to the combinators that ask a block about a request: Guard and RateLimit.
local K = ...
local type, rawget = type, rawget
local pathOf, throw = K.pathOf, K.throw
local definitions = K.combinatorDefinitions

--- A block as a store, for combinators that ask a block about a request.
local BlockStore = K.newClass("BlockStore", K.classes.Store)
BlockStore._plainName = true -- a program may have a class of this name
K.nilKeys._ask = true
K.method(BlockStore, "at_", function(self, reference) return self._ask(pathOf(reference)) end)
local function blockStore(ask)
  local store = BlockStore:new()
  store._ask = ask
  return store
end

-- Guard: a block answers the user, or nil where there is none, or false where one may not. The guard itself is
-- told true or false, nil, or the page where a browser logs in.
local Guard = K.classes.Guard
K.nilKeys._block, K.nilKeys._pathless = true, true
local function askUser(block)
  return blockStore(function(path)
    local user = block(path)
    if user == nil or user == K.NULL then return K.placeToLogIn() end
    if type(user) == "table" and not K.isClass(user) and (user._isReference or user._isError) then
      throw("typeError", "the block of a Guard answers a user, nil or false, not " .. K.nameOf(user))
    end
    return user ~= false
  end)
end
definitions.Guard.parts = function(self)
  return { K.sourceOf(self), self._block }, { "source", self._block and "block" }
end
definitions.Guard.more = function(self, add)
  if self._pathless then add("pathless", true) end
end
definitions.Guard.check = function(self)
  local user, hash = rawget(self, "i_user"), rawget(self, "i_passwordHash")
  if (user == nil) ~= (hash == nil) then
    throw("invalid", string.format("a Guard with `%s` needs `%s`", user and "user" or "passwordHash",
      user and "passwordHash" or "user"))
  end
  if user == nil and rawget(self, "i_users") == nil and rawget(self, "i_bearer") == nil and self._block == nil then
    throw("invalid", "nobody can pass a Guard without `user`, `users`, `bearer` or `block`")
  end
end
--- -<nothing> setBlock:<Block(path)>block
--- Sets the block that lets requests through. It gets the path and answers the user; nil asks for a login (401), false
--- forbids (403).
--- > #Guard{ block: { :path | header:x-user } }
K.method(Guard, K.mangle("setBlock:"), function(self, block)
  if type(block) ~= "function" then
    throw("typeError", "`block` of a Guard must be a block, not " .. K.nameOf(block))
  end
  self._block = askUser(block)
  self._pathless = K.blockArity(block) == 0 or nil
  K.combinatorChanged(self)
end)

-- RateLimit: workers share the table of the limit that has the same number in each of them.
local RateLimit = K.classes.RateLimit
local limits = 0
K.nilKeys._number = true
K.method(RateLimit, "init", function(self)
  limits = limits + 1
  self._number = limits
  return self
end)
definitions.RateLimit.more = function(self, add)
  if self._number then add("number", self._number) end
end
definitions.RateLimit.parts = function(self)
  return { K.sourceOf(self), self._block }, { "source", self._block and "by" }
end
definitions.RateLimit.check = function(self)
  if rawget(self, "i_requests") == nil then
    throw("nilValue", "`requests` of a RateLimit is missing", { i_hint = "`#RateLimit{ requests: 100, per: 1 minute }`" })
  end
end
local setBy = RateLimit._methods[K.mangle("setBy:")]
--- -<nothing> setBy:<Block(path)|String>by
--- Sets what a limit counts by: a block that answers a key for the path of the request (nil: not limited), or a word of
--- the combinator.
--- > #RateLimit{ requests: 100, per: 1 minute, by: { :path | header:x-api-key } }
K.method(RateLimit, K.mangle("setBy:"), function(self, by)
  if type(by) ~= "function" then
    self._block = nil
    return setBy(self, by)
  end
  self._block = blockStore(function(path)
    local key = by(path)
    if key == nil or key == K.NULL then return nil end
    return K.str(key)
  end)
  K.combinatorChanged(self)
end)
