-- JSON documents of other servers, such as key sets and descriptions of login providers: fetched when they
-- are needed, cached, by one fetch.
local K = ...
local type, match, find, sub, lower = type, string.match, string.find, string.sub, string.lower
local throw, native, try = K.throw, K.native, K.try
local HTTPStore = K.classes.HTTPStore -- not a class of this name that a program has

-- Seconds: of a fetch as a whole, and without an answer; between fetches after a failure; for which a
-- document serves while its server fails.
local FETCH_TIME, ANSWER_TIME, FAILURE, STALE = 15, 5, 5, 86400
-- Bytes of a document.
local LARGEST = 1048576

local function isOwnMachine(host)
  host = lower(match(host, "^(%[[^%]]*%])") or match(host, "^[^:]*"))
  return host == "localhost" or host == "[::1]" or find(host, "^127%.%d+%.%d+%.%d+$") ~= nil
end

-- Origin and path of an address that is encrypted, or of the own machine; whether it is encrypted.
function K.secureAddress(url, what)
  local scheme, host, rest = match(url, "^(https?)://([^/?#@%s]+)([^#%s]*)$")
  if not scheme or scheme == "http" and not isOwnMachine(host) then
    throw("invalid", what .. " must be an address with https:// (http:// only for localhost)")
  end
  if rest == "" then rest = "/" end
  return scheme .. "://" .. host, rest, scheme == "https"
end

-- A client of an address, and the path there. It follows no redirects, so that neither content nor
-- credentials go to another server.
function K.fixedClient(url, what, options)
  local origin, path = K.secureAddress(url, what)
  local names, values = { "base", "maxRedirects", "timeout" }, { origin, 0, K.duration(ANSWER_TIME) }
  for name, value in pairs(options or {}) do
    names[#names + 1] = name
    values[#values + 1] = value
  end
  return K.object(HTTPStore, names, values, #names), path
end

local function load(document)
  local client, path = K.fixedClient(document.url, document.what)
  local text = K.storeGet(client, path)
  if text == nil then throw("unavailable", document.url .. " does not exist") end
  text = K.bytesOf(text, document.what)
  if #text > LARGEST then throw("unavailable", document.url .. " is longer than 1 MiB") end
  return document.read(text)
end

-- Fetches it; fibers that want the same wait for the same fetch. It does not end with the request that
-- began it, because others wait for it, too.
local function fetch(document)
  local task = document.task
  if not task or native.isDone(task) then
    document.tried = native.now()
    task = native.fork(function()
      local ok, value = try(load, document)
      if ok then
        document.value, document.since, document.failure = value, native.now(), nil
      else
        document.failure, document.failed = K.str(value.i_message), native.now()
      end
    end, FETCH_TIME * 1000, false, true)
    document.task = task
  end
  local ok = try(native.join, task)
  if not ok and document.since == nil then
    document.failure, document.failed = document.url .. " does not answer", native.now()
  end
end

-- A document: its address, what it is, the seconds for which it is good, the least seconds between two forced
-- fetches, and the function that reads its text.
function K.cachedDocument(url, what, ttl, interval, read)
  K.secureAddress(url, what)
  return { url = url, what = what, ttl = ttl, interval = interval, read = read, tried = -math.huge }
end

local function isWithin(time, seconds)
  return time ~= nil and native.now() < time + seconds
end

-- What the document holds; an error where it cannot be had.
function K.documentValue(document)
  if isWithin(document.since, document.ttl) then return document.value end
  if not isWithin(document.failed, FAILURE) then fetch(document) end
  if isWithin(document.since, document.failure and STALE or document.ttl + FETCH_TIME) then return document.value end
  throw("unavailable", string.format("%s cannot be had: %s", document.what, document.failure or "no answer"),
    { _side = "store" })
end

-- The same, fetched anew unless that was done a short time ago.
function K.newerDocumentValue(document)
  if isWithin(document.tried, document.interval) then return document.value end
  fetch(document)
  return document.value
end
