-- Events of browsers without JavaScript: a form that names the address of the event. The page is
-- written once more, only to find what the address stands for.
local K = ...
local type, find, match, sub = type, string.find, string.match, string.sub
local native = K.native

-- Where a browser goes after a form: the same page (RFC 9110, section 15.4.4), relative to itself,
-- so that it holds below any prefix.
local function showAgain(path, query)
  local name = match(path, "[^/]*$")
  native.respond("status", 303)
  native.respond("location", "./" .. name .. (query and "?" .. query or ""))
end

-- The fields of the program, without those of events.
local function fieldsOf(form)
  local keys, map, n = {}, {}, 0
  form:keysAndValuesDo_(function(key, value)
    if find(key, "^_in%.") or key == "_event" or key == K.formTokenField then return end
    n = n + 1
    keys[n], map[key] = key, value
  end)
  return K.dictionary(keys, map, n)
end

-- Enters the fields that are bound. None is written where one is refused.
local function enterAll(view, form)
  local entered = {}
  form:keysAndValuesDo_(function(key, value)
    local at = match(key, "^_in%.([%d.]+)$")
    local field = at and view:find(at)
    if field and field.field then
      entered[#entered + 1] = { field, K.expectAdmitted(view, field, field.field == "boolean" and "change" or "input", value) }
    end
  end)
  for _, one in ipairs(entered) do K.enterField(one[1], one[2]) end
end

-- Answers whether the page has the event.
function K.plainEvent(object, path, query, reference)
  local address = native.exchange("form", "_event")
  if type(address) ~= "string" then return false end
  local token = native.exchange("header", "runnel-view")
  local shown = token and K.openView(token)
  if shown then
    -- Files that the client of a live page sends.
    native.respond("status", 204)
    return K.eventIn(shown, address, fieldsOf(native.exchange("form", "")))
  end
  local found, page = K.tryPath(object, "get", path, nil, reference, false)
  if not found then page = path == "/" and object or nil end
  if type(page) == "table" and page._isWidget then page = page:_page() end
  if type(page) ~= "table" or page._kind ~= K.kinds.element then return false end
  local view = K.newView(false)
  view:write(page)
  local slot = view:find(address)
  if not slot or slot.kind ~= "event" or slot.name ~= "submit" and slot.name ~= "click" then return false end
  local form = native.exchange("form", "")
  enterAll(view, form)
  if slot.name == "submit" then
    slot.block(K.expectAdmitted(view, slot, "submit", fieldsOf(form)))
  else
    K.expectAdmitted(view, slot, "click", nil)
    slot.block(nil)
  end
  showAgain(path, query)
  return true
end
