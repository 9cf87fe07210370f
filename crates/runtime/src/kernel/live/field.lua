-- Live attributes, events, and fields that write what they show. They are written at the end of the
-- opening tag, with one attribute `data-live` that names their slots: `value=4 input!4 click!5`.
local K = ...
local type = type
local put, putEscaped, str, live = K.put, K.putEscaped, K.str, K.live

local function pend(buffer, entry)
  local pending = buffer.pending
  if not pending then
    pending = {}
    buffer.pending = pending
  end
  pending[#pending + 1] = entry
end

local function valueOf(value)
  if type(value) == "function" then return value() end
  if type(value) == "table" and not K.isClass(value) and value._isReference then return value:value() end
  return value
end
K.slotValue = valueOf

local function isReference(value)
  return type(value) == "table" and not K.isClass(value) and value._isReference
end

-- `value:` and `checked:` of a field. `writable`: what its user enters is assigned to the reference.
function live.field(buffer, name, value, kind, writable, named)
  if not isReference(value) then return K.attribute(buffer, name, value) end
  pend(buffer, {
    entry = K.attributeEntry(name), value = value, named = named,
    field = writable and (name == "checked" and "boolean" or kind) or nil,
  })
end

-- The text between the tags of a title, or of a text area with `value:`.
function live.textSlot(buffer, value, writable, named)
  local follows = isReference(value)
  if not follows and type(value) ~= "function" then return end
  pend(buffer, { text = true, value = value, named = named, field = writable and follows and "text" or nil })
end

function live.slotText(buffer, value)
  if not buffer.live then
    return K.laterMarkup(buffer, function(target) live.slotText(target, value) end)
  end
  if type(value) ~= "function" and not isReference(value) then return K.child(buffer, value) end
  local page = buffer.page
  if page then
    page = K.livePage(buffer)
    K.beginRange(buffer, page)
  end
  local shown = valueOf(value)
  if shown ~= nil and shown ~= K.NULL then putEscaped(buffer, str(shown)) end
  if page then K.endRange(buffer, page) end
end

-- `key:` names an item of a live list: it is no attribute.
function live.itemKey(buffer, value)
  if buffer.itemKey == nil then buffer.itemKey = value end
end

-- What a browser without JavaScript needs to send an event (live/form.lua).
local function plainForm(buffer, tag, address, page)
  if page.scope then return end
  if tag == "button" then
    put(buffer, (page.form and "" or ' form="_live"') .. ' name="_event" value="' .. address .. '"')
  elseif tag == "form" then
    put(buffer, ' method="post"')
  end
end

-- The value of a slot that is an attribute, where it does not fail.
local function writeValue(buffer, one)
  if one.text then return end
  K.plainAttribute(buffer, one.entry, valueOf(one.value))
end

local function writeOne(buffer, page, one, tag, names)
  local scope = page.scope
  if one.entry and one.entry[6] and type(one.value) == "function" then
    local n = K.slotNumber(page)
    page.live = true
    names[#names + 1] = one.entry[2] .. "!" .. n
    if scope then scope:add(n, { kind = "event", name = one.entry[2], block = one.value }) end
    if one.entry[2] == "submit" and tag == "form" then page.submit = page.address .. n end
    if one.entry[2] == "click" or one.entry[2] == "submit" then
      plainForm(buffer, tag, page.address .. n, page)
    end
    return
  end
  local n = K.slotNumber(page)
  if isReference(one.value) then page.live = true end
  names[#names + 1] = (one.text and ".text" or one.entry[2]) .. "=" .. n
  if scope then
    local slot = scope:add(n, {
      kind = "attribute", entry = one.entry, value = one.value, field = one.field,
      reference = isReference(one.value) and one.value or nil,
    })
    slot:tracked(function() writeValue(buffer, one) end)
  else
    writeValue(buffer, one)
  end
  if one.field then
    names[#names + 1] = (one.field == "boolean" and "change!" or "input!") .. n
    if not one.named and not scope then
      put(buffer, ' name="_in.' .. page.address .. n .. '"' .. (page.form and "" or ' form="_live"'))
    end
  end
end

local function writeAll(buffer, pending, tag)
  if not buffer.page then
    for i = 1, #pending do
      local one = pending[i]
      if one.entry and not (one.entry[6] and type(one.value) == "function") then writeValue(buffer, one) end
    end
    return
  end
  local page = K.livePage(buffer)
  K.beginRange(buffer, page)
  page.level = page.level + 1
  local names = {}
  for i = 1, #pending do writeOne(buffer, page, pending[i], tag, names) end
  put(buffer, ' data-live="' .. table.concat(names, " ") .. '"')
  page.level = page.level - 1
  K.endRange(buffer, page)
end

-- Called before the end of an opening tag that has values of the program.
function live.endAttributes(buffer, tag)
  local pending = buffer.pending
  if not pending then return end
  buffer.pending = false
  if buffer.live then return writeAll(buffer, pending, tag) end
  K.laterMarkup(buffer, function(target) writeAll(target, pending, tag) end)
end

-- Forms with `submit:`: a browser without JavaScript sends the address of the event.
local function openForm(buffer)
  if not buffer.page then return end
  local page = K.livePage(buffer)
  page.form = true
  if page.submit then
    K.beginRange(buffer, page)
    put(buffer, '<input type="hidden" name="_event" value="' .. page.submit .. '">' .. live.tokenField())
    K.endRange(buffer, page)
    page.submit = nil
  end
end
local function closeForm(buffer)
  if buffer.page then K.livePage(buffer).form = false end
end

function live.beginForm(buffer)
  if buffer.live then return openForm(buffer) end
  K.laterMarkup(buffer, openForm)
end
function live.endForm(buffer)
  if buffer.live then return closeForm(buffer) end
  K.laterMarkup(buffer, closeForm)
end
