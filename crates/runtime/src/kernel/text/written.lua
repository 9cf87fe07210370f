-- Text that becomes code: SQL, commands of the shell, markup. A value that is joined to code is code as well,
-- its sender, so what makes code of a text takes only text that the program has written. The compiler
-- vouches for it with one more argument (crates/compile/src/expressions/written.rs): `K.written` for a literal,
-- the pieces of `"… {x} …"` otherwise. `computed:` is the one way around.
local K = ...
local type, setmetatable, getmetatable, table = type, setmetatable, getmetatable, table
local find, gsub, sub = string.find, string.gsub, string.sub
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
  -- `"…"` without a value is a text as `'…'` is: its parameters may stand in `with:`.
  if filled.n == 1 then return filled[1] end
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
