-- Pages of lists: `get paged → <[Task]> { … }` answers a part of what its handler answers, and tells by
-- headers how many there are (`X-Total-Count`) and where the others are (`Link`, RFC 8288).
local K = ...
local type, rawget, setmetatable, floor, concat = type, rawget, setmetatable, math.floor, table.concat
local native = K.native

local DEEPEST = 1000000 -- pages

-- What a client may ask for, as a compiler writes parameters.
local function parametersOf(size, most)
  return {
    { name = "page", place = "query", type = { kind = "int", min = 1, max = DEEPEST }, default = "1" },
    { name = "per_page", place = "query", type = { kind = "int", min = 1, max = most }, default = tostring(size) },
    { name = "after", place = "query", type = { kind = "string", optional = true } },
  }
end

K.pageParameters = parametersOf

--- The page of a list that a client asks for: `page` in a handler that is `paged`.
local Page = K.newClass("Page", K.classes.Object)
Page._plainName = true -- a program may have a class of this name
for _, key in ipairs { "_number", "_size", "_after", "_isTold", "_links", "_last" } do K.nilKeys[key] = true end

-- The function that reads which page is asked for.
function K.pager(size, most)
  local read = K.requestParameters(parametersOf(size, most))
  return function(reference)
    local problems, page, count, after = read(reference)
    if problems then K.refuseProblems(problems) end
    return setmetatable({ _number = page, _size = count, _after = after }, Page._methods)
  end
end

-- Links -----------------------------------------------------------------------------------------------

-- The address of the request with other values for `page` and `after`.
local function addressWith(name, value)
  local target = native.exchange("target", "")
  if target == nil then return nil end
  local path, query = K.splitPath(target)
  local parts = {}
  for pair in string.gmatch(query or "", "[^&]+") do
    local key = string.match(pair, "^[^=]*")
    if key ~= "page" and key ~= "after" then parts[#parts + 1] = pair end
  end
  parts[#parts + 1] = name .. "=" .. value
  return path .. "?" .. concat(parts, "&")
end

local function tell(request, links, total)
  request._links = links
  if native.exchange("target", "") == nil then return end
  local texts = {}
  for _, link in ipairs(links) do texts[#texts + 1] = string.format('<%s>; rel="%s"', link[2], link[1]) end
  if #texts > 0 then native.respond("link", concat(texts, ", ")) end
  if total then native.respond("x-total-count", tostring(total)) end
end

-- By number -------------------------------------------------------------------------------------------

local function numbered(request, answer)
  local total, page, count = answer:count(), request._number, request._size
  local last, links = math.max(1, floor((total + count - 1) / count)), {}
  local function add(relation, number) links[#links + 1] = { relation, addressWith("page", number) } end
  if native.exchange("target", "") ~= nil then
    if page > 1 then
      add("first", 1)
      add("prev", math.min(page - 1, last))
    end
    if page < last then
      add("next", page + 1)
      add("last", last)
    end
  end
  request._last = last
  tell(request, links, total)
  local skipped = (page - 1) * count
  if skipped == 0 then return answer:first_(count) end
  if answer._isRows then return answer:skip_(skipped):first_(count) end
  if skipped >= total then return K.array {} end
  return answer:allButFirst_(skipped):first_(count)
end

-- By place --------------------------------------------------------------------------------------------

local function wrongPlace()
  K.throw("notFound", "the query parameter after is no place in this list; take it from a link", { _side = "request" })
end

-- The names that rows are sorted by, with the key last: then no two rows are at the same place.
local function sortOf(rows)
  local keys, hasKey = {}, false
  local sort = rows._query.sort
  for i = 1, sort and #sort or 0 do
    local name = string.gsub(sort[i], "^%-", "")
    keys[i] = { name = name, descending = name ~= sort[i], text = sort[i] }
    hasKey = hasKey or name == "id"
  end
  if not hasKey then keys[#keys + 1] = { name = "id", descending = false, text = "id" } end
  return keys
end

local function placeOf(keys, row)
  local values = {}
  for i, key in ipairs(keys) do
    values[i] = K.property(row, key.name)
    if values[i] == nil then return nil end
  end
  return native.json(K.array(values)):base64url()
end

-- The rows behind the values of a place.
local function behind(keys, values)
  local any
  for i = #keys, 1, -1 do
    local filter = { keys[i].descending and "<" or ">", keys[i].name, values[i] }
    for before = i - 1, 1, -1 do filter = { "and", { "=", keys[before].name, values[before] }, filter } end
    any = any and { "or", filter, any } or filter
  end
  return any
end

local function valuesOf(place, count)
  local ok, values = K.try(function() return native.parseJSON(place:base64urlDecoded()._bytes) end)
  if not ok or type(values) ~= "table" or not values._isArray or #values ~= count then wrongPlace() end
  return values
end

local function placed(request, rows)
  local keys = sortOf(rows)
  local query = {}
  for name, value in pairs(rows._query) do query[name] = value end
  local sort = {}
  for i, key in ipairs(keys) do sort[i] = key.text end
  query.sort = K.array(sort)
  if request._after ~= "" then
    local filter = behind(keys, valuesOf(request._after, #keys))
    query.filter = query.filter and { "and", query.filter, filter } or filter
  end
  local found = K.rowsOf(rows._store, rows._path, rows._scheme, rows._of, query):first_(request._size + 1):asArray()
  if #found <= request._size then
    tell(request, {})
    return found
  end
  local list = found:first_(request._size)
  local place = placeOf(keys, list[request._size])
  tell(request, place and { { "next", addressWith("after", place) } } or {})
  return list
end

-- The page of a list; nil for what is none.
local function pageOf(request, answer)
  if type(answer) ~= "table" or K.isClass(answer) then return nil end
  if answer._isTable then answer = K.allRows(answer) end
  if not answer._isRows and not answer._isArray then return nil end
  request._isTold = true
  if request._after == nil then return numbered(request, answer) end
  local cut = answer._isRows and (answer._query.limit ~= nil or answer._query.offset ~= nil)
  if not answer._isRows or cut or not rawget(answer, "_store") then wrongPlace() end
  return placed(request, answer)
end

local RELATIONS = { { "prev", "Previous" }, { "next", "Next" } }

-- The links for people; nil where there is one page.
local function navigation(self)
  local addresses = {}
  for _, link in ipairs(self._links or {}) do addresses[link[1]] = link[2] end
  if not addresses.prev and not addresses.next then return nil end
  local buffer = K.openMarkup()
  K.put(buffer, '<nav class="row pages" aria-label="Pages">')
  for at, relation in ipairs(RELATIONS) do
    local name, address = relation[1], addresses[relation[1]]
    if at == 2 and self._last then K.put(buffer, "<span>Page " .. self._number .. " of " .. self._last .. "</span>") end
    if address then
      K.put(buffer, '<a rel="' .. name .. '"')
      K.attribute(buffer, "href", address)
      K.put(buffer, ">" .. relation[2] .. "</a>")
    end
  end
  K.put(buffer, "</nav>")
  return K.closeMarkup(buffer)
end

K.methods(Page, {
  --- -<Element?> links
  --- The links to the previous and the next page as a `nav` element; nil where there is one page. Needs `of:` before.
  --- > { :page | #div[ page links ] }
  ["links"] = navigation,
  --- -<Number> number
  --- The number of the page, from 1.
  --- > { :page | "page {page number}" }
  ["number"] = function(self) return self._number end,
  --- -<any> of:<any>list
  --- The part of an array, of rows or of a table that the client asks for; sets the headers `Link` and `X-Total-Count`.
  --- Empty beyond the end. An error for anything else.
  --- > { :page :orders | page of: (orders sortedBy: { :order | order date }) }
  ["of:"] = function(self, list)
    local page = pageOf(self, list)
    if page then return page end
    K.throw("typeError", "a page is a part of an array or of rows, not of " .. K.nameOf(list))
  end,
})

-- The page of what a handler answers, unless the handler cut it. What is no list stays as it is.
function K.pageOf(request, answer)
  if request._isTold then return answer end
  return pageOf(request, answer) or answer
end
