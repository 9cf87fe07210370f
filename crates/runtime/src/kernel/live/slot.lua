-- Live slots: parts of a page that follow what they show.
--
-- A reference or a block as a child or an attribute is a slot. Slots are numbered in the order in which
-- they are written; those inside another slot or an item of a list count anew. A slot of content stands
-- between the comments `<!--[3-->` and `<!--]-->`, slots of attributes and events are listed in the
-- attribute `data-live` of their element. The page that a client gets first only has these marks: nothing
-- of it is kept. When its browser connects, the page is written again into a view (live/view.lua), whose
-- scopes hold what the numbers stand for.
--
-- The state of a page, `buffer.page`:
--   `n`       slots of the present scope          `scope`   the scope of a view, false for a first page
--   `level`   slots around the present place      `live`    something of it can change or be used
--   `print`   a fingerprint of the markup outside of slots, up to `last`
--   `form`    the place is in a form with an event
--   `address` what stands before the numbers of the present scope in an address, such as `3.7.`
local K = ...
local type, find = type, string.find
local put, lengthOf, live = K.put, K.markupLength, K.live

-- Slots of one page.
local MOST = 10000

local function newPage(level, scope)
  return { n = 0, level = level, print = 0, last = 0, scope = scope or false, live = false, form = false,
    total = 0, address = "" }
end

local function pageOf(buffer)
  local page = buffer.page
  if page == true then
    page = newPage(0)
    buffer.page = page
  end
  return page
end

-- The text of a part that is written apart from its page, and the key that an item has given itself.
function K.livePart(page, fill)
  local buffer = K.openMarkup()
  buffer.live, buffer.page = true, page
  fill(buffer)
  local key = buffer.itemKey
  buffer.live, buffer.itemKey = false, nil
  return K.finished(buffer), key
end
function K.newLivePart(scope) return newPage(1, scope) end
K.livePage = pageOf

-- The fingerprint leaves out what lies between this and `endRange`.
local function beginRange(buffer, page)
  if page.level > 0 then return end
  page.print = (page.print * 31 + lengthOf(buffer) - page.last) % 2147483647
end
local function endRange(buffer, page)
  if page.level == 0 then page.last = lengthOf(buffer) end
end
K.beginRange, K.endRange = beginRange, endRange

-- The number of a new slot.
local function number(page)
  local n = page.n + 1
  page.n, page.total = n, page.total + 1
  if page.total > MOST then
    K.throw("tooLarge", "a page has more than " .. MOST .. " live slots",
      { i_hint = "show a part of the list, or write what does not change as plain values" })
  end
  return n
end
K.slotNumber = number

local CLOSE = "<!--]-->"
local openers = {}
for n = 1, 64 do openers[n] = "<!--[" .. n .. "-->" end
local function opener(n) return openers[n] or "<!--[" .. n .. "-->" end

-- Writes a slot of content. `fill(buffer, slot)` writes what it shows; slots in it count anew.
local function contentSlot(buffer, isLive, slot, fill)
  local page = pageOf(buffer)
  local n = number(page)
  if isLive then page.live = true end
  beginRange(buffer, page)
  put(buffer, opener(n))
  local scope = page.scope
  if scope then slot = scope:add(n, slot) end
  local address = page.address
  page.n, page.level, page.address = 0, page.level + 1, address .. n .. "."
  page.scope = scope and slot:renew()
  fill(buffer, slot)
  page.n, page.level, page.scope, page.address = n, page.level - 1, scope, address
  put(buffer, CLOSE)
  endRange(buffer, page)
end
K.contentSlot = contentSlot

-- Nonces ----------------------------------------------------------------------------------------------

-- Writes the nonce of the answer's content security policy into the tag of inline code. The session of a
-- live page has none: the fingerprint leaves it out.
local function writeNonce(buffer)
  local nonce = K.native.exchange("nonce", "")
  if nonce and not find(nonce, "[^%w+/=_-]") then nonce = ' nonce="' .. nonce .. '"' else nonce = "" end
  if not buffer.page then return put(buffer, nonce) end
  local page = pageOf(buffer)
  beginRange(buffer, page)
  put(buffer, nonce)
  endRange(buffer, page)
end

function live.nonce(buffer)
  if buffer.live then return writeNonce(buffer) end
  K.laterMarkup(buffer, writeNonce)
end

-- References -----------------------------------------------------------------------------------------

-- A plain value has no slots in it: it is written between its marks. Answers whether it was one.
local function plainReference(buffer, page, value)
  local shown = value:value()
  local kind = type(shown)
  if kind ~= "string" and kind ~= "number" and shown ~= nil then return false end
  page.live = true
  beginRange(buffer, page)
  local n = number(page)
  put(buffer, opener(n))
  if page.scope then page.scope:add(n, { kind = "reference", reference = value }) end
  if shown ~= nil then K.child(buffer, shown) end
  put(buffer, CLOSE)
  endRange(buffer, page)
  return true
end

local function reference(buffer, value)
  if not buffer.page then return K.child(buffer, value:value()) end
  local page = pageOf(buffer)
  if plainReference(buffer, page, value) then return end
  contentSlot(buffer, true, { kind = "reference", reference = value }, function(target)
    K.child(target, value:value())
  end)
end

-- A reference among the children shows what it refers to, and follows it.
function live.child(buffer, value)
  if buffer.live then return reference(buffer, value) end
  K.laterMarkup(buffer, function(target) reference(target, value) end)
end

-- Blocks -----------------------------------------------------------------------------------------------

local function block(buffer, write, names, stores)
  if not buffer.page then return write(buffer) end
  contentSlot(buffer, stores, { kind = "block", write = write, names = names }, function(target, slot)
    if slot.view then slot:tracked(function() write(target) end) else write(target) end
  end)
end

-- A block among the children: `names` are the script's variables that it reads, `stores` says whether
-- it reads references of stores.
function live.block(buffer, write, names, stores)
  if buffer.live then return block(buffer, write, names, stores) end
  K.laterMarkup(buffer, function(target) block(target, write, names, stores) end)
end

-- The end of a page ------------------------------------------------------------------------------------

local SCRIPT = '<script src="/.runnel/live.js" data-f="'
local FORM, FORM_END = '" defer></script><form id="_live" method="post" hidden>', "</form>"

-- The hidden field of forms that tells whose session they are of (accounts/visitor.lua).
function live.tokenField() return "" end

local function fingerprint(buffer)
  local page = pageOf(buffer)
  if not page.fingerprint then
    beginRange(buffer, page)
    page.fingerprint = string.format("%x", page.print)
  end
  return page.fingerprint
end
K.fingerprint = fingerprint

-- A page with live parts loads the client, where its body ends.
local function loadClient(buffer)
  local page = buffer.page
  if not page or page == true or page.fingerprint then return end
  if page.live and not page.scope then put(buffer, SCRIPT .. fingerprint(buffer) .. FORM .. live.tokenField() .. FORM_END) end
  fingerprint(buffer)
end
live.endPage = loadClient

function live.endBody(buffer)
  if buffer.live then return loadClient(buffer) end
  K.laterMarkup(buffer, loadClient)
end
