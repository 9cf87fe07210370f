-- Observed variables. Those of the script live in a plain table, `K.variables`; an observed one
-- moves behind its metatable, so that the others, and programs without observers, pay nothing.
-- Locals that a program names by `ref:` have a second local for their hub.
local K = ...
local rawset, rawget, next, getmetatable, setmetatable = rawset, rawget, next, getmetatable, setmetatable
local variables = K.variables
-- Texts that grow (text/append.lua), by the name of a variable. While one does, the variable is absent from its table,
-- so that a read reaches the metatable, which joins the text.
local growing = {}

local held, hubs = {}, {} -- values and hubs of the observed variables, by name
K.variableHubs = hubs

local behind = {
  __index = function(_, name)
    local pieces = growing[name]
    if not pieces then return held[name] end
    growing[name] = nil
    local text = K.joined(pieces)
    rawset(variables, name, text)
    return text
  end,
  __newindex = function(_, name, value)
    growing[name] = nil
    local hub = hubs[name]
    if not hub then return rawset(variables, name, value) end
    held[name] = value
    hub:changed(value)
  end,
}

local function release(hub)
  local name = hub.variable
  hubs[name] = nil
  rawset(variables, name, held[name])
  held[name] = nil
  if next(hubs) == nil and next(growing) == nil then setmetatable(variables, nil) end
end

-- What stands in a variable before something is appended to it, and how long it is.
function K.appendingVariable(name)
  local pieces = growing[name]
  if pieces then return K.appending(pieces) end
  return variables[name], 0
end

function K.appendVariable(name, value, size, ...)
  value = K.append(value, size, ...)
  if not K.isGrowing(value) then
    variables[name] = value
    return
  end
  if growing[name] == nil then
    rawset(variables, name, nil)
    if getmetatable(variables) == nil then setmetatable(variables, behind) end
    K.declared[name] = true
  end
  growing[name] = value
end

-- The hub of a variable of the script.
function K.variableHub(name)
  local hub = hubs[name]
  if hub then return hub end
  local value = variables[name]
  hub = K.newHub("var:" .. name, value, release)
  hub.variable = name
  -- The compiler still knows the name, also while it holds nil.
  K.declared[name] = true
  hubs[name], held[name] = hub, value
  rawset(variables, name, nil)
  if getmetatable(variables) == nil then setmetatable(variables, behind) end
  return hub
end

-- The hub of a local. `cell` reads the local of the hub, and sets it where it gets an argument.
function K.localHub(name, get, cell)
  local hub = cell()
  if hub then return hub end
  hub = K.newHub("var:" .. name, get(), function() cell(false) end)
  cell(hub)
  return hub
end
