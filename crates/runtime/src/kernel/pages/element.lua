-- Elements: pages written as code. `#div{ class: 'x' }[ 'text', #br[] ]`.
--
-- The compiler turns a literal into calls that write into a buffer: constant markup as it is
-- (`put`), values escaped where they stand (`child`, `attribute`; HTML Living Standard, sections
-- 13.1.2 and 13.3). A literal that is closed is an Element, which holds its markup:
--   `_html`   the text, complete unless there are
--   `_marks`  { place, writer, … }: blocks that are run whenever it is written
--   `_write`  instead of both: a page that is written when it is wanted
--   `_media`  its media type, for a document of XML; `_whole` when its declaration is in the text
local K = ...
local type, rawget, rawset, setmetatable, rawequal = type, rawget, rawset, setmetatable, rawequal
local find, gsub, sub = string.find, string.gsub, string.sub
local throw, live = K.throw, K.live
local NULL = K.NULL

--- Markup: HTML or XML, written as code: `#div{ class: 'note' }[ text, #br[] ]`. Values in it are escaped.
local Element = K.newClass("Element", K.classes.Object)
for _, key in ipairs { "_html", "_marks", "_write", "_media", "_whole", "_text", "_itemKey", "_filled" } do
  K.nilKeys[key] = true
end
rawset(Element._methods, "_kind", K.kinds.element)
local methods = Element._methods
--- Markup that is not escaped: `#Raw[ '<b>x</b>' ]`. It is written there; each `{x}` in it is escaped, and computed markup
--- needs `#Raw{ computed: text }`.
local Raw = K.newClass("Raw", K.classes.Object)
K.alias("RawText", Raw)
K.method(K.classes.Object, "_isRaw", false)
K.classMethod(K.classes.Object, "_isRaw", false)
K.nilKeys._isRaw = true
K.method(Raw, "_isRaw", true)

local put, putEscaped, putNumber, escape = K.put, K.putEscaped, K.putNumber, K.escapeHTML
local open, finished, lengthOf = K.openMarkup, K.finished, K.markupLength

local function close(buffer, media)
  local marks, key = buffer.marks or nil, buffer.itemKey
  return setmetatable({ _html = finished(buffer), _marks = marks, _media = media, _itemKey = key }, methods)
end
K.closeMarkup = close

-- A literal without values.
function K.markup(text, media) return setmetatable({ _html = text, _media = media }, methods) end

-- A page that is written when it is wanted.
function K.page(write, media) return setmetatable({ _write = write, _media = media }, methods) end

-- A block among the children is run whenever the element is written: at once while it is sent.
local function runLater(buffer, write)
  if buffer.live then return write(buffer) end
  local marks = buffer.marks
  if not marks then
    marks = {}
    buffer.marks = marks
  end
  local n = #marks
  marks[n + 1], marks[n + 2] = lengthOf(buffer), write
end
K.laterMarkup = runLater

-- Writes what a `_write` holds, once: showing the element again gives the same text.
local function settle(element)
  local write = rawget(element, "_write")
  if not write then return end
  local buffer = open()
  write(buffer)
  element._marks = buffer.marks or nil
  element._html = finished(buffer)
  element._write = nil
end

local function append(buffer, element)
  local write = rawget(element, "_write")
  if write then
    if buffer.live then return write(buffer) end
    settle(element)
  end
  local text, marks = element._html, rawget(element, "_marks")
  if buffer.itemKey == nil then buffer.itemKey = rawget(element, "_itemKey") end
  if rawget(element, "_whole") then text = gsub(text, "^<%?xml.-%?>", "") end
  if not marks then
    put(buffer, text)
    return
  end
  local from = 1
  for i = 1, #marks, 2 do
    put(buffer, sub(text, from, marks[i]))
    from = marks[i] + 1
    runLater(buffer, marks[i + 1])
  end
  put(buffer, sub(text, from))
end

K.appendMarkup = append

-- Children --------------------------------------------------------------------------------------

local childOfTable

-- Apart from its caller: LuaJIT's tracer does not compile functions that make closures.
local function runBlock(buffer, block)
  return live.block(buffer, function(target) K.child(target, block()) end)
end

local function child(buffer, value)
  local kind = type(value)
  if kind == "string" then
    putEscaped(buffer, value)
  elseif kind == "number" then
    putNumber(buffer, value)
  elseif kind == "table" then
    return childOfTable(buffer, value)
  elseif kind == "function" then
    return runBlock(buffer, value)
  elseif kind ~= "nil" and kind ~= "boolean" then
    put(buffer, escape(K.str(value)))
  end
end
K.child = child

function childOfTable(buffer, value)
  if value == NULL then return end
  if K.isClass(value) then return put(buffer, escape(K.str(value))) end
  if value._kind == K.kinds.element then return append(buffer, value) end
  if value._isRaw then return put(buffer, value._text) end
  if value._isReference then return live.child(buffer, value) end
  if K.understands(value, "asHtml") then
    local shown = value:asHtml()
    if rawequal(shown, value) then shown = K.str(value) end
    return child(buffer, shown)
  end
  if value._isText then return put(buffer, escape(value:_string())) end
  if value._isArray then
    for i = 1, #value do child(buffer, value[i]) end
  elseif value._isCollection or K.understands(value, "do_") then
    K.eachChild(buffer, value)
  else
    put(buffer, escape(K.str(value)))
  end
end

function K.eachChild(buffer, collection)
  collection:do_(function(one) child(buffer, one) end)
end

-- `list collect: { … }` as a child: the elements of what is plainly a list, or nil.
local EMPTY = {}
local collectOfArray, collectOfInterval, plain
local function same(value) return value end

local function prepare()
  collectOfArray = K.classes.Array._methods.collect_
  collectOfInterval = K.classes.Interval._methods.collect_
  plain = {}
  for _, name in ipairs { "Collection", "Dictionary", "Set", "Enumerator", "Rows" } do
    local class = K.classes[name]
    if class then plain[class._methods.collect_] = true end
  end
end

function K.markupItems(list)
  if list == nil then return EMPTY, 0 end
  if type(list) ~= "table" or K.isClass(list) then return nil end
  if not plain then prepare() end
  local collect = list.collect_
  if collect == collectOfArray and list._isArray then return list, #list end
  if collect == collectOfInterval and list._isInterval then return list:_elements(), list._count end
  if plain[collect] then
    local items = list:collect_(same)
    if type(items) == "table" and items._isArray then return items, #items end
  end
  return nil
end

function K.item(list, i)
  local value = list[i]
  if rawequal(value, NULL) then return nil end
  return value
end

-- The same for others: what they collect themselves is written.
function K.collectMarkup(buffer, list, write)
  if type(list) == "table" and not K.isClass(list) and list._isLiveSource then
    return live.items(buffer, list, write)
  end
  child(buffer, list:collect_(function(value)
    local inner = open()
    write(inner, value)
    return close(inner)
  end))
end

-- Scripts and styles -------------------------------------------------------------------------------

-- In JSON within a script these cannot end the script or begin a comment.
local inScript = { ["<"] = "\\u003c", [">"] = "\\u003e", ["&"] = "\\u0026" }

-- A value in a script is data: JSON.
function K.scriptData(buffer, value)
  if type(value) == "table" and not K.isClass(value) and value._isRaw then
    if find(string.lower(value._text), "</script", 1, true) then
      throw("invalid", "the code of a script must not contain `</script`")
    end
    return put(buffer, K.refuseFilled(value, "a script"))
  end
  if type(value) == "table" and value._kind == K.kinds.element then
    throw("invalid", "an element cannot stand in a script")
  end
  put(buffer, (gsub(K.json(value), "[<>&]", inScript)))
end

-- Whole ------------------------------------------------------------------------------------------

local DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'

-- The text of an element.
local function html(element)
  settle(element)
  local text = element._html
  if rawget(element, "_marks") then
    local buffer = open()
    buffer.live = true
    append(buffer, element)
    buffer.live = false
    text = finished(buffer)
  end
  if rawget(element, "_media") and not rawget(element, "_whole") then return DECLARATION .. text end
  return text
end
K.html = html

-- A page for a client: the buffer lies in `K.sending` while it is written, for Rust to send what is
-- there when writing waits. What the compiler makes of a `get` begins and ends such a page itself.
K.sending = {}
local sending = K.sending
local function beginPage(media)
  local buffer = open()
  buffer.live = true
  sending[1], sending[2] = buffer, media
  if media then put(buffer, DECLARATION) else buffer.page = true end
  return buffer
end
K.beginPage = beginPage

-- The page, without what was sent of it.
local function endPage(buffer, media)
  sending[1] = nil
  if not media then
    if buffer.page ~= true then live.endPage(buffer) end
    return K.handOver(buffer)
  end
  return setmetatable({ _html = finished(buffer), _media = media, _whole = true }, methods)
end
K.endPage = endPage

-- What a client gets of the value of a `get`; true beside what is a complete page.
function K.sendPage(element)
  local media = rawget(element, "_media")
  if rawget(element, "_write") or rawget(element, "_marks") then
    local buffer = beginPage(media)
    append(buffer, element)
    return endPage(buffer, media), not media
  end
  if not media then return element._html, true end
  if rawget(element, "_whole") then return element end
  return setmetatable({ _html = html(element), _media = media, _whole = true }, methods)
end

-- Messages ----------------------------------------------------------------------------------------

K.methods(Element, {
  --- -<String> stringValue
  --- -<String> description
  --- The markup as text, with the present values of references and blocks; a document of XML begins with its
  --- declaration.
  --- > #p{ class: 'note' }[ 'a < b' ] stringValue ⇒ '<p class="note">a &lt; b</p>'
  ["stringValue"] = html,
  ["description"] = html,
})
--- -<Element> asHTML
--- The element with the present values of references and blocks, which it no longer follows.
--- > #b[ 'x' ] asHTML stringValue ⇒ '<b>x</b>'
K.method(Element, "asHTML", function(self)
  return setmetatable({ _html = html(self), _media = rawget(self, "_media"), _whole = rawget(self, "_media") ~= nil }, methods)
end)

-- The markup of anything, as it would stand between tags.
K.methods(K.classes.Object, {
  --- -<Element> asHTML
  --- The value as it stands between tags: text is escaped, elements and widgets are their markup.
  --- > 'a < b' asHTML stringValue ⇒ 'a &lt; b'
  ["asHTML"] = function(self)
    local buffer = open()
    buffer.live = true
    child(buffer, self)
    buffer.live = false
    return K.markup(finished(buffer))
  end,
  --- -<Raw> raw:<any>text
  --- Markup that is written there, as `#Raw[ … ]`.
  --- > { :page | #p[ (page raw: '<b>x</b>') ] }
  ["raw:"] = function(_, text, code) return Raw:text_(text, code) end,
})

function K.rawText(text) return setmetatable({ _text = text }, Raw._methods) end

-- `#Raw[ … ]`. Its values are escaped as children are; elements stay what they are.
function K.rawOf(filled)
  local parts = {}
  for i = 1, filled.n do
    if i % 2 == 1 then
      parts[i] = filled[i]
    else
      local place = K.openMarkupPlace(table.concat(parts))
      if place then
        throw("invalid", "`#Raw[ ]`: a `{x}` within " .. place .. " cannot be escaped",
          { i_hint = "write the element as a literal: `#a{ href: x }[ … ]`; computed markup: `#Raw{ computed: text }`" })
      end
      local buffer = open()
      buffer.live = true
      child(buffer, filled[i])
      buffer.live = false
      parts[i] = finished(buffer)
    end
  end
  local raw = K.rawText(table.concat(parts))
  if filled.n > 1 then raw._filled = true end
  return raw
end

local function joined(class, list)
  local parts = {}
  for i = 1, #list do
    if list[i] ~= NULL then parts[#parts + 1] = K.str(list[i]) end
  end
  return setmetatable({ _text = table.concat(parts) }, class._methods)
end
K.classMethods(Raw, {
  --- +<self> text:<any>text
  --- The text that is written there as markup that is not escaped; each `{x}` in it is.
  --- > #p[ (Raw text: '<b>x</b>') ] stringValue ⇒ '<p><b>x</b></p>'
  ["text:"] = function(_, text, code)
    local filled = K.writtenText(text, code, "text:", "markup", "escaped")
    if type(filled) == "string" then return K.rawText(filled) end
    return K.rawOf(filled)
  end,
  --- +<self> computed:<any>text
  --- Markup that the program has made, as it is. Text of others must never be in it.
  --- > #p[ (Raw computed: '<b>', 'x</b>') ] stringValue ⇒ '<p><b>x</b></p>'
  ["computed:"] = function(_, text) return K.rawText(K.str(text)) end,
  --- +<self> fromArray:<Array>parts
  --- An error: `#Raw[ … ]` takes markup written there, and `#Raw{ computed: text }` any text.
  --- > { Raw fromArray: [ '<b>' ] } onError: { :e | e kind } ⇒ 'typeError'
  ["fromArray:"] = function(_, list) return K.writtenText(list, nil, "#Raw[ ]", "markup", "escaped") end,
})
local function rawText(self) return self._text end
K.methods(Raw, {
  --- -<nothing> setComputed:<any>text
  --- Sets markup that the program has made: `#Raw{ computed: text }`.
  --- > #p[ #Raw{ computed: '<b>x</b>' } ] stringValue ⇒ '<p><b>x</b></p>'
  ["setComputed:"] = function(self, text) self._text = K.str(text) end,
  --- -<String> stringValue
  --- -<String> description
  --- The markup as text.
  --- > #Raw[ '<b>x</b>' ] stringValue ⇒ '<b>x</b>'
  ["stringValue"] = rawText,
  ["description"] = rawText,
})

--- A comment in a page: `#Comment[ 'text' ]`. It cannot be ended by its text: `--` becomes `-`, and `<` and `>` are
--- left out.
local Comment = K.newClass("Comment", K.classes.Object)
K.classMethods(Comment, {
  --- +<self> fromArray:<Array>parts
  --- A comment with the parts, joined: `#Comment[ … ]` sends it.
  --- > #Comment[ 'a -- b' ] stringValue ⇒ '<!-- a - b -->'
  ["fromArray:"] = function(class, list)
    local comment = joined(class, list)
    comment._text = "<!-- " .. gsub(gsub(comment._text, "[<>]", ""), "%-%-+", "-") .. " -->"
    return comment
  end,
})
K.method(Comment, "_isRaw", true)
K.methods(Comment, {
  --- -<String> stringValue
  --- -<String> description
  --- The comment as markup.
  --- > #Comment[ 'draft' ] stringValue ⇒ '<!-- draft -->'
  ["stringValue"] = rawText,
  ["description"] = rawText,
})

-- Components ---------------------------------------------------------------------------------------

-- `#Card{ title: 'x' }[ … ]`: an object whose `children` are what stands in the brackets.
function K.objectWithChildren(class, keys, values, n, children, m)
  if not K.isClass(class) then
    throw("typeError", "a literal #Class{…}[…] needs a class, not " .. K.nameOf(class))
  end
  local given, list, filled = {}, {}, 0
  for i = 1, n do
    -- A slot that is nil is an empty one.
    if values[i] ~= nil then
      filled = filled + 1
      given[filled], list[filled] = keys[i], values[i]
    end
  end
  given[filled + 1], list[filled + 1] = "children", K.array(children, m)
  return K.object(class, given, list, filled + 1)
end
