-- Filters with several targets or sources, and the queue.
local K = ...
local rawequal = rawequal
local throw, define = K.throw, K.defineFilter

-- A branch that has no target of its own, or had the old one, gets the new one.
local function retarget(branch, old, new)
  if K.endsByDefault(branch) or old and K.isStream(branch) and rawequal(branch:finalTarget(),
    old) then
    branch:setFinalTarget_(new)
  end
end

local function addBranch(self, component)
  local branch = K.toStream(component)
  retarget(branch, nil, self._target or nil)
  self._outputs = self._outputs or {}
  self._outputs[#self._outputs + 1] = branch
  return self
end

-- Writes each object to several streams; what they make goes to one target.
define("ScatterStream", "MPWScatterStream", {
  ["writeObject:"] = function(self, object)
    local outputs = self._outputs
    if outputs then
      for i = 1, #outputs do outputs[i]:writeObject_(object) end
    end
  end,
  ["setFilters:"] = function(self, list)
    self._outputs = {}
    list = K.elementsOf(list, "filters:")
    for i = 1, #list do addBranch(self, list[i]) end
    return self
  end,
  ["addFilter:"] = addBranch,
  ["filters"] = function(self)
    local list = {}
    for i, stream in ipairs(self._outputs or {}) do list[i] = stream end
    return K.array(list)
  end,
  ["setTarget:"] = function(self, target)
    local old = self._target
    self._target = target == nil and false or target
    for _, branch in ipairs(self._outputs or {}) do retarget(branch, old, target) end
    return self
  end,
  ["flush"] = function(self)
    for _, stream in ipairs(self._outputs or {}) do
      if K.isStream(stream) then stream:flush() end
    end
    return self
  end,
  ["close"] = function(self)
    for _, stream in ipairs(self._outputs or {}) do
      if K.isStream(stream) then stream:close() end
    end
    return self
  end,
}, {
  ["filters:"] = function(class, list) return class:new():setFilters_(list) end,
  ["fromArray:"] = function(class, list) return class:new():setFilters_(list) end,
})

-- Passes on the latest object of each of several sources, as an array, whenever one arrives; from
-- when each has sent something.
define("CombinerStream", "MPWCombinerStream", {
  ["setCount:"] = function(self, n)
    self._latest, self._arrived, self._sources = {}, 0, K.expectInteger(n, "count:")
    return self
  end,
  ["writeObject:from:"] = function(self, object, place)
    if not self._sources then
      throw("outOfRange", "a CombinerStream needs its count of sources first")
    end
    if place < 0 or place >= self._sources then K.outOfRange(place, self._sources) end
    local latest = self._latest
    if latest[place + 1] == nil then self._arrived = self._arrived + 1 end
    latest[place + 1] = object == nil and K.NULL or object
    if self._arrived == self._sources then
      local values = {}
      for i = 1, self._sources do values[i] = latest[i] end
      self:forward_(K.array(values))
    end
  end,
  -- The stream for the source at a place.
  ["inputAt:"] = function(self, place)
    return K.mapFilter(function(object)
      self:writeObject_from_(object, place)
      return nil
    end)
  end,
  ["inputs"] = function(self)
    local list = {}
    for i = 1, self._sources or 0 do list[i] = self:inputAt_(i - 1) end
    return K.array(list)
  end,
}, { ["count:"] = function(class, n) return class:new():setCount_(n) end })

-- Holds objects until it is flushed.
local CAPACITY = 1048576
define("Queue", "MPWQueue", {
  ["init"] = function(self)
    self._items, self._from, self._left, self._seen = {}, 1, CAPACITY, false
    return self
  end,
  ["setCapacity:"] = function(self, n)
    self._left = K.expectInteger(n, "capacity:")
    return self
  end,
  -- Whether an object that already waits is left out.
  ["setUnique:"] = function(self, unique)
    self._seen = K.truth(unique) and {} or false
    return self
  end,
  ["writeObject:"] = function(self, object)
    if object == nil then return end
    local seen = self._seen
    if seen then
      local key = K.key(object)
      if seen[key] then return end
      seen[key] = true
    end
    if #self._items - self._from + 1 >= self._left then
      throw("tooLarge", "the Queue is full: it holds " .. K.str(self._left) .. " objects")
    end
    self._items[#self._items + 1] = object
  end,
  ["nextObject"] = function(self)
    local items, from = self._items, self._from
    local object = items[from]
    if object == nil then return nil end
    if self._seen then self._seen[K.key(object)] = nil end
    items[from], self._from = false, from + 1
    if self._from > #items then self._items, self._from = {}, 1 end
    return object
  end,
  ["count"] = function(self) return #self._items - self._from + 1 end,
  ["isEmpty"] = function(self) return self:count() == 0 end,
  ["flush"] = function(self)
    while true do
      local object = self:nextObject()
      if object == nil then break end
      self:forward_(object)
    end
    return K.classes.WriteStream._methods.flush(self)
  end,
  ["close"] = function(self)
    self:flush()
    return K.classes.WriteStream._methods.close(self)
  end,
}, { ["capacity:"] = function(class, n) return class:new():setCapacity_(n) end })
