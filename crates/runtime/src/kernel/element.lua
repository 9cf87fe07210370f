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
local throw, numberText = K.throw, K.numberText
local NULL = K.NULL

local Element = K.newClass("Element", K.classes.Object)
for _, key in ipairs { "_html", "_marks", "_write", "_media", "_whole", "_text" } do
  K.nilKeys[key] = true
end
rawset(Element._methods, "_kind", K.kinds.element)
local methods = Element._methods
-- Markup that is safe as it is: `#Raw[ '<b>x</b>' ]`, the only way around escaping.
local Raw = K.newClass("Raw", K.classes.Object)
K.alias("RawText", Raw)
K.method(K.classes.Object, "_isRaw", false)
K.classMethod(K.classes.Object, "_isRaw", false)
K.nilKeys._isRaw = true
K.method(Raw, "_isRaw", true)

-- Text ------------------------------------------------------------------------------------------

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }
local function escape(text)
  if not find(text, "[&<>\"']") then return text end
  return (gsub(text, "[&<>\"']", escapes))
end
K.escapeHTML = escape

-- Looking a text up costs less than looking through it: what was escaped lately is remembered, in
-- two generations of at most MOST texts of at most LONGEST bytes each.
local MOST, LONGEST = 4096, 200
local young, old, count = {}, {}, 0
local function escaped(text)
  local out = old[text] or escape(text)
  if #text <= LONGEST then
    if count >= MOST then old, young, count = young, {}, 0 end
    count = count + 1
    young[text] = out
  end
  return out
end

-- The texts of small numbers.
local digits = {}
for number = 0, 1023 do digits[number] = numberText(number) end

-- Buffers ---------------------------------------------------------------------------------------

local newBuffer = require("string.buffer").new
local sample = newBuffer()
local put, reset, textOf, take = sample.put, sample.reset, sample.tostring, sample.get
K.put = put

-- Buffers at rest, and the largest that is kept: it holds on to its memory.
local POOL, KEPT = 32, 65536
local pool, free = {}, 0
-- What is run when the markup is written, by buffer; buffers whose markup is being sent.
local later = setmetatable({}, { __mode = "k" })
local live = setmetatable({}, { __mode = "k" })

local function open()
  if free == 0 then return newBuffer() end
  local buffer = pool[free]
  pool[free] = nil
  free = free - 1
  return buffer
end

local function finished(buffer)
  local text = textOf(buffer)
  if free < POOL and #text <= KEPT then
    reset(buffer)
    free = free + 1
    pool[free] = buffer
  end
  return text
end

local function closeWithMarks(buffer, media)
  local marks = later[buffer]
  later[buffer] = nil
  return setmetatable({ _html = finished(buffer), _marks = marks, _media = media }, methods)
end

local function close(buffer, media)
  if later[buffer] then return closeWithMarks(buffer, media) end
  return setmetatable({ _html = finished(buffer), _media = media }, methods)
end

K.openMarkup, K.closeMarkup = open, close

-- A literal without values.
function K.markup(text, media) return setmetatable({ _html = text, _media = media }, methods) end

-- A page that is written when it is wanted.
function K.page(write, media) return setmetatable({ _write = write, _media = media }, methods) end

-- A block among the children is run whenever the element is written: at once while it is sent.
local function runLater(buffer, write)
  if live[buffer] then return write(buffer) end
  local marks = later[buffer]
  if not marks then
    marks = {}
    later[buffer] = marks
  end
  local n = #marks
  marks[n + 1], marks[n + 2] = #buffer, write
end
K.laterMarkup = runLater

-- Writes what a `_write` holds, once: whoever shows the element again gets the same.
local function settle(element)
  local write = rawget(element, "_write")
  if not write then return end
  local buffer = open()
  write(buffer)
  element._marks = later[buffer]
  later[buffer] = nil
  element._html = finished(buffer)
  element._write = nil
end

local function append(buffer, element)
  local write = rawget(element, "_write")
  if write then
    if live[buffer] then return write(buffer) end
    settle(element)
  end
  local text, marks = element._html, rawget(element, "_marks")
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

-- Children --------------------------------------------------------------------------------------

local childOfTable

-- In a function of its own: one that makes closures is not compiled by LuaJIT's tracer.
local function runBlock(buffer, block)
  return runLater(buffer, function(target) K.child(target, block()) end)
end

local function child(buffer, value)
  local kind = type(value)
  if kind == "string" then
    put(buffer, young[value] or escaped(value))
  elseif kind == "number" then
    put(buffer, digits[value] or numberText(value))
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
  if value == NULL then return nil end
  return value
end

-- The same for others: what they collect themselves is written.
function K.collectMarkup(buffer, list, write)
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
    return put(buffer, value._text)
  end
  if type(value) == "table" and value._kind == K.kinds.element then
    throw("invalid", "an element cannot stand in a script")
  end
  put(buffer, (gsub(K.json(value), "[<>&]", inScript)))
end

-- A value in a style is a word of it: it must not end a rule, nor begin another.
function K.styleWord(buffer, value)
  if value == nil or value == NULL or value == false then return end
  if type(value) == "table" and not K.isClass(value) and value._isRaw then
    if find(string.lower(value._text), "</style", 1, true) then
      throw("invalid", "the text of a style must not contain `</style`")
    end
    return put(buffer, value._text)
  end
  put(buffer, K.styleValue(value))
end

-- Whole ------------------------------------------------------------------------------------------

local DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'

-- The text of an element.
local function html(element)
  settle(element)
  local text = element._html
  if rawget(element, "_marks") then
    local buffer = open()
    live[buffer] = true
    append(buffer, element)
    live[buffer] = nil
    text = finished(buffer)
  end
  if rawget(element, "_media") and not rawget(element, "_whole") then return DECLARATION .. text end
  return text
end
K.html = html

-- A page for a client: the buffer lies in `K.sending` while it is written, for Rust to send what is
-- there when writing waits. Answers an element of what was not sent.
K.sending = {}
local sending = K.sending
function K.sendPage(element)
  local media = rawget(element, "_media")
  if not rawget(element, "_write") and not rawget(element, "_marks") then
    if not media or rawget(element, "_whole") then return element end
    return setmetatable({ _html = html(element), _media = media, _whole = true }, methods)
  end
  local buffer = open()
  live[buffer] = true
  sending[1], sending[2] = buffer, media
  if media then put(buffer, DECLARATION) end
  append(buffer, element)
  sending[1] = nil
  live[buffer] = nil
  return setmetatable({ _html = finished(buffer), _media = media, _whole = true }, methods)
end

-- For Rust: what the buffer holds, which is empty then.
function K.takeMarkup(buffer) return take(buffer) end

-- Messages ----------------------------------------------------------------------------------------

K.methods(Element, { ["stringValue"] = html, ["description"] = html, ["asHTML"] = html })

-- The markup of anything, as it would stand between tags.
K.methods(K.classes.Object, {
  ["asHTML"] = function(self)
    local buffer = open()
    live[buffer] = true
    child(buffer, self)
    live[buffer] = nil
    return finished(buffer)
  end,
  -- `self raw: '<b>x</b>'`: markup that is already safe.
  ["raw:"] = function(_, text) return Raw:text_(text) end,
})

local function joined(class, list)
  local parts = {}
  for i = 1, #list do
    if list[i] ~= NULL then parts[#parts + 1] = K.str(list[i]) end
  end
  return setmetatable({ _text = table.concat(parts) }, class._methods)
end
K.classMethods(Raw, {
  ["text:"] = function(class, text) return setmetatable({ _text = K.str(text) }, class._methods) end,
  ["fromArray:"] = joined,
})
local function rawText(self) return self._text end
K.methods(Raw, { ["stringValue"] = rawText, ["description"] = rawText, ["asHTML"] = rawText })

-- `#Comment[ 'text' ]`: `--` cannot stand in a comment (section 13.1.6).
local Comment = K.newClass("Comment", K.classes.Object)
K.classMethods(Comment, { ["fromArray:"] = function(class, list)
  local comment = joined(class, list)
  comment._text = "<!-- " .. gsub(gsub(comment._text, "[<>]", ""), "%-%-+", "-") .. " -->"
  return comment
end })
K.method(Comment, "_isRaw", true)
K.methods(Comment, { ["stringValue"] = rawText, ["description"] = rawText, ["asHTML"] = rawText })

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
