-- Collections: beginnings and windows, combinations, statistics.
local K = ...
local floor = math.floor
local asBlock, throw, yes, add, mul, div = K.asBlock, K.throw, K.yes, K.add, K.mul, K.div
local NULL, slice = K.NULL, K.partOf
local Collection = K.classes.Collection

local function plain(value)
  if value == NULL then return nil end
  return value
end

-- How many elements at the beginning satisfy a condition.
local function beginning(list, block, selector)
  block = asBlock(block, selector)
  for i = 1, #list do
    if not yes(block(plain(list[i]))) then return i - 1 end
  end
  return #list
end

function K.windowSize(n)
  n = K.expectInteger(n, "windowsOf:")
  if n < 1 then throw("outOfRange", "windowsOf: expects a count from 1 on, got " .. K.str(n)) end
  return n
end

-- Orders and choices ------------------------------------------------------------------------------

-- Elements whose orders are listed: 10 have 3,628,800.
local MOST_PERMUTED = 10
-- Choices that are listed.
local MOST_CHOICES = 4194304

-- All orders of a Lua table, in the order of the positions.
local function permutations(self)
  local list, out, n = self:_elements(), {}, 0
  local size = #list
  if size > MOST_PERMUTED then
    throw("tooLarge", "permutations: of at most 10 elements, not " .. K.str(size))
  end
  local taken, order = {}, {}
  local function place(at)
    if at > size then
      n = n + 1
      out[n] = slice(order, 1, size)
      return
    end
    for i = 1, size do
      if not taken[i] then
        taken[i], order[at] = true, list[i]
        place(at + 1)
        taken[i] = false
      end
    end
  end
  place(1)
  return K.array(out)
end

local function combinations(self, n)
  n = K.expectInteger(n, "combinations:")
  local list, out, count = self:_elements(), {}, 1
  local size = #list
  if n < 0 then throw("outOfRange", "combinations: expects a count from 0 on, got " .. K.str(n)) end
  if n > size then return K.array(out) end
  for i = 1, math.min(n, size - n) do count = count * (size - i + 1) / i end
  if count > MOST_CHOICES then
    throw("tooLarge", "combinations: more than 4194304 choices of " .. K.str(n) .. " out of " .. K.str(size))
  end
  local chosen = {}
  local function choose(at, from)
    if at > n then
      out[#out + 1] = slice(chosen, 1, n)
      return
    end
    for i = from, size - n + at do
      chosen[at] = list[i]
      choose(at + 1, i + 1)
    end
  end
  choose(1, 1)
  return K.array(out)
end

-- Statistics --------------------------------------------------------------------------------------

-- The values of a key block for all elements but nil, as a Lua table.
local function values(self, key, selector)
  if key ~= nil then key = asBlock(key, selector) end
  local list, out, n = self:_elements(), {}, 0
  for i = 1, #list do
    local value = plain(list[i])
    if key then value = key(value) end
    if value ~= nil then
      n = n + 1
      out[n] = value
    end
  end
  return out, n
end

-- The value below which a share of the sorted values lies, interpolated between neighbours (as PostgreSQL's
-- percentile_cont).
local function quantile(list, n, percent)
  if n == 0 then return nil end
  local sorted = K.array(list):sorted()
  local at = percent * (n - 1) -- in hundredths of a position
  local low = floor(at / 100)
  local a, rest = sorted[low + 1], at - low * 100
  if rest == 0 then return a end
  return add(a, div(mul(K.sub(sorted[low + 2], a), rest), 100))
end

local function percentile(self, percent, key)
  percent = K.expectNumber(percent, "percentile:")
  if not (percent >= 0 and percent <= 100) then
    throw("outOfRange", "percentile: expects 0 to 100, got " .. K.str(percent))
  end
  local list, n = values(self, key, "percentile:of:")
  return quantile(list, n, percent)
end

local function median(self, key)
  local list, n = values(self, key, "median:")
  return quantile(list, n, 50)
end

-- The mean of the squared distances from the mean, of a population or of a sample of one. Two passes, because one
-- loses digits where the mean is large.
local function variance(self, key, selector, less)
  local list, n = values(self, key, selector)
  if n - less < 1 then return nil end
  local total = 0
  for i = 1, n do total = total + K.expectNumber(list[i], selector) end
  local mean, squares = total / n, 0
  for i = 1, n do squares = squares + (list[i] - mean) ^ 2 end
  return squares / (n - less)
end

local function deviation(less, selector)
  return function(self, key)
    local value = variance(self, key, selector, less)
    return value and math.sqrt(value)
  end
end
local ofPopulation, ofSample = deviation(0, "standardDeviation:"), deviation(1, "sampleStandardDeviation:")

local function product(self, key)
  local list, total = self:_elements(), 1
  if key ~= nil then key = asBlock(key, "product:") end
  for i = 1, #list do
    local value = plain(list[i])
    if key then value = key(value) end
    total = mul(total, value)
  end
  return total
end

local messages = {
  --- Collection -<Array> takeWhile:<Block(each)|String>condition
  --- String -<Array> takeWhile:<Block(each)|String>condition
  --- Answers the elements before the first one for which the condition is false. A lazy sequence answers one.
  --- > [1, 2, 5, 1] takeWhile: { :n | n < 3 } ⇒ [1, 2]
  ["takeWhile:"] = function(self, block)
    local list = self:_elements()
    return slice(list, 1, beginning(list, block, "takeWhile:"))
  end,
  --- Collection -<Array> dropWhile:<Block(each)|String>condition
  --- String -<Array> dropWhile:<Block(each)|String>condition
  --- Answers the elements from the first one on for which the condition is false.
  --- > [1, 2, 5, 1] dropWhile: { :n | n < 3 } ⇒ [5, 1]
  ["dropWhile:"] = function(self, block)
    local list = self:_elements()
    return slice(list, beginning(list, block, "dropWhile:") + 1, #list)
  end,
  --- Collection -<Array> windowsOf:<Number>count
  --- String -<Array> windowsOf:<Number>count
  --- Answers an Array of Arrays of `count` neighbouring elements, each one element further; none when there are fewer.
  --- `inGroupsOf:` answers groups without common elements.
  --- > [1, 2, 4, 8] windowsOf: 2 ⇒ [[1, 2], [2, 4], [4, 8]]
  ["windowsOf:"] = function(self, n)
    n = K.windowSize(n)
    local list, out = self:_elements(), {}
    for i = 1, #list - n + 1 do out[i] = slice(list, i, i + n - 1) end
    return K.array(out)
  end,
  --- Collection -<Array> permutations
  --- String -<Array> permutations
  --- Answers an Array of all orders of the elements, each an Array. More than 10 elements are a `tooLarge` error.
  --- > [1, 2, 3] permutations count ⇒ 6
  --- > ['a', 'b'] permutations ⇒ [['a', 'b'], ['b', 'a']]
  ["permutations"] = permutations,
  --- Collection -<Array> combinations:<Number>count
  --- String -<Array> combinations:<Number>count
  --- Answers an Array of all choices of `count` elements, each an Array in the order of the elements. More than
  --- 4,194,304 choices are a `tooLarge` error.
  --- > [1, 2, 3] combinations: 2 ⇒ [[1, 2], [1, 3], [2, 3]]
  ["combinations:"] = combinations,
}
K.methods(Collection, messages)
K.methods(K.classes.String, messages)

K.methods(Collection, {
  --- -<any> product
  --- Answers the product of the elements, 1 for none.
  --- > [2, 3, 4] product ⇒ 24
  ["product"] = function(self) return product(self) end,
  --- -<any> product:<Block(each)|String>block
  --- Answers the product of the block's values for all elements, 1 for none.
  --- > [1, 2] product: { :n | n + 1 } ⇒ 6
  ["product:"] = product,
  --- -<any> median
  --- Answers the middle of the sorted elements, the mean of the two middle ones for an even number; nil for none.
  --- Skips nil elements.
  --- > [5, 1, 3] median ⇒ 3
  --- > [1, 2, 3, 10] median ⇒ 2.5
  ["median"] = function(self) return median(self) end,
  --- -<any> median:<Block(each)|String>block
  --- Answers the median of the block's values for all elements.
  --- > [#{ ms: 3 }, #{ ms: 9 }, #{ ms: 4 }] median: 'ms' ⇒ 4
  ["median:"] = median,
  --- -<any> percentile:<Number>percent
  --- Answers the value below which this share of the sorted elements lies, interpolated between two neighbours as
  --- `percentile_cont` of PostgreSQL; nil for none. A percentage outside of 0 to 100 is an `outOfRange` error.
  --- > (1 to: 101) percentile: 95 ⇒ 96
  ["percentile:"] = function(self, percent) return percentile(self, percent) end,
  --- -<any> percentile:<Number>percent of:<Block(each)|String>block
  --- Answers the percentile of the block's values for all elements.
  --- > [#{ ms: 1 }, #{ ms: 3 }] percentile: 50 of: 'ms' ⇒ 2
  ["percentile:of:"] = percentile,
  --- -<Number?> variance
  --- Answers the mean of the squared distances of the numbers from their mean; nil for none. Skips nil elements.
  --- > [2, 4, 4, 4, 5, 5, 7, 9] variance ⇒ 4
  ["variance"] = function(self) return variance(self, nil, "variance", 0) end,
  --- -<Number?> standardDeviation
  --- Answers the square root of the variance of a population; nil for no elements.
  --- > [2, 4, 4, 4, 5, 5, 7, 9] standardDeviation ⇒ 2
  ["standardDeviation"] = function(self) return ofPopulation(self) end,
  --- -<Number?> standardDeviation:<Block(each)|String>block
  --- Answers the standard deviation of the block's values for all elements.
  --- > ['a', 'ccc'] standardDeviation: 'count' ⇒ 1
  ["standardDeviation:"] = ofPopulation,
  --- -<Number?> sampleStandardDeviation
  --- Answers the standard deviation that a sample suggests for what it was taken from, with n - 1; nil below two
  --- elements.
  --- > [1, 3] sampleStandardDeviation squared rounded ⇒ 2
  ["sampleStandardDeviation"] = function(self) return ofSample(self) end,
})
