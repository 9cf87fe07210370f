-- Two queries of one table as one: `books[{ lent }] union: books[{ year < 1850 }]` is a query again, which is sorted, paged
-- and counted in the database. A row that both pick is there once. Of other rows the arrays are combined.
local K = ...
local type, rawget, pairs = type, rawget, pairs
local Rows = K.classes.Rows

-- Whether two objects say the same of where rows are.
local function isSamePlace(one, other)
  if one._store == other._store then return one._path == other._path and one._scheme == other._scheme end
  if not one._beside or not other._beside then return false end
  for i = 1, 3 do
    if one._place[i] ~= other._place[i] then return false end
  end
  return true
end

-- Whether conditions alone say which rows a query picks.
local function isPlain(rows)
  local query = rawget(rows, "_store") and rows._query
  return query and not (query.limit or query.offset or query.fields or query.many)
end

-- The condition on a row that one query picks, or both, or only the first; nil for every row, and false for none.
local function either(one, other) return one and other and { "or", one, other } end
local function both(one, other) return one and other and { "and", one, other } or one or other end
local function onlyFirst(one, other)
  if not other then return false end
  return one and { "and", one, { "not", other } } or { "not", other }
end

local function combining(selector, combine)
  local inMemory = K.mangle(selector)
  return function(self, other)
    if type(other) == "table" and other._isTable then other = other:select() end
    local isRows = type(other) == "table" and other._isRows
    if isRows and isPlain(self) and isPlain(other) and self._of == other._of and isSamePlace(self, other) then
      local query = {}
      for name, value in pairs(self._query) do query[name] = value end
      query.filter = combine(self._query.filter, other._query.filter)
      local rows = K.rowsOf(self._store, self._path, self._scheme, self._of, query, self._place)
      rows._beside = self._beside
      if query.filter == false then query.filter, query.limit = nil, 0 end
      if query.filter then K.addRelations(self._of, query, query.filter) end
      return rows
    end
    local list = self:asArray()
    return list[inMemory](list, isRows and other:asArray() or other)
  end
end

K.methods(Rows, {
  --- -<Rows|Array> union:<any>other
  --- DatabaseTable -<Rows|Array> union:<any>other
  --- The rows of either query, each once, as a query in the order of the first. Other rows and arrays are combined as
  --- arrays.
  --- > books := ref:sqlite:shop.db/books table. (books[{ lent }] union: books[{ year < 1850 }]) sorted: 'title'
  ["union:"] = combining("union:", either),
  --- -<Rows|Array> intersection:<any>other
  --- DatabaseTable -<Rows|Array> intersection:<any>other
  --- The rows of both queries, as a query. Other rows and arrays are combined as arrays.
  --- > books := ref:sqlite:shop.db/books table. (books[{ lent }] intersection: books[{ year < 1850 }]) count
  ["intersection:"] = combining("intersection:", both),
  --- -<Rows|Array> difference:<any>other
  --- DatabaseTable -<Rows|Array> difference:<any>other
  --- The rows of the first query that are not in the other, as a query. Other rows and arrays are combined as arrays.
  --- > books := ref:sqlite:shop.db/books table. (books difference: books[{ lent }]) count
  ["difference:"] = combining("difference:", onlyFirst),
})
