-- Text that becomes code: SQL, commands of the shell, markup. A value that is joined to code is code as well,
-- whoever sent it, so what makes code of a text takes only text that the program has written. The compiler
-- vouches for it with one more argument (crates/compile/src/expressions/written.rs): `K.written` for a literal,
-- the pieces of `"… {x} …"` otherwise. `computed:` is the one way around.
local K = ...
local type, setmetatable, getmetatable, table = type, setmetatable, getmetatable, table
local find, gsub, lower, match, sub = string.find, string.gsub, string.lower, string.match, string.sub
local throw = K.throw

K.written = {}

-- Texts at odd places, values at even ones: `n` of both.
local Filled = {}
function K.filled(n, ...) return setmetatable({ n = n, ... }, Filled) end

local function joined(filled)
  local parts = {}
  for i = 1, filled.n do parts[i] = K.str(filled[i]) end
  return table.concat(parts)
end

-- A message with `"… {x} …"`: receivers that make no code of it see the joined text.
function K.sendFilled(receiver, name, filled, count, second, third)
  local text = joined(filled)
  if count == 0 then return receiver[name](receiver, text, filled) end
  if count == 1 then return receiver[name](receiver, text, second, filled) end
  return receiver[name](receiver, text, second, third, filled)
end

-- The text, or its pieces and values. Computed text is an error.
function K.writtenText(text, code, selector, what, done)
  if code == K.written then return K.expectText(text, selector) end
  if getmetatable(code) == Filled then return code end
  throw("typeError", "`" .. selector .. "` takes text written here; its `{x}` are " .. done,
    { i_hint = "computed " .. what .. ": `computed: text`" })
end

-- SQL ---------------------------------------------------------------------------------------------

-- The quote that is open behind a piece of SQL. Values are bound, so a wrong guess harms nothing.
local function openQuote(text, quote)
  local i = 1
  while i <= #text do
    local char = sub(text, i, i)
    if quote then
      if char == quote then quote = nil end
    elseif char == "'" or char == '"' then
      quote = char
    elseif sub(text, i, i + 1) == "--" then
      i = find(text, "\n", i, true) or #text
    end
    i = i + 1
  end
  return quote
end

-- A statement whose `{x}` are parameters, and their values.
function K.sqlOf(text, code, selector)
  local filled = K.writtenText(text, code, selector, "SQL", "bound")
  if type(filled) == "string" then return filled end
  local parts, values, quote = {}, {}, nil
  for i = 1, filled.n do
    if i % 2 == 1 then
      parts[i] = filled[i]
      quote = openQuote(filled[i], quote)
    else
      if quote then
        throw("invalid", "`" .. selector .. "`: a `{x}` within " .. quote .. " … " .. quote .. " of SQL is not a value",
          { i_hint = "leave out the quotes: `where title = {x}`; a name or a piece of SQL needs `computed: text`" })
      end
      local value = filled[i]
      if value == nil then value = K.NULL end
      values[i / 2] = value
      parts[i] = "$" .. i / 2
    end
  end
  return table.concat(parts), K.array(values, #values)
end

-- Shell -------------------------------------------------------------------------------------------

-- POSIX.1-2024, Shell Command Language, 2.2 (quoting), 2.3 (comments), 2.6 (expansions), 2.7.4 (here-documents).
-- `state.refused` names a place whose quoting does not nest plainly: a value there may always be one too many.
local function readWord(text, i, state)
  local char, two = sub(text, i, i), sub(text, i, i + 1)
  if char == "\\" then
    if i == #text then state.after = "a backslash" end
    return i + 2
  elseif char == "'" then
    state.place = "single"
  elseif char == '"' then
    state.place = "double"
  elseif char == "`" then
    state.refused = "` … `"
  elseif two == "<<" then
    state.refused = "a here-document"
  elseif two == "((" then
    state.refused = "(( … ))"
  elseif two == "$'" or two == '$"' then
    state.refused = two
  elseif char == "#" and (i == 1 and state.atStart or i > 1 and find(sub(text, i - 1, i - 1), "[%s;&|()]")) then
    state.place = "comment"
  end
  return i + 1
end

local function readDouble(text, i, state)
  local char, two = sub(text, i, i), sub(text, i, i + 1)
  if char == "\\" then
    if i == #text then state.after = "a backslash" end
    return i + 2
  elseif char == '"' then
    state.place = "word"
  elseif char == "`" or two == "$(" or two == "${" then
    state.refused = '" … ' .. (char == "`" and char or two)
  end
  return i + 1
end

local function readShell(text, state)
  local i = 1
  state.after = nil
  while i <= #text do
    if state.place == "word" then
      i = readWord(text, i, state)
    elseif state.place == "double" then
      i = readDouble(text, i, state)
    else
      local closing = state.place == "single" and "'" or "\n"
      i = find(text, closing, i, true)
      if not i then break end
      state.place = "word"
      i = i + 1
    end
  end
  if sub(text, -1) == "$" and state.place ~= "single" then state.after = "`$`" end
  if text ~= "" then state.atStart = false end
end

local function shellArgument(value, state)
  local text = K.str(value)
  local where = state.refused or state.place == "comment" and "a comment"
  if where or state.after then
    throw("invalid", "`run:`: a `{x}` " .. (where and "within or behind " .. where or "behind " .. state.after)
      .. " of a command cannot be quoted", { i_hint = "pass it as one argument: `sh:command/{x}`; computed commands: `computed: text`" })
  end
  if find(text, "\0", 1, true) then throw("invalid", "an argument of a command cannot contain the byte 0") end
  if state.place == "double" then return (gsub(text, '[\\"$`]', "\\%0")) end
  local quoted = gsub(text, "'", "'\\''")
  return state.place == "single" and quoted or "'" .. quoted .. "'"
end

-- A command whose `{x}` are quoted for their place: each is one argument, or a part of one.
function K.shellOf(text, code, selector)
  local filled = K.writtenText(text, code, selector, "command", "quoted, each as one argument")
  if type(filled) == "string" then return filled end
  local parts, state = {}, { place = "word", atStart = true }
  for i = 1, filled.n do
    if i % 2 == 1 then
      parts[i] = filled[i]
      readShell(filled[i], state)
    else
      parts[i] = shellArgument(filled[i], state)
      state.atStart = false
    end
  end
  return table.concat(parts)
end

-- Markup ------------------------------------------------------------------------------------------

-- Elements whose content is no text that can be escaped (HTML Living Standard, 13.1.2).
local code = {}
for name in string.gmatch("script style iframe xmp noembed noframes noscript plaintext", "%a+") do code[name] = true end

-- Where the place behind `<` at `i` ends, or nil with what it is.
local function behindTag(text, i)
  if sub(text, i, i + 3) == "<!--" then
    local _, to = find(text, "-->", i + 4, true)
    return to and to + 1, "a comment"
  end
  local quote
  for at = i + 1, #text do
    local char = sub(text, at, at)
    if quote then
      if char == quote then quote = nil end
    elseif char == '"' or char == "'" then
      quote = char
    elseif char == ">" then
      local name = lower(match(text, "^<(%a[^%s/>]*)", i) or "")
      if not code[name] then return at + 1 end
      local closing = find(lower(text), "</" .. name, at, true)
      return closing, "#" .. name
    end
  end
  return nil, "a tag"
end

-- What is open at the end of markup; nil between tags, where escaping is enough.
local function openPlace(text)
  local at = 1
  while true do
    local from = find(text, "<[%a/!?]", at) or find(text, "<$", at)
    if not from then return nil end
    local place
    at, place = behindTag(text, from)
    if not at then return place end
  end
end

-- `#Raw[ … ]`. Its values are escaped as children are; elements stay what they are.
function K.rawOf(filled)
  local parts = {}
  for i = 1, filled.n do
    if i % 2 == 1 then
      parts[i] = filled[i]
    else
      local place = openPlace(table.concat(parts))
      if place then
        throw("invalid", "`#Raw[ ]`: a `{x}` within " .. place .. " cannot be escaped",
          { i_hint = "write the element as a literal: `#a{ href: x }[ … ]`; computed markup: `#Raw{ computed: text }`" })
      end
      local buffer = K.openMarkup()
      buffer.live = true
      K.child(buffer, filled[i])
      buffer.live = false
      parts[i] = K.finished(buffer)
    end
  end
  local raw = K.rawText(table.concat(parts))
  if filled.n > 1 then raw._filled = true end
  return raw
end

-- Values are escaped for the place between tags: in code they would not be.
function K.refuseFilled(raw, place)
  if not raw._filled then return raw._text end
  throw("invalid", "a `#Raw[ ]` with `{x}` is markup, not " .. place,
    { i_hint = "keep the value in `data: #{ … }`, or write it in `#script[ \"… {x} …\" ]`, where it is JSON" })
end
