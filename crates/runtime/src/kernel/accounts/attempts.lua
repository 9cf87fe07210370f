-- Limits of guesses: how often clients may be wrong about a secret of accounts.
--
-- A limit of each account alone would lock its user out. So three are counted: of an account and a client, which is the
-- the one of the program, and MORE times as many of a client about all accounts, and of an account by all clients.
-- Clients that logged in to an account before are not part of the last one.
local K = ...
local type, native = type, K.native
local own = K.accountsOwn

local MORE = 10
local MOST_PLACES = 20 -- that are remembered for a user

-- Workers share the limits of a number and a window.
local limits = {}

local function limitOf(attempts, window)
  local key = attempts .. " " .. window
  if not limits[key] then
    limits[key] = {
      native.guessLimit("attempts", attempts, window), native.guessLimit("more attempts", attempts * MORE, window),
    }
  end
  return limits[key][1], limits[key][2]
end

-- Runs a block that answers nil or false for a wrong guess of a secret. `secret` says which; without it only the client is
-- counted. Outside of a request the program itself asks, and nothing is counted.
local function guess(attempts, window, secret, isKnown, block)
  if native.exchange("method", "") == nil then return block() end
  local one, many = limitOf(attempts, window)
  local hasAddress = native.exchange("client", "") ~= nil
  if hasAddress then native.countGuess(many, "client") end
  if secret then
    native.countGuess(one, secret)
    if not isKnown then native.countGuess(many, secret, true) end
  end
  local found = block()
  if found ~= nil and found ~= false then
    if hasAddress then native.forgetGuesses(many, "client", false, true) end
    if secret then
      native.forgetGuesses(one, secret)
      if not isKnown then native.forgetGuesses(many, secret, true, true) end
    end
  end
  return found
end
K.guess = guess

-- The same with the limits of accounts.
function own.guess(self, secret, isKnown, block)
  -- Accounts of different tables may have the same names.
  if secret then secret = own.place(self) .. " " .. secret end
  return guess(self.i_attempts, K.secondsOf(self.i_attemptWindow, "attemptWindow"), secret, isKnown, block)
end

-- Places from which a user logged in: `place/KEY/DIGEST`, a digest of the address.

local function placeOf(key)
  local client = native.exchange("client", "")
  return client and "place/" .. key .. "/" .. own.digest(client)
end

-- Whether the client logged in to the account of that key before.
function own.isKnownPlace(self, key)
  local path = placeOf(key)
  return path ~= nil and own.read(self, path) ~= nil
end

function own.notePlace(self, key)
  local path = placeOf(key)
  if not path or own.read(self, path) ~= nil then return end
  local names = own.names(self, "place/" .. key)
  for _ = MOST_PLACES, #names do own.remove(self, "place/" .. key .. "/" .. table.remove(names, math.random(#names))) end
  own.write(self, path, "")
end

function own.forgetPlaces(self, key)
  for _, digest in ipairs(own.names(self, "place/" .. key)) do own.remove(self, "place/" .. key .. "/" .. digest) end
end
