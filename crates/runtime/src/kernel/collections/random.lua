-- Random numbers from a seed: the same sequence in each run and on each machine.
local K = ...
local type, floor, setmetatable = type, math.floor, setmetatable
local bit = require "bit"
local bor, bxor, lshift, rshift, tobit = bit.bor, bit.bxor, bit.lshift, bit.rshift, bit.tobit
local throw, NULL = K.throw, K.NULL

--- Random numbers from a seed: `#Random{ seed: 42 }` answers the same sequence in each run, for tests and simulations.
--- Anybody who sees some of its numbers can compute the next ones: secrets need `Secret random` or `UUID new`.
local Random = K.newClass("Random", K.classes.Object)
for _, field in ipairs { "_a", "_b", "_c", "_d" } do K.nilKeys[field] = true end

-- sfc32 of PractRand (Chris Doty-Humphrey): 128 bits of state, of which 32 count, so that no cycle is short.
local function draw(self)
  local sum = tobit(tobit(self._a + self._b) + self._d)
  self._d = tobit(self._d + 1)
  self._a = bxor(self._b, rshift(self._b, 9))
  self._b = tobit(self._c + lshift(self._c, 3))
  self._c = tobit(bor(lshift(self._c, 21), rshift(self._c, 11)) + sum)
  return sum % 4294967296
end

local function seed(self, number)
  number = K.expectInteger(number, "seed:")
  if number < 0 or number > 9007199254740991 then
    throw("outOfRange", "seed: expects a whole number from 0 to 2^53 - 1, got " .. K.str(number))
  end
  self._a, self._b, self._c, self._d = 0, tobit(floor(number / 4294967296)), tobit(number % 4294967296), 1
  for _ = 1, 15 do draw(self) end
  return self
end

-- 53 random bits as a number from 0 up to, but not including, 1.
local function fraction(self)
  local high, low = rshift(tobit(draw(self)), 5), rshift(tobit(draw(self)), 6)
  return (high * 67108864 + low) / 9007199254740992
end

-- A whole number from 0 up to, but not including, n.
local function below(self, n) return floor(fraction(self) * n) end

local function make(class)
  return seed(setmetatable({}, class._methods), floor(math.random() * 9007199254740991))
end

local function pick(self, collection)
  local list = type(collection) == "string" and collection:_elements() or K.elementsOf(collection, "pick:")
  if #list == 0 then return nil end
  local value = list[below(self, #list) + 1]
  if value == NULL then return nil end
  return value
end

K.methods(Random, {
  --- -<self> setSeed:<Number>seed
  --- -<self> seed:<Number>seed
  --- Begins the sequence of this seed, a whole number from 0 to 2^53 - 1.
  --- > (Random seed: 42) next = (Random seed: 42) next ⇒ true
  ["setSeed:"] = seed, ["seed:"] = seed,
  --- -<Number> next
  --- The next number, from 0 up to, but not including, 1.
  --- > #Random{ seed: 42 } next < 1 ⇒ true
  ["next"] = fraction,
  --- -<Number> next:<Number>count
  --- The next whole number from 0 up to, but not including, the count.
  --- > (0 to: 5) includes: (#Random{ seed: 42 } next: 6) ⇒ true
  ["next:"] = function(self, n)
    n = K.expectInteger(n, "next:")
    if n < 1 then throw("outOfRange", "next: expects a count from 1 on, got " .. K.str(n)) end
    return below(self, n)
  end,
  --- -<Number> from:<Number>least to:<Number>greatest
  --- The next whole number between two, both included.
  --- > (1 to: 6) includes: (#Random{ seed: 42 } from: 1 to: 6) ⇒ true
  ["from:to:"] = function(self, least, greatest)
    least, greatest = K.expectInteger(least, "from:to:"), K.expectInteger(greatest, "from:to:")
    if greatest < least then throw("outOfRange", "from:to: expects the smaller number first") end
    return least + below(self, greatest - least + 1)
  end,
  --- -<any> pick:<Collection|String>collection
  --- One of the elements, each with the same probability; nil for an empty collection.
  --- > ['heads', 'tails'] includes: (#Random{ seed: 42 } pick: ['heads', 'tails']) ⇒ true
  ["pick:"] = pick,
  --- -<Array> shuffle:<Collection>collection
  --- A new Array of the elements in random order.
  --- > (#Random{ seed: 42 } shuffle: (1 to: 5)) sorted ⇒ [1, 2, 3, 4, 5]
  ["shuffle:"] = function(self, collection)
    local out = {}
    for i, value in ipairs(K.elementsOf(collection, "shuffle:")) do out[i] = value end
    for i = #out, 2, -1 do
      local j = below(self, i) + 1
      out[i], out[j] = out[j], out[i]
    end
    return K.array(out)
  end,
})
K.classMethods(Random, {
  --- +<Random> new
  --- +<Random> alloc
  --- A generator with a random seed.
  --- > Random new next < 1 ⇒ true
  ["new"] = make, ["alloc"] = make,
  --- +<Random> seed:<Number>seed
  --- A generator with a seed, as `#Random{ seed: 42 }`.
  --- > ((Random seed: 7) shuffle: (1 to: 9)) = ((Random seed: 7) shuffle: (1 to: 9)) ⇒ true
  ["seed:"] = function(class, number) return seed(setmetatable({}, class._methods), number) end,
})
