-- Points (`x @ y`) and rectangles (`origin extent: size`). Values: never changed in place.
local K = ...
local type, setmetatable = type, setmetatable
local Object = K.classes.Object
local eq = K.eq

local Point = K.newClass("Point", Object)
K.alias("MPWPoint", Point)
K.method(Point, "_isPoint", true)

local function point(x, y)
  return setmetatable({ i_x = x, i_y = y }, Point._methods)
end

function K.point(x, y)
  return point(K.expectNumber(x, "@"), K.expectNumber(y, "@"))
end

-- The coordinates of an operand: a number counts for both.
local function coordinates(value, name, self)
  if type(value) == "table" and value._isPoint then return value.i_x, value.i_y end
  if type(value) == "number" then return value, value end
  if value == nil then return 0, 0 end
  K.operandError(name, self, value)
end

local function operator(name, operation)
  return function(self, other)
    local x, y = coordinates(other, name, self)
    return point(operation(self.i_x, x), operation(self.i_y, y))
  end
end

-- A point is less than another when both coordinates are.
local function comparison(name, operation)
  return function(self, other)
    if other == nil then K.refuseNil(self) end
    local x, y = coordinates(other, name, self)
    return operation(self.i_x, x) and operation(self.i_y, y)
  end
end

-- The smaller or larger of each coordinate.
local function extreme(operation)
  local choose = operator("isLessThan_", operation)
  return function(self, other)
    if other == nil then K.refuseNil(self) end
    return choose(self, other)
  end
end

local over = operator("div_", K.div)
K.method(Point, "_over", over)
-- A number on the left side of an operator.
K.method(Point, "_reverse", function(self, name, number)
  if name == "div_" then return over(point(number, number), self) end
  return point(number, number)[name](point(number, number), self)
end)

K.methods(Point, {
  ["x"] = function(self) return self.i_x end,
  ["y"] = function(self) return self.i_y end,
  ["width"] = function(self) return self.i_x end,
  ["height"] = function(self) return self.i_y end,
  ["add:"] = operator("add_", K.add),
  ["sub:"] = operator("sub_", K.sub),
  ["mul:"] = operator("mul_", K.mul),
  ["div:"] = operator("div_", function(a, b) return a:div_(b) end),
  ["mod:"] = operator("mod_", function(a, b) return a:mod_(b) end),
  ["isLessThan:"] = comparison("isLessThan_", K.lt),
  ["isGreaterThan:"] = comparison("isGreaterThan_", K.gt),
  ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", K.le),
  ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", K.ge),
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isPoint == true and eq(self.i_x, other.i_x)
      and eq(self.i_y, other.i_y)
  end,
  ["negated"] = function(self) return point(-self.i_x, -self.i_y) end,
  ["abs"] = function(self) return point(math.abs(self.i_x), math.abs(self.i_y)) end,
  ["rounded"] = function(self) return point(self.i_x:rounded(), self.i_y:rounded()) end,
  ["truncated"] = function(self) return point(self.i_x:truncated(), self.i_y:truncated()) end,
  ["transposed"] = function(self) return point(self.i_y, self.i_x) end,
  ["min:"] = extreme(math.min),
  ["max:"] = extreme(math.max),
  ["dotProduct:"] = function(self, other)
    local x, y = coordinates(other, "mul_", self)
    return self.i_x * x + self.i_y * y
  end,
  ["distanceTo:"] = function(self, other)
    local x, y = coordinates(other, "sub_", self)
    return math.sqrt((self.i_x - x) ^ 2 + (self.i_y - y) ^ 2)
  end,
  ["length"] = function(self) return math.sqrt(self.i_x ^ 2 + self.i_y ^ 2) end,
  ["asPoint"] = function(self) return self end,
  ["asArray"] = function(self) return K.array { self.i_x, self.i_y } end,
  ["extent:"] = function(self, size) return K.rectangle(self, size) end,
  ["corner:"] = function(self, corner) return K.rectangle(self, corner:sub_(self)) end,
  ["asRectangle"] = function(self) return K.rectangle(point(0, 0), self) end,
  ["copy"] = function(self) return self end,
  ["description"] = function(self)
    return "{" .. K.str(self.i_x) .. "," .. K.str(self.i_y) .. "}"
  end,
})
K.method(Point, "_keyText", function(self)
  return "p" .. K.str(self.i_x) .. "," .. K.str(self.i_y)
end)
K.classMethods(Point, {
  ["new"] = function() return point(0, 0) end,
  ["x:y:"] = function(_, x, y) return K.point(x, y) end,
  ["fromArray:"] = function(_, list) return K.point(list:at_(0), list:at_(1)) end,
})
K.methods(K.classes.Number, {
  ["pointWith:"] = function(self, y) return K.point(self, y) end,
  ["asPoint"] = function(self) return point(self, self) end,
})

-- Rectangles ------------------------------------------------------------------------------------

local Rectangle = K.newClass("Rectangle", Object)
K.alias("MPWRect", Rectangle)

local function expectPoint(value, selector)
  if type(value) == "table" and value._isPoint then return value end
  if type(value) == "number" then return point(value, value) end
  K.throw("typeError", selector .. " expects a Point, got " .. K.nameOf(value))
end

function K.rectangle(origin, size)
  return setmetatable({ i_origin = expectPoint(origin, "extent:"), i_size = expectPoint(size,
    "extent:") },
    Rectangle._methods)
end

local function itsSize(self) return self.i_size end
local function corner(self) return self.i_origin:add_(self.i_size) end

local function containsPoint(self, place)
  place = expectPoint(place, "containsPoint:")
  return place:isGreaterThanOrEqualTo_(self.i_origin) and place:isLessThan_(corner(self))
end

local function combined(origin, far, selector)
  return function(self, other)
    if type(other) ~= "table" or not other.i_origin then
      K.throw("typeError", selector .. " expects a Rectangle, got " .. K.nameOf(other))
    end
    local from = self.i_origin[origin](self.i_origin, other.i_origin)
    local to = corner(self)[far](corner(self), corner(other))
    return K.rectangle(from, to:sub_(from):max_(0))
  end
end

K.methods(Rectangle, {
  ["origin"] = function(self) return self.i_origin end,
  ["size"] = itsSize, ["extent"] = itsSize,
  ["corner"] = corner,
  ["x"] = function(self) return self.i_origin.i_x end,
  ["y"] = function(self) return self.i_origin.i_y end,
  ["width"] = function(self) return self.i_size.i_x end,
  ["height"] = function(self) return self.i_size.i_y end,
  ["left"] = function(self) return self.i_origin.i_x end,
  ["top"] = function(self) return self.i_origin.i_y end,
  ["right"] = function(self) return corner(self).i_x end,
  ["bottom"] = function(self) return corner(self).i_y end,
  ["center"] = function(self) return self.i_origin:add_(self.i_size:_over(2)) end,
  ["area"] = function(self) return self.i_size.i_x * self.i_size.i_y end,
  ["containsPoint:"] = containsPoint, ["includes:"] = containsPoint,
  ["insetBy:"] = function(self, amount)
    amount = expectPoint(amount, "insetBy:")
    return K.rectangle(self.i_origin:add_(amount), self.i_size:sub_(amount:mul_(2)))
  end,
  ["translatedBy:"] = function(self, offset)
    return K.rectangle(self.i_origin:add_(offset), self.i_size)
  end,
  ["add:"] = function(self, offset) return K.rectangle(self.i_origin:add_(offset), self.i_size) end,
  ["sub:"] = function(self, offset) return K.rectangle(self.i_origin:sub_(offset), self.i_size) end,
  ["mul:"] = function(self, factor)
    return K.rectangle(self.i_origin:mul_(factor), self.i_size:mul_(factor))
  end,
  ["intersect:"] = combined("max_", "min_", "intersect:"),
  ["union:"] = combined("min_", "max_", "union:"),
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other.i_size ~= nil and eq(self.i_origin, other.i_origin)
      and eq(self.i_size, other.i_size)
  end,
  ["copy"] = function(self) return self end,
  ["description"] = function(self)
    return "{" .. K.str(self.i_origin) .. "," .. K.str(self.i_size) .. "}"
  end,
})
K.method(Rectangle, "_keyText", function(self)
  return "r" .. K.str(self)
end)
K.classMethods(Rectangle, {
  ["origin:extent:"] = function(_, origin, size) return K.rectangle(origin, size) end,
  ["origin:corner:"] = function(_, origin, far) return K.rectangle(origin, far:sub_(origin)) end,
})
