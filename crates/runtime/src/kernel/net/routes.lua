-- The property paths of what a program serves, for people: `runnel routes`.
local K = ...
local rawget, type = rawget, type
local entries = K.entries

local METHODS = { { "get", "GET" }, { "put", "PUT" }, { "post", "POST" }, { "merge", "PATCH" }, { "delete", "DELETE" } }
local OTHER = { "list", "query", "watch" }

-- The names and types of the parameters of a path.
local function parameters(pattern)
  local names = {}
  for kind, name in string.gmatch(pattern, "/:(%b<>)([%w_]+)") do names[#names + 1] = name .. " " .. kind end
  for name in string.gmatch(pattern, "/:([%w_]+)") do names[#names + 1] = name end
  for name in string.gmatch(pattern, "/%*:?([%w_]+)") do names[#names + 1] = name .. " …" end
  return table.concat(names, ", ")
end

local function place(body)
  local info = debug.getinfo(body, "S")
  return string.gsub(info.source, "^@", "") .. ":" .. info.linedefined
end

-- Adds the lines of a class and of those that it inherits from.
local function add(lines, name, class)
  local at = class
  while at do
    for _, entry in ipairs(rawget(at, "_paths") or {}) do
      for _, method in ipairs(METHODS) do
        local body = entry.verbs[method[1]]
        if body then
          lines[#lines + 1] = table.concat({ name, method[2], entry.pattern, parameters(entry.pattern), place(body) }, "\t")
        end
      end
      for _, verb in ipairs(OTHER) do
        local body = entry.verbs[verb]
        if body then
          lines[#lines + 1] = table.concat({ name, verb, entry.pattern, parameters(entry.pattern), place(body) }, "\t")
        end
      end
    end
    at = rawget(at, "_super")
  end
end

local function classOf(store)
  local class = type(store) == "table" and K.classOf(store)
  return class and class._subs and class or nil
end

local function hasPaths(class)
  local at = class
  while at do
    if rawget(at, "_paths") then return true end
    at = rawget(at, "_super")
  end
  return false
end

-- One line for each verb of each path: what serves it, method, path, parameters, place, with tabs
-- between them. Where a server serves a combination of stores, every scheme that the program
-- defines is listed, because any of them may be a part of it.
function entries.routeText()
  local lines = {}
  for _, server in ipairs(K.knownServers()) do
    local name = "port " .. K.str(server:port())
    local class = classOf(server.i_scheme)
    if class and hasPaths(class) then
      add(lines, name, class)
    else
      local names = {}
      for known, one in pairs(K.classes) do
        if type(one) == "table" and rawget(one, "_paths") then names[#names + 1] = known end
      end
      table.sort(names)
      for _, known in ipairs(names) do
        local one = K.classes[known]
        for i, entry in ipairs(one._paths) do
          local _, body = next(entry.verbs)
          if i == 1 and body and string.byte(debug.getinfo(body, "S").source, 1) == 64 then
            add(lines, name .. ", " .. known, one)
          end
        end
      end
    end
  end
  for _, name in ipairs(K.installed) do
    local class = classOf(K.schemes[name])
    if class and hasPaths(class) then add(lines, "scheme:" .. name, class) end
  end
  return table.concat(lines, "\n")
end
