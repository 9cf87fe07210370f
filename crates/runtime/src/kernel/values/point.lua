-- Points (`x @ y`) and rectangles (`origin extent: size`). Values: never changed in place.
local K = ...
local type, setmetatable = type, setmetatable
local Object = K.classes.Object
local eq = K.eq

--- Two coordinates: `x @ y`. Points do not change. Arithmetic applies to each coordinate, and a number counts for both.
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
--- Point -<Point> / <Point|Number?>other
--- The quotient of each coordinate, with a fraction where needed. Division by 0 is an error.
--- > (7 @ 9) / 2 ⇒ 3.5 @ 4.5
K.method(Point, "_over", over)
-- A number on the left side of an operator.
K.method(Point, "_reverse", function(self, name, number)
  if name == "div_" then return over(point(number, number), self) end
  if name == "divFloor_" then name = "div_" end
  return point(number, number)[name](point(number, number), self)
end)

K.methods(Point, {
  --- -<Number> x
  --- -<Number> width
  --- The first coordinate: the width if the point is a size.
  --- > (3 @ 4) x ⇒ 3
  ["x"] = function(self) return self.i_x end,
  --- -<Number> y
  --- -<Number> height
  --- The second coordinate: the height if the point is a size.
  --- > (3 @ 4) y ⇒ 4
  ["y"] = function(self) return self.i_y end,
  ["width"] = function(self) return self.i_x end,
  ["height"] = function(self) return self.i_y end,
  --- -<Point> + <Point|Number?>other
  --- -<Point> add:<Point|Number?>other
  --- The sum of each coordinate.
  --- > (2 @ 3) + (1 @ 1) ⇒ 3 @ 4
  --- > (2 @ 3) + 1 ⇒ 3 @ 4
  ["add:"] = operator("add_", K.add),
  --- -<Point> - <Point|Number?>other
  --- -<Point> sub:<Point|Number?>other
  --- The difference of each coordinate.
  --- > (2 @ 3) - (1 @ 1) ⇒ 1 @ 2
  ["sub:"] = operator("sub_", K.sub),
  --- -<Point> * <Point|Number?>other
  --- -<Point> mul:<Point|Number?>other
  --- The product of each coordinate.
  --- > (2 @ 3) * 2 ⇒ 4 @ 6
  ["mul:"] = operator("mul_", K.mul),
  --- -<Point> div:<Point|Number?>other
  --- The quotient of each coordinate, rounded down. Division by 0 is an error.
  --- > (7 @ 9) div: 2 ⇒ 3 @ 4
  ["div:"] = operator("div_", function(a, b) return a:div_(b) end),
  --- -<Point> mod:<Point|Number?>other
  --- -<Point> % <Point|Number?>other
  --- The remainder of each coordinate, with the sign of the divisor.
  --- > (7 @ 9) mod: 4 ⇒ 3 @ 1
  ["mod:"] = operator("mod_", function(a, b) return a:mod_(b) end),
  --- -<Boolean> isLessThan:<Point|Number>other
  --- Whether both coordinates are less than those of the other. Of two points neither may be less.
  --- > (1 @ 2) < (2 @ 3) ⇒ true
  ["isLessThan:"] = comparison("isLessThan_", K.lt),
  --- -<Boolean> > <Point|Number>other
  --- -<Boolean> isGreaterThan:<Point|Number>other
  --- Whether both coordinates are greater than those of the other.
  --- > (1 @ 2) > (2 @ 3) ⇒ false
  ["isGreaterThan:"] = comparison("isGreaterThan_", K.gt),
  --- -<Boolean> ≤ <Point|Number>other
  --- -<Boolean> isLessThanOrEqualTo:<Point|Number>other
  --- Whether both coordinates are at most those of the other.
  --- > (1 @ 3) <= (2 @ 3) ⇒ true
  ["isLessThanOrEqualTo:"] = comparison("isLessThanOrEqualTo_", K.le),
  --- -<Boolean> ≥ <Point|Number>other
  --- -<Boolean> isGreaterThanOrEqualTo:<Point|Number>other
  --- Whether both coordinates are at least those of the other.
  --- > (1 @ 3) >= (2 @ 3) ⇒ false
  ["isGreaterThanOrEqualTo:"] = comparison("isGreaterThanOrEqualTo_", K.ge),
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Whether the other is a point with the same coordinates.
  --- > (1 @ 2) = (1 @ 2) ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isPoint == true and eq(self.i_x, other.i_x)
      and eq(self.i_y, other.i_y)
  end,
  --- -<Point> negated
  --- The point with the other sign of each coordinate.
  --- > (1 @ -2) negated ⇒ -1 @ 2
  ["negated"] = function(self) return point(-self.i_x, -self.i_y) end,
  --- -<Point> abs
  --- The point with the coordinates without their signs.
  --- > (1 @ -2) abs ⇒ 1 @ 2
  ["abs"] = function(self) return point(math.abs(self.i_x), math.abs(self.i_y)) end,
  --- -<Point> rounded
  --- The point with the nearest whole coordinates. Halves round away from 0.
  --- > (1.5 @ 2.4) rounded ⇒ 2 @ 2
  ["rounded"] = function(self) return point(self.i_x:rounded(), self.i_y:rounded()) end,
  --- -<Point> truncated
  --- The point with the coordinates without their fractions.
  --- > (1.5 @ 2.4) truncated ⇒ 1 @ 2
  ["truncated"] = function(self) return point(self.i_x:truncated(), self.i_y:truncated()) end,
  --- -<Point> transposed
  --- The point with x and y exchanged.
  --- > (1 @ 2) transposed ⇒ 2 @ 1
  ["transposed"] = function(self) return point(self.i_y, self.i_x) end,
  --- -<Point> min:<Point|Number>other
  --- The point with the smaller of each coordinate.
  --- > (1 @ 5) min: (3 @ 2) ⇒ 1 @ 2
  ["min:"] = extreme(math.min),
  --- -<Point> max:<Point|Number>other
  --- The point with the greater of each coordinate.
  --- > (1 @ 5) max: (3 @ 2) ⇒ 3 @ 5
  ["max:"] = extreme(math.max),
  --- -<Number> dotProduct:<Point|Number>other
  --- The sum of the products of both x and both y.
  --- > (1 @ 2) dotProduct: (3 @ 4) ⇒ 11
  ["dotProduct:"] = function(self, other)
    local x, y = coordinates(other, "mul_", self)
    return self.i_x * x + self.i_y * y
  end,
  --- -<Number> distanceTo:<Point|Number>other
  --- The length of the line between both points.
  --- > (0 @ 0) distanceTo: (3 @ 4) ⇒ 5
  ["distanceTo:"] = function(self, other)
    local x, y = coordinates(other, "sub_", self)
    return math.sqrt((self.i_x - x) ^ 2 + (self.i_y - y) ^ 2)
  end,
  --- -<Number> length
  --- The distance from the origin 0 @ 0.
  --- > (3 @ 4) length ⇒ 5
  ["length"] = function(self) return math.sqrt(self.i_x ^ 2 + self.i_y ^ 2) end,
  --- -<Point> asPoint
  --- The point itself. A number answers a point with itself as both coordinates.
  --- > (3 @ 4) asPoint ⇒ 3 @ 4
  ["asPoint"] = function(self) return self end,
  --- -<Array> asArray
  --- An array of x and y.
  --- > (3 @ 4) asArray ⇒ [3, 4]
  ["asArray"] = function(self) return K.array { self.i_x, self.i_y } end,
  --- -<Rectangle> extent:<Point|Number>size
  --- The rectangle that begins at the point and has this size. A number is both width and height.
  --- > ((2 @ 3) extent: (10 @ 20)) area ⇒ 200
  ["extent:"] = function(self, size) return K.rectangle(self, size) end,
  --- -<Rectangle> corner:<Point|Number>corner
  --- The rectangle from the point to the opposite corner.
  --- > ((2 @ 3) corner: (12 @ 23)) size ⇒ 10 @ 20
  ["corner:"] = function(self, corner) return K.rectangle(self, corner:sub_(self)) end,
  --- -<Rectangle> asRectangle
  --- The rectangle from 0 @ 0 with the point as its size.
  --- > (3 @ 4) asRectangle area ⇒ 12
  ["asRectangle"] = function(self) return K.rectangle(point(0, 0), self) end,
  --- As in Object.
  ["copy"] = function(self) return self end,
  --- -<String> description
  --- The coordinates in braces.
  --- > (3 @ 4) description ⇒ '{3,4}'
  ["description"] = function(self)
    return "{" .. K.str(self.i_x) .. "," .. K.str(self.i_y) .. "}"
  end,
})
K.method(Point, "_keyText", function(self)
  return "p" .. K.str(self.i_x) .. "," .. K.str(self.i_y)
end)
K.classMethods(Point, {
  --- +<Point> new
  --- The point 0 @ 0.
  --- > Point new ⇒ 0 @ 0
  ["new"] = function() return point(0, 0) end,
  --- +<Point> x:<Number|BigInteger|Decimal>x y:<Number|BigInteger|Decimal>y
  --- The point with these coordinates, as `x @ y` makes it.
  --- > Point x: 3 y: 4 ⇒ 3 @ 4
  ["x:y:"] = function(_, x, y) return K.point(x, y) end,
  --- +<Point> fromArray:<Array>list
  --- The point with the first two elements of the array as x and y.
  --- > Point fromArray: [3, 4] ⇒ 3 @ 4
  ["fromArray:"] = function(_, list) return K.point(list:at_(0), list:at_(1)) end,
})
K.methods(K.classes.Number, {
  --- -<Point> @ <Number|BigInteger|Decimal>y
  --- -<Point> pointWith:<Number|BigInteger|Decimal>y
  --- The point with the receiver as x and the argument as y.
  --- > 3 @ 4 ⇒ Point x: 3 y: 4
  ["pointWith:"] = function(self, y) return K.point(self, y) end,
  --- -<Point> asPoint
  --- The point with the number as both coordinates.
  --- > 3 asPoint ⇒ 3 @ 3
  ["asPoint"] = function(self) return point(self, self) end,
})

-- Rectangles ------------------------------------------------------------------------------------

--- A rectangle: a point as its origin and one as its size, as in `2 @ 3 extent: 10 @ 20`. Rectangles do not change.
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
  --- -<Point> origin
  --- The corner at which the rectangle begins, with the smallest coordinates.
  --- > ((2 @ 3) extent: (10 @ 20)) origin ⇒ 2 @ 3
  ["origin"] = function(self) return self.i_origin end,
  --- -<Point> size
  --- -<Point> extent
  --- Width and height as a point.
  --- > ((2 @ 3) extent: (10 @ 20)) size ⇒ 10 @ 20
  ["size"] = itsSize, ["extent"] = itsSize,
  --- -<Point> corner
  --- The corner opposite to the origin: the sum of origin and size.
  --- > ((2 @ 3) extent: (10 @ 20)) corner ⇒ 12 @ 23
  ["corner"] = corner,
  --- -<Number> x
  --- -<Number> left
  --- The smallest x.
  --- > ((2 @ 3) extent: (10 @ 20)) left ⇒ 2
  ["x"] = function(self) return self.i_origin.i_x end,
  --- -<Number> y
  --- -<Number> top
  --- The smallest y.
  --- > ((2 @ 3) extent: (10 @ 20)) top ⇒ 3
  ["y"] = function(self) return self.i_origin.i_y end,
  --- -<Number> width
  --- The width.
  --- > ((2 @ 3) extent: (10 @ 20)) width ⇒ 10
  ["width"] = function(self) return self.i_size.i_x end,
  --- -<Number> height
  --- The height.
  --- > ((2 @ 3) extent: (10 @ 20)) height ⇒ 20
  ["height"] = function(self) return self.i_size.i_y end,
  ["left"] = function(self) return self.i_origin.i_x end,
  ["top"] = function(self) return self.i_origin.i_y end,
  --- -<Number> right
  --- The x at which the rectangle ends: left plus width.
  --- > ((2 @ 3) extent: (10 @ 20)) right ⇒ 12
  ["right"] = function(self) return corner(self).i_x end,
  --- -<Number> bottom
  --- The y at which the rectangle ends: top plus height.
  --- > ((2 @ 3) extent: (10 @ 20)) bottom ⇒ 23
  ["bottom"] = function(self) return corner(self).i_y end,
  --- -<Point> center
  --- The point in the middle.
  --- > ((2 @ 3) extent: (10 @ 20)) center ⇒ 7 @ 13
  ["center"] = function(self) return self.i_origin:add_(self.i_size:_over(2)) end,
  --- -<Number> area
  --- The product of width and height.
  --- > ((2 @ 3) extent: (10 @ 20)) area ⇒ 200
  ["area"] = function(self) return self.i_size.i_x * self.i_size.i_y end,
  --- -<Boolean> containsPoint:<Point|Number>place
  --- -<Boolean> includes:<Point|Number>place
  --- Whether the point lies in the rectangle. Its left and top edges belong to it, right and bottom do not.
  --- > ((2 @ 3) extent: (10 @ 20)) containsPoint: (5 @ 5) ⇒ true
  ["containsPoint:"] = containsPoint, ["includes:"] = containsPoint,
  --- -<Rectangle> insetBy:<Point|Number>amount
  --- The rectangle whose edges lie inward by this amount; outward for a negative one.
  --- > ((0 @ 0) extent: (10 @ 20)) insetBy: 2 ⇒ (2 @ 2) extent: (6 @ 16)
  ["insetBy:"] = function(self, amount)
    amount = expectPoint(amount, "insetBy:")
    return K.rectangle(self.i_origin:add_(amount), self.i_size:sub_(amount:mul_(2)))
  end,
  --- -<Rectangle> + <Point|Number?>offset
  --- -<Rectangle> add:<Point|Number?>offset
  --- -<Rectangle> translatedBy:<Point|Number?>offset
  --- The rectangle of the same size with its origin moved by the offset.
  --- > ((0 @ 0) extent: (10 @ 20)) translatedBy: (1 @ 2) ⇒ (1 @ 2) extent: (10 @ 20)
  ["translatedBy:"] = function(self, offset)
    return K.rectangle(self.i_origin:add_(offset), self.i_size)
  end,
  ["add:"] = function(self, offset) return K.rectangle(self.i_origin:add_(offset), self.i_size) end,
  --- -<Rectangle> - <Point|Number?>offset
  --- -<Rectangle> sub:<Point|Number?>offset
  --- The rectangle of the same size with its origin moved back by the offset.
  --- > ((1 @ 2) extent: (10 @ 20)) - (1 @ 2) ⇒ (0 @ 0) extent: (10 @ 20)
  ["sub:"] = function(self, offset) return K.rectangle(self.i_origin:sub_(offset), self.i_size) end,
  --- -<Rectangle> * <Point|Number?>factor
  --- -<Rectangle> mul:<Point|Number?>factor
  --- The rectangle with origin and size multiplied by the factor.
  --- > ((1 @ 2) extent: (10 @ 20)) * 2 ⇒ (2 @ 4) extent: (20 @ 40)
  ["mul:"] = function(self, factor)
    return K.rectangle(self.i_origin:mul_(factor), self.i_size:mul_(factor))
  end,
  --- -<Rectangle> intersect:<Rectangle>other
  --- The part that both rectangles share; one of size 0 in a direction in which they do not overlap.
  --- > ((0 @ 0) extent: 10) intersect: ((5 @ 5) extent: 10) ⇒ (5 @ 5) extent: 5
  ["intersect:"] = combined("max_", "min_", "intersect:"),
  --- -<Rectangle> union:<Rectangle>other
  --- The smallest rectangle that contains both.
  --- > ((0 @ 0) extent: 10) union: ((5 @ 5) extent: 10) ⇒ (0 @ 0) extent: 15
  ["union:"] = combined("min_", "max_", "union:"),
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Whether the other is a rectangle with the same origin and size.
  --- > ((0 @ 0) extent: 10) = (10 @ 10) asRectangle ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other.i_size ~= nil and eq(self.i_origin, other.i_origin)
      and eq(self.i_size, other.i_size)
  end,
  --- As in Object.
  ["copy"] = function(self) return self end,
  --- -<String> description
  --- Origin and size, each in braces.
  --- > ((2 @ 3) extent: (10 @ 20)) description ⇒ '{{2,3},{10,20}}'
  ["description"] = function(self)
    return "{" .. K.str(self.i_origin) .. "," .. K.str(self.i_size) .. "}"
  end,
})
K.method(Rectangle, "_keyText", function(self)
  return "r" .. K.str(self)
end)
K.classMethods(Rectangle, {
  --- +<Rectangle> new
  --- The rectangle at 0 @ 0 without extent.
  --- > Rectangle new area ⇒ 0
  ["new"] = function() return K.rectangle(0, 0) end,
  --- +<Rectangle> origin:<Point|Number>origin extent:<Point|Number>size
  --- The rectangle that begins at the origin and has this size. A number stands for both coordinates.
  --- > (Rectangle origin: 2 @ 3 extent: 10 @ 20) area ⇒ 200
  ["origin:extent:"] = function(_, origin, size) return K.rectangle(origin, size) end,
  --- +<Rectangle> origin:<Point|Number>origin corner:<Point|Number>corner
  --- The rectangle from the origin to the opposite corner.
  --- > (Rectangle origin: 2 @ 3 corner: 12 @ 23) size ⇒ 10 @ 20
  ["origin:corner:"] = function(_, origin, far) return K.rectangle(origin, far:sub_(origin)) end,
})
