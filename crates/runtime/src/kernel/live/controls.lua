-- Controls of a view: its form elements, as the markup that its client has says.
--
-- A client decides nothing about its controls, so an event is compared with what was rendered. Markup is read rather
-- than the literals that wrote it: a component, a list, a block and `#Raw` all end there, and none can forget an
-- attribute. It is read at an event only; views without events pay nothing. What a slot shows now stands in the slot:
--
--     <fieldset disabled><!--[3-->…<!--]--></fieldset>     the content of slot 3, where it was sent again, from there
local K = ...
local type, tonumber, ipairs = type, tonumber, ipairs
local find, sub, byte, lower, gmatch, gsub = string.find, string.sub, string.byte, string.lower, string.gmatch, string.gsub
local live = K.live

local function setOf(words)
  local set = {}
  for word in gmatch(words, "%S+") do set[word] = true end
  return set
end
K.setOfWords = setOf

local WANTED = setOf "form fieldset legend select optgroup option input textarea button"
local CONTROLS = setOf "form select input textarea button"
-- Elements whose content is text to a browser.
local TEXTS = setOf "script style title textarea"

-- Reading markup ------------------------------------------------------------------------------------------

local ENTITIES = { amp = "&", lt = "<", gt = ">", quot = '"', apos = "'", ["#39"] = "'", ["#34"] = '"' }
local function decoded(text)
  if not find(text, "&", 1, true) then return text end
  return (gsub(text, "&(#?%w+);", ENTITIES))
end

-- The attributes of a tag from a place on, and the place behind its `>`. The first of two with one name counts.
local function readAttributes(text, at)
  local map = {}
  while true do
    at = find(text, "[^%s/]", at)
    if not at then return map, #text + 1 end
    if byte(text, at) == 62 then return map, at + 1 end
    local _, last, name = find(text, "^([^%s/>][^%s/>=]*)", at)
    local _, equals = find(text, "^%s*=%s*", last + 1)
    local value = ""
    if equals then
      local quote = sub(text, equals + 1, equals + 1)
      if quote == '"' or quote == "'" then
        last = find(text, quote, equals + 2, true) or #text
        value = sub(text, equals + 2, last - 1)
      else
        value = string.match(text, "^[^%s>]*", equals + 1)
        last = equals + #value
      end
    end
    name = lower(name)
    if map[name] == nil then map[name] = decoded(value) end
    at = last + 1
  end
end

-- The place behind a tag whose attributes do not matter.
local function skipAttributes(text, at)
  while true do
    local last = find(text, "[\"'>]", at)
    if not last then return #text + 1 end
    local mark = byte(text, last)
    if mark == 62 then return last + 1 end
    at = (find(text, string.char(mark), last + 1, true) or #text) + 1
  end
end

-- `value=4 input!4 click!5`: the slots of attributes by name, and the numbers of all.
local function readSlots(token, written)
  token.slots, token.numbers = {}, {}
  for name, kind, number in gmatch(written or "", "(%S+)([=!])(%d+)") do
    if kind == "=" then token.slots[lower(name)] = tonumber(number) end
    token.numbers[tonumber(number)] = true
  end
end

-- A tag at a place: its token, nil where it does not matter, and the place behind it.
local function readTag(text, at)
  local _, last, name = find(text, "^<(%a[^%s/>]*)", at)
  name = lower(name)
  local token
  -- An element with a hyphen in its name may be a control of a form, made by a script.
  if WANTED[name] or find(name, "-", 1, true) then
    token = { open = name }
    token.attributes, at = readAttributes(text, last + 1)
    readSlots(token, token.attributes["data-live"])
  else
    at = skipAttributes(text, last + 1)
  end
  if TEXTS[name] then
    local ends = find(lower(sub(text, at)), "</" .. name, 1, true)
    local content = sub(text, at, ends and at + ends - 2 or #text)
    -- A browser drops a line feed that begins a text area.
    if token then token.text = gsub(decoded(content), "^\n", "") end
    at = at + #content
  end
  return token, at
end

-- A comment or a document type: its token where it is the mark of a slot, and the place behind it.
local function readComment(text, at, tokens, slots)
  local _, last, number = find(text, "^<!%-%-%[(%d+)%-%->", at)
  if number then
    slots[#slots + 1] = { slot = tonumber(number) }
    return slots[#slots], last + 1
  end
  _, last = find(text, "^<!%-%-%]%-%->", at)
  if last then
    local slot = table.remove(slots)
    if slot then slot.last = #tokens + 1 end
    return { isEnd = true }, last + 1
  end
  _, last = find(text, find(text, "^<!%-%-", at) and "-->" or ">", at, true)
  return nil, (last or #text) + 1
end

-- The tokens of markup: tags that matter, marks of slots, and text within options. A part of a page may stand in one.
local function tokensOf(text, isPart)
  local tokens, slots, at, isOption = {}, {}, 1, isPart
  while true do
    local from = find(text, "<", at, true)
    if isOption and at < (from or #text + 1) then tokens[#tokens + 1] = { text = decoded(sub(text, at, (from or 0) - 1)) } end
    if not from then return tokens end
    local token
    local mark = byte(text, from + 1)
    if mark == 33 then
      token, at = readComment(text, from, tokens, slots)
    elseif mark == 47 then
      local name = lower(string.match(text, "^</(%a[^%s>]*)", from) or "")
      if WANTED[name] then token = { close = name } end
      at = skipAttributes(text, from + 2)
    elseif find(text, "^%a", from + 1) then
      token, at = readTag(text, from)
    else
      at = from + 1
    end
    if token then
      tokens[#tokens + 1] = token
      if not isPart and (token.open or token.close) then isOption = token.open == "option" end
    end
  end
end

-- The tokens of what a view, a slot or an item shows.
local function tokensIn(holder, text, isPart)
  if holder.read ~= text then
    holder.read, holder.tokens = text, tokensOf(isPart == "json" and K.native.parseJSON(text) or text, isPart)
  end
  return holder.tokens
end

-- Visits tokens in the order of the page, each with its scope, until a visit answers true.
local function walk(tokens, from, to, scope, visit)
  local i = from
  while i <= to do
    local token = tokens[i]
    if token.slot then
      local slot, last, ends = scope and scope[token.slot], token.last or to + 1, nil
      if slot and slot.items then
        for _, item in ipairs(slot.items) do
          local inner = tokensIn(item, item.text, "html")
          ends = ends or walk(inner, 1, #inner, item.scope, visit)
        end
      elseif slot and type(slot.sent) == "string" then
        local inner = tokensIn(slot, slot.sent, "json")
        ends = walk(inner, 1, #inner, slot.inner, visit)
      else
        ends = walk(tokens, i + 1, last - 1, slot and slot.inner, visit)
      end
      if ends then return true end
      i = last
    elseif visit(token, scope) then
      return true
    end
    i = i + 1
  end
end

-- Controls ------------------------------------------------------------------------------------------------

local Control = {}
Control.__index = Control

-- An attribute as the client shows it, or would once the next frame has come; nil without it.
function Control:attribute(name)
  local number = self.token.slots[name]
  local slot = number and self.scope and self.scope[number]
  if slot and slot.kind == "attribute" and slot.entry then
    local text = K.attributeText(slot.entry, K.slotValue(slot.value))
    return text == true and "" or text
  end
  return self.token.attributes[name]
end

-- The slot that an attribute, or the text of a text area, writes.
function Control:fieldSlot(name)
  local number = self.token.slots[name]
  local slot = number and self.scope and self.scope[number]
  return slot and slot.field and slot or nil
end

-- What the control shows: the text of its `value:`.
function Control:shown()
  if self.tag ~= "textarea" then return self:attribute("value") end
  local slot = self:fieldSlot(".text")
  if not slot then return self.token.text end
  local value = K.slotValue(slot.value)
  return value == nil and "" or K.str(value)
end

-- HTML section 4.10.18.5: by itself, or by a fieldset around it, save in the first legend of that.
function Control:isDisabled()
  if self:attribute("disabled") then return true end
  local fieldset = self.fieldsets
  while fieldset do
    if fieldset.element:attribute("disabled") then return true end
    fieldset = fieldset.outer
  end
  return false
end

local function element(token, scope)
  return setmetatable({ tag = token.open, token = token, scope = scope }, Control)
end

-- Reads fieldsets, forms and options around controls.
local Reader = {}
Reader.__index = Reader

function Reader:close(name)
  local around = self.around
  local inmost = around[#around]
  if name == "fieldset" and inmost then
    self.fieldsets = inmost.before
    around[#around] = nil
  elseif name == "legend" and inmost and inmost.inside then
    self.fieldsets, inmost.inside = inmost.inside, nil
  elseif name == "form" or name == "select" then
    self[name], self.group, self.option = nil, nil, nil
  elseif name == "optgroup" then
    self.group = nil
  end
  if name == "option" or name == "optgroup" then self.option = nil end
end

-- An element that opens; answers it where it is a control.
function Reader:open(token, scope)
  local name = token.open
  local one = element(token, scope)
  if name == "fieldset" then
    self.around[#self.around + 1] = { before = self.fieldsets }
    self.fieldsets = { element = one, outer = self.fieldsets }
  elseif name == "legend" then
    local inmost = self.around[#self.around]
    if inmost and not inmost.hadLegend then
      inmost.hadLegend, inmost.inside, self.fieldsets = true, self.fieldsets, inmost.before
    end
  elseif name == "optgroup" then
    self.group = one
  elseif name == "option" then
    one.group, one.texts, self.option = self.group, {}, one
    if self.select then self.select.options[#self.select.options + 1] = one end
  else
    one.fieldsets, one.form = self.fieldsets, self.form
    if name == "form" then self.form = one end
    if name == "select" then
      one.options = {}
      self.select = one
    end
    return one
  end
end

-- Visits the controls of a view in their order, until a visit answers true. The options of a `select` follow it.
local function eachControl(view, visit)
  local reader = setmetatable({ around = {} }, Reader)
  local tokens = tokensIn(view, view.text or "")
  walk(tokens, 1, #tokens, view.root, function(token, scope)
    if token.open then
      local control = reader:open(token, scope)
      return control and visit(control)
    elseif token.close then
      reader:close(token.close)
    elseif token.text and reader.option then
      local texts = reader.option.texts
      texts[#texts + 1] = token.text
    end
  end)
end

-- Whether a text has the word at all, remembered beside it.
local function saysDisabled(holder, text)
  if holder.asked ~= text then
    holder.asked, holder.saysDisabled = text, find(lower(text), "disabled", 1, true) ~= nil
  end
  return holder.saysDisabled
end

-- Whether something around a slot may disable it. Most pages disable nothing: their clicks need no control.
function live.mayBeDisabled(view, slot)
  local scope = slot.scope
  while scope do
    local item, parent = scope.item, scope.parent
    if item and saysDisabled(item, item.text) then return true end
    if parent and type(parent.sent) == "string" and saysDisabled(parent, parent.sent) then return true end
    scope = parent and parent.scope
  end
  return saysDisabled(view, view.text)
end

-- The control that a slot belongs to; nil for other elements.
function live.controlOf(view, slot)
  local found
  eachControl(view, function(control)
    -- A `select` is complete once the next control begins.
    if found then return true end
    if control.scope == slot.scope and control.token.numbers[slot.number] and CONTROLS[control.tag] then
      found = control
      return control.tag ~= "select"
    end
  end)
  return found
end

-- The controls of a form, in their order: those in it, and those that name it by `form:`.
function live.controlsOf(view, form)
  local list, id = {}, form:attribute("id")
  eachControl(view, function(control)
    local named, around = control:attribute("form"), control.form
    if control.tag == "form" then return end
    if named and named == id or not named and around and around.token == form.token and around.scope == form.scope then
      list[#list + 1] = control
    end
  end)
  return list
end
