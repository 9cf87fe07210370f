-- What the compiler makes of the blocks of queries: conditions `{ operator, field, value }`, `{ "test", operator, left,
-- right }`, and expressions `{ "field", name }`, `{ "value", value }`, `{ operator, left, right }`, `{ function, inner }`.
-- `{ "any", path, condition or false }`, `{ "none", … }` and `{ "of", path, condition or false, aggregate }` are about related rows.
-- They are walked here, for what they name, and evaluated for rows that were read already.
local K = ...
local type, find = type, string.find
local NULL = K.NULL

-- Calls `visit` with each field that a condition or an expression names; a text is such a field. Of related rows it is
-- the path to them; `related` is called with what asks for them, and where their place is to be written.
local function eachField(data, visit, related)
  if type(data) == "string" then return visit(data) end
  if type(data) ~= "table" then return end
  local word = data[1]
  if word == "field" then
    visit(data[2])
  elseif word == "any" or word == "of" then
    visit(data[2])
    if related then related(data, word == "any" and 4 or 5) end
  elseif word == "value" or word == "count" or word == "search" then
    return
  elseif word == "test" or word == "match" then
    eachField(data[3], visit, related)
    eachField(data[4], visit, related)
  elseif word == "record" then
    for i = 3, #data, 2 do eachField(data[i], visit, related) end
  elseif type(data[2]) == "string" then
    visit(data[2])
  else
    eachField(data[2], visit, related)
    eachField(data[3], visit, related)
  end
end
K.eachField = eachField

-- The class and the name of the field that a path ends in; nil where it leads through no relations.
function K.fieldOfPath(class, path)
  for step in string.gmatch(path, "([^.]+)%.") do
    class = K.relatedClass(class, step)
    if not class then return nil end
  end
  return class, string.match(path, "[^.]+$")
end

-- The related rows that a path ends in, as `K.manyOfClass` describes them, and the path before it with a dot.
function K.manyOfPath(class, path)
  local owner, name = nil, nil
  if class then owner, name = K.fieldOfPath(class, path) end
  return owner and K.manyOfClass(owner)[name], string.sub(path, 1, #path - #(name or path))
end

-- The type that a class declares for what an expression answers: "int", "float", "decimal" or another; nil where it
-- is not known.
function K.expressionKind(class, data)
  if not class then return nil end
  if type(data) == "string" then
    local owner, name = K.fieldOfPath(class, data)
    return owner and owner._types[name]
  end
  local word = data[1]
  if word == "field" then return K.expressionKind(class, data[2]) end
  if word == "value" then
    if type(data[2]) == "number" then return math.floor(data[2]) == data[2] and "int" or "float" end
    return type(data[2]) == "string" and "string" or nil
  end
  if word == "length" or word == "count" or word == "countDistinct" then return "int" end
  if word == "lower" or word == "upper" then return "string" end
  if word == "of" then
    local many = K.manyOfPath(class, data[2])
    return many and K.expressionKind(many.class, data[4])
  end
  local left = K.expressionKind(class, data[2])
  if data[3] == nil then return left end
  local right = K.expressionKind(class, data[3])
  if left == "decimal" or right == "decimal" then return "decimal" end
  if word == "/" or left == "float" or right == "float" then return left and right and "float" end
  return left and right and "int"
end

local functions = {
  lower = function(text) return text:lowercaseString() end,
  upper = function(text) return text:uppercaseString() end,
  length = function(text) return text:length() end,
}
local operators = { ["+"] = K.add, ["-"] = K.sub, ["*"] = K.mul, ["/"] = K.div }

-- The field of a row, or of a related one.
local function fieldOf(row, path)
  if find(path, ".", 1, true) then
    for part in string.gmatch(path, "[^.]+") do
      row = K.property(row, part)
      if row == nil then return nil end
    end
    return row
  end
  return K.property(row, path)
end
K.fieldOfRow = fieldOf

local evaluate, holds

-- The related rows of a row that meet a condition, as a list; nil where no row leads to them.
local function relatedRows(row, data)
  local rows, list = fieldOf(row, data[2]), {}
  if rows == nil then return nil end
  rows:do_(function(one)
    if not data[3] or holds(one, data[3]) then list[#list + 1] = one end
  end)
  return list
end

-- An aggregate of them: nil does not count.
local function aggregateOf(list, data)
  if list == nil then return nil end
  if data[1] == "count" then return #list end
  local values = {}
  for i = 1, #list do values[#values + 1] = evaluate(list[i], data[2]) end
  values = K.array(values)
  if data[1] == "countDistinct" then return values:asSet():count() end
  if data[1] == "sum" then return #values == 0 and 0 or values:sum() end
  if #values == 0 then return nil end
  return values[data[1]](values)
end

-- The value of an expression for a row, as the database computes it: with nil it is nil.
function evaluate(row, data)
  local word = data[1]
  if word == "of" then return aggregateOf(relatedRows(row, data), data[4]) end
  if word == "field" then return fieldOf(row, data[2]) end
  if word == "value" then
    if data[2] == NULL then return nil end
    return data[2]
  end
  local left = evaluate(row, data[2])
  if left == nil then return nil end
  local called = functions[word]
  if called then return called(left) end
  local right = evaluate(row, data[3])
  if right == nil or word == "/" and right == 0 then return nil end
  return operators[word](left, right)
end

-- The same conditions on a row in the program: records answer no messages for their fields.
local tests = {
  ["="] = function(value, other) return K.eq(value, other) end,
  ["≠"] = function(value, other) return not K.eq(value, other) end,
  ["<"] = K.queryLt, [">"] = K.queryGt, ["≤"] = K.queryLe, ["≥"] = K.queryGe,
  ["hasPrefix"] = function(value, other) return value:hasPrefix_(other) end,
  ["hasSuffix"] = function(value, other) return value:hasSuffix_(other) end,
  ["contains"] = function(value, other) return value:contains_(other) end,
  ["containsString"] = function(value, other) return value:contains_(other) end,
  ["in"] = function(value, others) return others:includes_(value) end,
}

function holds(row, filter)
  local operator, field, value = filter[1], filter[2], filter[3]
  if operator == "and" then return holds(row, field) and holds(row, value) end
  if operator == "or" then return holds(row, field) or holds(row, value) end
  if operator == "not" then return not holds(row, field) end
  if operator == "any" or operator == "none" then
    local rows = relatedRows(row, filter)
    return rows ~= nil and (#rows > 0) == (operator == "any")
  end
  if operator == "empty" then
    local held = fieldOf(row, field)
    return held == nil or held == "" or type(held) == "table" and held:isEmpty()
  end
  if operator == "test" or operator == "match" then
    local left, right = evaluate(row, value), evaluate(row, filter[4])
    if operator == "match" and type(left) ~= "string" then return false end
    return tests[field](left, right) == true
  end
  local held = fieldOf(row, field)
  if value == NULL then value = nil end
  return tests[operator](held, value) == true
end
K.holdsFor = holds
