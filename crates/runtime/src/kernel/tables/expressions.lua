-- What the compiler makes of the blocks of queries: conditions `{ operator, field, value }`, `{ "test", operator, left,
-- right }`, and expressions `{ "field", name }`, `{ "value", value }`, `{ operator, left, right }`, `{ function, inner }`.
-- They are walked here, for what they name, and evaluated for rows that were read already.
local K = ...
local type, find = type, string.find
local NULL = K.NULL

-- Calls `visit` with each field that a condition or an expression names; a text is such a field.
local function eachField(data, visit)
  if type(data) == "string" then return visit(data) end
  if type(data) ~= "table" then return end
  local word = data[1]
  if word == "field" then
    visit(data[2])
  elseif word == "value" or word == "count" then
    return
  elseif word == "test" or word == "match" then
    eachField(data[3], visit)
    eachField(data[4], visit)
  elseif word == "record" then
    for i = 3, #data, 2 do eachField(data[i], visit) end
  elseif type(data[2]) == "string" then
    visit(data[2])
  else
    eachField(data[2], visit)
    eachField(data[3], visit)
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

-- The value of an expression for a row, as the database computes it: with nil it is nil.
local function evaluate(row, data)
  local word = data[1]
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
K.evaluateExpression = evaluate
