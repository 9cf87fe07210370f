-- What the checker knows of the kernel: classes with their messages and variables, and predefined
-- names with their classes, as lines of text (`crates/check/src/kernel.rs` reads them).
local K = ...
local type, pairs, sub = type, pairs, string.sub

local function selectors(word, methods)
  local list = { word }
  for name, method in pairs(methods) do
    if type(method) == "function" and sub(name, 1, 2) ~= "__" and not K.isInternal(name) then
      list[#list + 1] = K.selector(name)
    end
  end
  return table.concat(list, " ")
end

local function classLines(name, class, out)
  if name ~= class._name then
    out[#out + 1] = "alias " .. name .. " " .. class._name
    return
  end
  local above = rawget(class, "_super")
  out[#out + 1] = "class " .. name .. (above and " " .. above._name or "")
  out[#out + 1] = selectors("own", class._own)
  out[#out + 1] = selectors("meta", class._metaOwn)
  out[#out + 1] = "variables " .. table.concat(class._ivars, " ")
  local durations = rawget(class._methods, "_durations")
  if durations then out[#out + 1] = "durations " .. table.concat(durations, " ") end
  local sizes = rawget(class._methods, "_sizes")
  if sizes then out[#out + 1] = "sizes " .. table.concat(sizes, " ") end
  if class._metaOwn._literal then out[#out + 1] = "literal" end
end

-- For Rust: one text, a line for each fact.
function K.facts()
  local out = {}
  for name, class in pairs(K.classes) do classLines(name, class, out) end
  for name, value in pairs(K.predefined) do
    local class = K.isClass(value) and "class " .. value._name or K.classOf(value)._name
    out[#out + 1] = "name " .. name .. " " .. class
  end
  return table.concat(out, "\n")
end
