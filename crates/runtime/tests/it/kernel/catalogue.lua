-- The facts of the loaded kernel that its definitions must agree with, one a line, raised as a text: classes, their
-- other names, and their messages. Before it stand `SELECTORS`, those that are defined, and `DEFINED`, a row for each
-- definition: class, side, selector.
local K = ...
local lines = {}

local function line(...) lines[#lines + 1] = table.concat({ ... }, " ") end

for _, selector in ipairs(SELECTORS) do line("selector", selector, K.mangle(selector)) end

-- Options that a table of Rust defines, by class.
local servers = { HTTPServer = K.serverOptions, S3Server = K.s3ServerOptions }
local function isOption(class, name)
  local definition = K.combinatorDefinitions[class._name]
  if definition and definition.options[name] then return true end
  for _, option in ipairs(servers[class._name] or {}) do
    if option == name then return true end
  end
  return false
end

-- Accessors of instance variables: the setters of all, and the getters of options.
local function isAccessor(class, selector)
  for _, name in ipairs(class._ivars) do
    if selector == K.setterName(name) or selector == name and isOption(class, name) then return true end
  end
  return false
end

-- Whether a method of a class also is, or means, one of its instances: what all values answer.
local function isOfInstances(class, name, method)
  local at = class
  while at do
    if rawget(at._own, name) == method then return true end
    at = at._super
  end
  return false
end

local function methods(class, side, own)
  for name, method in pairs(own) do
    local selector = K.selector(name)
    local isPublic = type(method) == "function" and not K.isInternal(name) and not string.find(selector, "^[_:]")
    if isPublic and not isAccessor(class, selector) and not (side == "+" and isOfInstances(class, name, method)) then
      line("method", class._name, side, name, selector)
    end
  end
end

for name, class in pairs(K.classes) do
  if name ~= class._name then
    line("alias", name, class._name)
  else
    line("class", name, class._super and class._super._name or "")
    if rawget(class, "_standsFor") then line("stands", name, class._standsFor._name) end
    methods(class, "-", class._own)
    methods(class, "+", class._metaOwn)
  end
end

-- Definitions of what their class does not understand. The options of servers are those of the command, and absent here.
for _, row in ipairs(DEFINED) do
  local class = K.classes[row[1]]
  local isOption = servers[row[1]] and (string.find(row[3], "^set%u") or not string.find(row[3], ":"))
  local all = class and (row[2] == "+" and class._meta or class._super and class._methods or class._own)
  if not isOption and not (all and rawget(all, K.mangle(row[3]))) then line("absent", row[1], row[2], row[3]) end
end
table.sort(lines)
error(table.concat(lines, "\n"), 0)
