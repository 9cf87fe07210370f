-- Attributes whose values are only known when the program runs. What is constant the compiler has
-- written already, by the same rules (crates/compile/src/elements/html.rs).
local K = ...
local type = type
local find, gsub, lower, match = string.find, string.gsub, string.lower, string.match
local throw, put, putEscaped, escape, str = K.throw, K.put, K.putEscaped, K.escapeHTML, K.str
local NULL = K.NULL

local PLAIN, ADDRESS, CODE, WORD, CLASS, STYLE, ANIMATED = 1, 2, 3, 4, 5, 6, 7
local kinds = { srcdoc = CODE, class = CLASS, style = STYLE }
-- The values of an animation become those of an attribute, and that may be `href`.
for name in string.gmatch("values to from by", "%a+") do kinds[name] = ANIMATED end
for name in string.gmatch([[href src action formaction data poster background cite ping manifest
  xlink:href srcset imagesrcset]], "[%a:]+") do kinds[name] = ADDRESS end
-- Attributes whose values "true" and "false" are words, not presence.
for name in string.gmatch("contenteditable draggable spellcheck translate writingsuggestions", "%a+") do
  kinds[name] = WORD
end

-- A reference as a value of these is an address; of others, what it refers to.
local keepsAddress = { href = true, src = true, action = true, formaction = true }
-- Events whose blocks run on the server (live/event.lua).
local events = {}
for name in string.gmatch("click dblclick input change submit keydown keyup focus blur drop dragstart upload", "%a+") do
  events[name] = true
end

-- How an attribute is written, by the key it was given with; at most MOST of them are remembered.
local MOST = 1000
local known, count = {}, 0

local function learn(key)
  local name = gsub(str(key), "_", "-")
  if not find(name, "^[%a:@][%w:.@-]*$") then
    throw("invalid", "`" .. name .. "` is no name of an attribute")
  end
  local folded = lower(name)
  local kind = kinds[folded] or PLAIN
  if kind == PLAIN then
    if find(folded, "^aria%-") then kind = WORD end
    if find(folded, "^on%a+$") then kind = CODE end
  end
  local entry = { kind, name, " " .. name .. '="', " " .. name, keepsAddress[folded] or false, events[folded] or false }
  if count < MOST then
    count = count + 1
    known[key] = entry
  end
  return entry
end

-- Browsers ignore spaces and control characters around and inside the scheme.
local pictures = { png = true, gif = true, jpeg = true, webp = true, avif = true }
local function isDangerous(address)
  local start = lower(gsub(string.sub(address, 1, 200), "[%c%s]", ""))
  if find(start, "^javascript:") or find(start, "^vbscript:") then return true end
  if not find(start, "^data:") then return false end
  return not pictures[match(start, "^data:image/(%a+)") or ""]
end

-- Animations separate their values by `;`.
local function anyDangerous(values)
  for value in string.gmatch(values, "[^;]+") do
    if isDangerous(value) then return true end
  end
  return false
end

local function isRaw(value) return type(value) == "table" and not K.isClass(value) and value._isRaw end
local function isDictionary(value)
  return type(value) == "table" and not K.isClass(value) and value._isDictionary
end
local function isList(value) return type(value) == "table" and not K.isClass(value) and value._isArray end
local function isNothing(value) return value == nil or value == NULL or value == false or value == "" end

-- The words of a list, or the keys of a dictionary whose values are true; nil when there are none.
local function words(value, separator)
  local list = {}
  if isDictionary(value) then
    value:keysAndValuesDo_(function(key, wanted)
      if not isNothing(wanted) and wanted ~= 0 then list[#list + 1] = str(key) end
    end)
  elseif isList(value) then
    for i = 1, #value do
      if not isNothing(value[i]) then list[#list + 1] = words(value[i], separator) end
    end
  else
    return str(value)
  end
  if #list == 0 then return nil end
  return table.concat(list, separator)
end

-- A value within a style: it must not end a declaration, nor begin another.
function K.styleValue(value)
  local text = str(value)
  if find(text, "[;{}<>\\]") or find(lower(text), "url%s*%(") or find(lower(text), "expression%s*%(") then
    throw("invalid", "a value in a style must be a plain word or number, not " .. K.repr(value),
      { i_hint = "mark it as `#Raw[ … ]` where more is meant" })
  end
  return text
end

-- A value in a style is a word of it: it must not end a rule, nor begin another.
function K.styleWord(buffer, value)
  if value == nil or value == NULL or value == false then return end
  if type(value) == "table" and not K.isClass(value) and value._isRaw then
    if find(string.lower(value._text), "</style", 1, true) then
      throw("invalid", "the text of a style must not contain `</style`")
    end
    return put(buffer, K.refuseFilled(value, "a style"))
  end
  put(buffer, K.styleValue(value))
end

local function declarations(value)
  if not isDictionary(value) then return words(value, "; ") end
  local list = {}
  value:keysAndValuesDo_(function(key, inner)
    if isNothing(inner) then return end
    local name = gsub(str(key), "_", "-")
    if not find(name, "^%-?%-?[%a][%w-]*$") then throw("invalid", "`" .. name .. "` is no property of a style") end
    list[#list + 1] = name .. ": " .. (isRaw(inner) and K.refuseFilled(inner, "a style") or K.styleValue(inner))
  end)
  if #list == 0 then return nil end
  return table.concat(list, "; ")
end

-- What is written between the quotes: a text, true for the name alone, nil for nothing.
local function textOf(entry, value)
  local kind, name = entry[1], entry[2]
  if value == nil or value == NULL then return nil end
  if value == false and kind ~= WORD then return nil end
  if value == true and kind ~= WORD then
    if kind == CODE then throw("invalid", "`" .. name .. "` needs code, not true") end
    return true
  end
  if isRaw(value) then
    return kind == PLAIN and value._text or K.refuseFilled(value, "the value of `" .. name .. "`"), true
  end
  if kind == CODE then
    throw("invalid", "`" .. name .. "` would run a text as code",
      { i_hint = "write `#Raw[ … ]` where that is meant" })
  end
  local text
  if kind == STYLE then
    text = declarations(value)
  elseif kind == ADDRESS and type(value) == "table" and not K.isClass(value) and value._isReference then
    text = K.webAddress(value)
  else
    text = words(value, " ")
  end
  if text ~= nil and (kind == ADDRESS and isDangerous(text) or kind == ANIMATED and anyDangerous(text)) then
    throw("invalid", "`" .. name .. "` must not be an address that runs code",
      { i_hint = "write `#Raw[ … ]` where that is meant" })
  end
  return text
end
K.attributeText = textOf

local attribute

-- Writes a value that is known, and escapes it.
local function plainly(buffer, entry, value)
  local text, isMarkup = textOf(entry, value)
  if text == nil then return end
  if text == true then return put(buffer, entry[4]) end
  put(buffer, entry[3])
  if isMarkup then put(buffer, (gsub(text, '"', "&quot;"))) else putEscaped(buffer, text) end
  put(buffer, '"')
end
K.plainAttribute = plainly

-- Blocks and references are written at the end of the tag (live/attribute.lua).
local function isLive(entry, value)
  if type(value) == "function" then return true end
  if type(value) ~= "table" or K.isClass(value) then return false end
  return value._isReference and not entry[5]
end

local function slow(buffer, entry, value)
  if isLive(entry, value) then
    local pending = buffer.pending
    if not pending then
      pending = {}
      buffer.pending = pending
    end
    pending[#pending + 1] = { entry = entry, value = value }
    return
  end
  local kind, name = entry[1], entry[2]
  if isDictionary(value) and kind ~= CLASS and kind ~= STYLE and kind ~= CODE then
    -- `data: #{ user: 1 }` is `data-user="1"`.
    value:keysAndValuesDo_(function(key, inner) attribute(buffer, name .. "-" .. str(key), inner) end)
    return
  end
  plainly(buffer, entry, value)
end

function K.attributeEntry(key) return known[key] or learn(key) end

-- Writes an attribute of HTML.
function attribute(buffer, key, value)
  local entry = known[key] or learn(key)
  if type(value) == "string" and entry[1] == PLAIN then
    put(buffer, entry[3])
    putEscaped(buffer, value)
    put(buffer, '"')
  else
    slow(buffer, entry, value)
  end
end
K.attribute = attribute

-- Writes an attribute of XML: nil leaves it out, everything else is text.
function K.xmlAttribute(buffer, key, value)
  if value == nil or value == NULL then return end
  local entry = known[key] or learn(key)
  local text = isRaw(value) and gsub(value._text, '"', "&quot;") or escape(words(value, " ") or "")
  put(buffer, entry[3])
  put(buffer, text)
  put(buffer, '"')
end

-- Elements whose name is a value ------------------------------------------------------------------

local void = {}
for tag in string.gmatch("area base br col embed hr img input link meta source track wbr", "%a+") do
  void[tag] = true
end

-- `Element tag: 'media:thumbnail' attributes: #{ url: u } children: [ … ]`, and for documents of XML
-- `Element xml: … attributes: … children: …`.
local function named(isXml)
  return function(_, tag, attributes, children)
    tag = str(tag)
    if not find(tag, "^%a[%w:._-]*$") then throw("invalid", "`" .. tag .. "` is no name of an element") end
    local folded = lower(tag)
    if not isXml and (folded == "script" or folded == "style") then
      throw("invalid", "a script or a style is written as a literal: `#" .. folded .. "[ … ]`")
    end
    local buffer = K.openMarkup()
    put(buffer, "<" .. tag)
    if isDictionary(attributes) then
      local write = isXml and K.xmlAttribute or attribute
      attributes:keysAndValuesDo_(function(key, value) write(buffer, key, value) end)
    end
    if not isXml then K.live.endAttributes(buffer) end
    put(buffer, ">")
    if not isXml and void[folded] then
      if children ~= nil and not (isList(children) and #children == 0) then
        throw("invalid", "`" .. tag .. "` has no content")
      end
      return K.closeMarkup(buffer)
    end
    K.child(buffer, children)
    put(buffer, "</" .. tag .. ">")
    return K.closeMarkup(buffer)
  end
end
K.classMethods(K.classes.Element, {
  --- +<Element> tag:<any>name attributes:<Dictionary?>attributes children:<any>children
  --- An element of HTML whose name is a value. Attributes and children are escaped as those of a literal. A `script`, a
  --- `style` and a name that is none are errors.
  --- > (Element tag: 'h2' attributes: #{ id: 'a' } children: [ 'News' ]) stringValue ⇒ '<h2 id="a">News</h2>'
  ["tag:attributes:children:"] = named(false),
  --- +<Element> xml:<any>name attributes:<Dictionary?>attributes children:<any>children
  --- An element of XML whose name is a value: attributes are text, and every element has an end tag.
  --- > (Element xml: 'm:link' attributes: #{ url: 'a' } children: []) stringValue ⇒ '<m:link url="a"></m:link>'
  ["xml:attributes:children:"] = named(true),
})

-- `#Card[ … ]`: a class with a variable `children` is a component.
local plain = K.classes.Object._meta.fromArray_
K.classMethods(K.classes.Object, {
  --- As in Object.
  ["fromArray:"] = function(class, list)
    for _, name in ipairs(class._ivars or {}) do
      if name == "children" then return K.object(class, { "children" }, { list }, 1) end
    end
    return plain(class, list)
  end,
})
