-- References as values: where something is, by scheme and path.
local K = ...
local type, rawset, setmetatable = type, rawset, setmetatable

--- A place of content by scheme and path, such as `file:notes/today.txt`. `ref:` in front of a reference makes one
--- without reading it.
local Reference = K.newClass("Reference", K.classes.Object)
for _, name in ipairs { "MPWBinding", "Binding", "MPWReference", "MPWGenericReference", "MPWIdentifier" } do
  K.alias(name, Reference)
end
for _, key in ipairs { "_get", "_set", "_scheme", "_path", "_isReference", "_isStore", "_local", "_cell", "_object", "_key" } do K.nilKeys[key] = true end
rawset(Reference._methods, "_isReference", true)
local methods = Reference._methods

-- A reference without a store: what a scheme of the program is handed as `theRef`.
function K.pathReference(path, scheme)
  return setmetatable({ _path = path, _scheme = scheme }, methods)
end

-- The reference of a request; its path may have a question mark of its own.
function K.requestReference(path, query)
  local written = path
  if string.find(path, "?", 1, true) then written = string.gsub(path, "?", "%%3F") end
  return K.pathReference(query and written .. "?" .. query or written), written
end

-- `ref:scheme:path`
function K.reference(scheme, path)
  return setmetatable({ _scheme = scheme, _path = path }, methods)
end

-- The path of what a store is asked for: a reference or a text.
local function pathOf(reference)
  if type(reference) == "table" and reference._isReference then return reference._path end
  return K.str(reference)
end
K.pathOf = pathOf

-- `path?query` in two, as stores take them; the query is nil when there is none. A path on its own
-- need not escape a question mark.
local function split(path)
  local query
  local at = string.find(path, "?", 1, true)
  if at then path, query = string.sub(path, 1, at - 1), string.sub(path, at + 1) end
  if string.find(path, "%3F", 1, true) then path = string.gsub(path, "%%3F", "?") end
  return path, query
end
K.splitPath = split
