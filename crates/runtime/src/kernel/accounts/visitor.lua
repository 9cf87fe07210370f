-- Who asks: the user of the session or of the API key of a request.
local K = ...
local native, sub = K.native, string.sub
local Accounts, own = K.classes.Accounts, K.accountsOwn

-- Forms -------------------------------------------------------------------------------------------------

-- A form that changes something for a user contains a token made of the session: a page of
-- another site does not know it. The server refuses writes of other origins besides
-- (crates/http/src/server/request/origin.rs).
local FIELD, HEADER = K.formTokenField, "x-csrf-token"

local function tokenOf(cookie) return sub(own.digest("form " .. cookie), 1, 32) end

local SAFE = { GET = true, HEAD = true, OPTIONS = true, TRACE = true }
-- A page of another site cannot send a header of ours: a browser asks the server first (Fetch, section 4.8).
local function admitForm(cookie)
  if SAFE[native.exchange("method", "") or "GET"] or not K.hasForm() or native.exchange("header", "runnel-view") then return end
  local given = native.exchange("header", HEADER) or native.exchange("query", FIELD)
  if given == nil then given = native.exchange("form", FIELD) end
  if type(given) ~= "string" or not native.isSecret(given, tokenOf(cookie)) then
    K.throw("denied", "this form is not of this session; load the page again", { _side = "request" })
  end
end

local function formToken(accounts)
  local key, _, cookie = own.current(accounts)
  return key and tokenOf(cookie) or nil
end

-- The token of forms for the session of the request; nil without a session.
function K.formToken()
  local accounts = own.asking[coroutine.running() or 1] or own.usual
  return accounts and formToken(accounts) or nil
end

-- Forms of live pages have it, too.
function K.live.tokenField()
  local token = K.formToken()
  return token and '<input type="hidden" name="' .. FIELD .. '" value="' .. token .. '">' or ""
end

-- The user ------------------------------------------------------------------------------------------------

-- The accounts that a fiber asked last: its forms and its guards belong to them.
own.asking = setmetatable({}, { __mode = "k" })

-- Seconds for which a worker remembers a user for views. Each asks twice a second, for its session and for its
-- guards, and a user may have many.
local REMEMBERED, MOST_REMEMBERED = 0.25, 4096
local remembered, rememberedCount, revision = {}, 0, nil

local function userOf(self, key)
  if not K.isOfOpenPage() then return own.user(self, key) end
  local now, present = native.now(), native.accountsRevision(false)
  if present ~= revision or rememberedCount >= MOST_REMEMBERED then
    remembered, rememberedCount, revision = {}, 0, present
  end
  local place = own.all[self] .. " " .. key
  local known = remembered[place]
  if known and now < known.ends then return known.user end
  if not known then rememberedCount = rememberedCount + 1 end
  -- The time before it was read counts: a change in between is not in it.
  known = { ends = now + REMEMBERED, user = own.user(self, key) }
  remembered[place] = known
  return known.user
end

-- The user and the scopes, and what proves him with the cookie of a session; nil scopes are all.
local function proven(self)
  local key, proof, cookie = own.current(self)
  local scopes
  if not key then
    key, scopes = own.apiKey(self)
    proof = "key"
  end
  local user = nil
  if key ~= nil then user = userOf(self, key) end
  if user == nil then return nil, nil, "" end
  return user, scopes, key .. " " .. proof, cookie
end

local function visitor(self)
  own.asking[coroutine.running() or 1] = self
  local user, scopes, proof, cookie = proven(self)
  native.exchange("asks-visitor", proof)
  if cookie then admitForm(cookie) end
  return user, scopes
end

-- What the request proves is told to what keeps its answer, as if each of the accounts had been asked.
function K.live.tellUsers()
  for accounts in pairs(own.all) do
    local _, _, proof = proven(accounts)
    native.exchange("asks-visitor", proof)
  end
end

-- What the request being answered proves: its sessions and API keys, of all accounts, as a text; nil in a program
-- without accounts. A view belongs to it, also where its page did not ask (live/authority.lua).
function K.live.provenIdentity()
  if own.count == 0 then return nil end
  local parts = {}
  for accounts, number in pairs(own.all) do
    local user, _, proof = proven(accounts)
    if user ~= nil then parts[#parts + 1] = number .. " " .. proof end
  end
  table.sort(parts)
  return table.concat(parts, ",")
end

-- Pages of users are private.
local function private(user)
  if user ~= nil and native.exchange("method", "") == "GET" then native.respond("cache-control", "private, no-cache") end
  return user
end

-- Whether there are accounts with such a page.
function K.hasPageToLogIn() return own.hasPage == true end

-- Where a browser that has to log in is sent, for the guard that refused it.
function K.pageToLogIn()
  local accounts = own.asking[coroutine.running() or 1]
  return accounts and accounts.i_loginPage or nil
end

K.methods(Accounts, {
  --- -<String?> formToken
  --- The CSRF token of the session of the request, for the hidden field `_csrf` of forms that a program writes itself;
  --- nil without a session. `#Form{ }` has it by itself.
  --- > { :accounts | #input{ type: 'hidden', name: '_csrf', value: accounts formToken }[] }
  ["formToken"] = formToken,
  --- -<any> user
  --- The user of the session or of the API key of the request; nil without one, and for an API key with scopes.
  --- > { :accounts | accounts user }
  ["user"] = function(self)
    local user, scopes = visitor(self)
    if scopes then return nil end
    return private(user)
  end,
  --- -<any> userFor:<String>scope
  --- As `user`, also for API keys with that scope; false for an API key with other scopes.
  --- > { :accounts | accounts userFor: 'orders.read' }
  ["userFor:"] = function(self, scope)
    local user, scopes = visitor(self)
    if scopes and not scopes:includes_(scope) then return false end
    return private(user)
  end,
})
