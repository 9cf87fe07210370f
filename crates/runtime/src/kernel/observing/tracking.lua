-- `K.tracked(block)`: which references of stores a block reads.
local K = ...
local type, rawget, next, setmetatable = type, rawget, next, setmetatable
local running = coroutine.running
local reads = K.storeReads

local MOST = 1000 -- references of one block
local lists = {} -- what is tracked, by fiber

-- Called with every read of a store while something is tracked.
local function note(store, path, scheme)
  local list = lists[running() or 0]
  if not list or #list >= MOST then return end
  local paths = list.seen[store]
  if not paths then
    paths = {}
    list.seen[store] = paths
  end
  if paths[path] then return end
  paths[path] = true
  local reference = K.pathReference(path, scheme)
  if K.schemes[scheme or ""] ~= store then reference._store = store end
  list[#list + 1] = reference
end

-- The value of a block, the references of stores that were read while it ran (each once, at most
-- 1,000), and its second value. Reads of a block that is tracked within it are not among them.
function K.tracked(block)
  local fiber = running() or 0
  local outer, list = lists[fiber], { seen = {} }
  lists[fiber] = list
  reads.note = note
  local ok, value, more = xpcall(block, K.handler)
  lists[fiber] = outer
  if next(lists) == nil then reads.note = nil end
  if not ok then error(K.asRaised(value), 0) end
  list.seen = nil
  return value, list, more
end

-- Stores whose content belongs to one request, or to the program itself.
local SETTLED = {}
for name in string.gmatch("query form header cookie body request response class framework template protocol scheme", "%a+") do
  SETTLED[name] = true
end

-- Whether it is worth the attempt to observe a reference.
function K.observable(reference)
  if type(reference) ~= "table" or K.isClass(reference) then return false end
  if rawget(reference, "_observe") then return true end
  return reference._isReference and (rawget(reference, "_store") ~= nil or not SETTLED[reference._scheme]) or false
end
