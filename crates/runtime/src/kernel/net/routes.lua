-- The property paths of what a program serves, for people: `runnel routes`.
local K = ...
local rawget, type, ipairs, concat = rawget, type, ipairs, table.concat
local entries, NULL = K.entries, K.NULL

local METHODS = { get = "GET", put = "PUT", post = "POST", merge = "PATCH", delete = "DELETE" }
local VERBS = { "get", "put", "post", "merge", "delete", "list", "query", "watch" }
-- What a table answers without handlers, with the path of a row and without.
local TABLE_METHODS = {
  { "GET", "" }, { "POST", "" }, { "GET", "/:id" }, { "PUT", "/:id" }, { "PATCH", "/:id" }, { "DELETE", "/:id" },
}

local function bracketed(declared) return "<" .. K.typeText(K.typeOf(declared)) .. ">" end

-- The parameters of a path and of its requests, as a program writes them.
local function parameters(entry, declared)
  local list = {}
  for _, segment in ipairs(entry.segments) do
    if type(segment) == "table" and segment.rest then
      list[#list + 1] = (segment[1] or "") .. " …"
    elseif type(segment) == "table" then
      list[#list + 1] = segment[1] .. (segment[2] and " " .. bracketed(segment[2]) or "")
    end
  end
  for _, one in ipairs(declared.parameters or {}) do
    local place = one.place == "query" and "?" or one.place .. " "
    local default = one.default and "=" .. one.default or ""
    list[#list + 1] = place .. one.name .. (one.type and " " .. bracketed(one.type) or "") .. default
  end
  if declared.paged then
    list[#list + 1] = "paged: " .. K.str(declared.paged.size) .. ".." .. K.str(declared.paged.most)
  end
  return concat(list, ", ")
end

-- What is answered, as a program writes it behind the arrow.
local function answers(declared)
  local list = {}
  for i, answer in ipairs(declared.answers or {}) do
    local parts = {}
    if answer.status then parts[1] = K.str(answer.status) end
    if answer.type then parts[#parts + 1] = bracketed(answer.type) end
    for _, name in ipairs(answer.headers or {}) do parts[#parts + 1] = name end
    list[i] = concat(parts, " ")
  end
  return concat(list, " | ")
end

local function place(body)
  local info = debug.getinfo(body, "S")
  return K.native.sourceLine(info.source, info.linedefined)
end

-- What collects the rows of one thing that serves.
local function collector(rows, by)
  local collected = { verbs = VERBS }
  function collected:path(prefix, class, entry, verb)
    local declared = entry.declared[verb] or {}
    local guarded = declared.guarded or K.isGuardedElsewhere(class, entry) or self.security ~= nil
    rows[#rows + 1] = K.recordOf {
      "servedBy", by, "method", METHODS[verb] or verb,
      "path", (#prefix > 0 and "/" .. concat(prefix, "/") or "") .. entry.pattern,
      "parameters", parameters(entry, declared),
      "content", declared.content and bracketed(declared.content) or declared.streamed and "streamed" or "",
      "answers", answers(declared), "access", guarded and "guarded" or declared.public and "public" or "",
      "place", place(K.writtenBody(declared.body or entry.verbs[verb])),
    }
  end
  function collected:table(prefix, class)
    for _, method in ipairs(TABLE_METHODS) do
      local path = (#prefix > 0 and "/" .. concat(prefix, "/") or "") .. method[2]
      rows[#rows + 1] = K.recordOf {
        "servedBy", by, "method", method[1], "path", path == "" and "/" or path, "parameters", "", "content", "",
        "answers", "", "access", "", "place", "table of " .. class._name,
      }
    end
  end
  return collected
end

-- A row for each verb of each path, as JSON text: of each server, and of each scheme that the program installs.
-- Nil without any.
function entries.routeText()
  local rows = {}
  for _, server in ipairs(K.knownServers()) do
    K.walkServed(server.i_scheme, collector(rows, "port " .. K.str(server:port())))
  end
  for _, name in ipairs(K.installed) do
    K.walkServed(K.schemes[name], collector(rows, "scheme:" .. name))
  end
  if #rows == 0 then return nil end
  return K.native.json(K.array(rows))
end
