-- Looking at values: which messages they understand, what is in them. For the prompt, and for programs.
local K = ...
local type, rawget, format, concat = type, rawget, string.format, table.concat
local Object, Nil = K.classes.Object, K.classes.Nil

-- Variables or elements that are shown, and characters of each.
local SHOWN = 100
local LONGEST = 200
-- Elements of a collection inside the value that are written out.
local WRITTEN = 20
-- How deep they are: one level below the limit of printing.
local DEPTH = 39

-- A text, shortened to LONGEST characters.
local function cut(text)
  local short = K.slice(text, 0, LONGEST)
  return #short < #text and short .. "…" or text
end

-- The number of elements, nil for what is no collection in memory.
local function countOf(value)
  if type(value) == "table" and (value._isArray or value._isDictionary or value._isSet) then return value:count() end
  return nil
end

-- A value in one line of bounded length, also when it is huge.
local function shown(value)
  if type(value) == "string" then return K.repr(K.slice(value, 0, LONGEST)) .. (#value > LONGEST and "…" or "") end
  local count = countOf(value)
  if count and count > WRITTEN then
    return format("%s of %d elements", K.articleOf(K.classOf(value)._name), count)
  end
  local parts = {}
  K.writeText(parts, value, true, {}, DEPTH)
  return (string.gsub(cut(K.joinTexts(parts, #parts, "")), "\n", " "))
end

-- Variables whose values are not shown, in every class.
local SECRETS = { password = true, secret = true, token = true }

-- Whether no text shows the value of a variable or an option.
local function isSecret(class, name)
  if SECRETS[name] then return true end
  while class do
    if class._name == "S3Server" and name == "users" then return true end
    local definition = K.combinatorDefinitions[class._name] or rawget(class._methods, "_combines")
    if definition and definition.secret and definition.secret[name] then return true end
    class = class._super
  end
  return false
end

local function addVariables(lines, self)
  local class = K.classOf(self)
  -- The options of a combinator come from a table without an order; those that are not set say nothing.
  local names, isCombinator = class._ivars, class._methods._combines
  if isCombinator then
    names = {}
    for i, name in ipairs(class._ivars) do names[i] = name end
    table.sort(names)
  end
  for _, name in ipairs(names) do
    if #lines > SHOWN then lines[#lines + 1] = "  …" return end
    local value = self[K.ivarKey(name)]
    if value ~= nil and isSecret(class, name) then
      lines[#lines + 1] = "  " .. name .. ": …"
    elseif value ~= nil or not isCombinator then
      lines[#lines + 1] = "  " .. name .. ": " .. shown(value)
    end
  end
end

local function addElements(lines, self)
  local number = 0
  local function add(key, value)
    number = number + 1
    if number <= SHOWN then lines[#lines + 1] = "  " .. key .. ": " .. shown(value) end
  end
  if self._isDictionary then
    self:keysAndValuesDo_(function(key, value) add(cut(K.str(key)), value) end)
  else
    local list = self:_elements()
    for i = 1, math.min(#list, SHOWN + 1) do
      local value = list[i]
      if value == K.NULL then value = nil end
      add(i - 1, value)
    end
  end
  if number > SHOWN then lines[#lines + 1] = "  …" end
end

local function inspect(self)
  local count = countOf(self)
  local lines = { K.classOf(self)._name }
  if count then
    lines[1] = format("%s, %d %s", lines[1], count, count == 1 and "element" or "elements")
    addElements(lines, self)
  elseif type(self) == "table" and #K.classOf(self)._ivars > 0 then
    addVariables(lines, self)
  else
    lines[1] = lines[1] .. ": " .. shown(self)
  end
  return concat(lines, "\n")
end

local function methods(self) return K.array(K.selectorsOf(self, true)) end

K.methods(Object, {
  --- -<String> inspect
  --- A text for people: the class, and each variable or element on a line of its own. At most 100 of them are shown, with
  --- 200 characters each. Passwords, tokens and other secrets are not.
  --- > [ 'a', 3 ] inspect lines ⇒ ['Array, 2 elements', '  0: ''a''', '  1: 3']
  ["inspect"] = inspect,
  --- -<Array> methods
  --- The selectors that the value understands, in alphabetical order, without those that every object understands.
  --- > 'abc' methods includes: 'uppercase' ⇒ true
  ["methods"] = methods,
})
--- Nil -<String> inspect
--- The text `nil`.
--- > nil inspect ⇒ 'nil'
K.methods(Nil, { ["inspect"] = function() return "nil" end })

K.classMethods(Object, {
  --- +<String> inspect
  --- A text for people: the name of the class, its superclass, and its variables with their types.
  --- > Message inspect lines ⇒ ['class Message : Object', '  selector', '  arguments']
  ["inspect"] = function(class)
    local lines = { "class " .. class._name .. (class._super and " : " .. class._super._name or "") }
    for i, name in ipairs(class._ivars) do
      if i > SHOWN then lines[#lines + 1] = "  …" break end
      local kind = class._types[name]
      lines[#lines + 1] = "  " .. name .. (type(kind) == "string" and " <" .. kind .. ">" or "")
    end
    return concat(lines, "\n")
  end,
  --- +<Array> methods
  --- The selectors that the class itself understands, in alphabetical order, without those of every class.
  --- > Date methods includes: 'now' ⇒ true
  ["methods"] = methods,
})
