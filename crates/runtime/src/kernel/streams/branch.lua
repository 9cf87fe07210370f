-- Filters with several targets or sources, and the queue.
local K = ...
local rawequal = rawequal
local throw = K.throw
local Filter = K.classes.Filter

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

--- Writes each object to several branches. What the branches pass on goes to one target. `#ScatterStream[ … ]` is the
--- literal.
local ScatterStream = K.newClass("ScatterStream", Filter)
K.alias("MPWScatterStream", ScatterStream)
K.methods(ScatterStream, {
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Writes the object to each branch, in their order.
  --- > both := #ScatterStream[ '-uppercase', '-reversed' ]. both writeObject: 'ab'. both target ⇒ ['AB', 'ba']
  ["writeObject:"] = function(self, object)
    local outputs = self._outputs
    if outputs then
      for i = 1, #outputs do outputs[i]:writeObject_(object) end
    end
  end,
  --- -<self> setFilters:<Collection>branches
  --- Replaces the branches, given as the stages of a Pipeline, and answers the stream.
  --- > (ScatterStream new setFilters: ['-uppercase', '-count']) process: 'ab' ⇒ ['AB', 2]
  ["setFilters:"] = function(self, list)
    self._outputs = {}
    list = K.elementsOf(list, "filters:")
    for i = 1, #list do addBranch(self, list[i]) end
    return self
  end,
  --- -<self> addFilter:<any>branch
  --- Adds a branch, given as a stage of a Pipeline, and answers the stream. A branch without a target gets the target
  --- of the stream.
  --- > (ScatterStream new addFilter: '-uppercase') process: 'ab' ⇒ ['AB']
  ["addFilter:"] = addBranch,
  --- -<Array> filters
  --- Answers the streams of the branches.
  --- > #ScatterStream[ '-uppercase', '-reversed' ] filters count ⇒ 2
  ["filters"] = function(self)
    local list = {}
    for i, stream in ipairs(self._outputs or {}) do list[i] = stream end
    return K.array(list)
  end,
  --- -<self> setTarget:<any>target
  --- Replaces the target of all branches that have no target of their own, and answers the stream.
  --- > list := []. (#ScatterStream[ '-uppercase' ] setTarget: list) writeObject: 'a'. list ⇒ ['A']
  ["setTarget:"] = function(self, target)
    local old = self._target
    self._target = target == nil and false or target
    for _, branch in ipairs(self._outputs or {}) do retarget(branch, old, target) end
    return self
  end,
  --- As in WriteStream.
  ["flush"] = function(self)
    for _, stream in ipairs(self._outputs or {}) do
      if K.isStream(stream) then stream:flush() end
    end
    return self
  end,
  --- As in WriteStream.
  ["close"] = function(self)
    for _, stream in ipairs(self._outputs or {}) do
      if K.isStream(stream) then stream:close() end
    end
    return self
  end,
})
K.classMethods(ScatterStream, {
  --- +<self> filters:<Collection>branches
  --- +<self> fromArray:<Collection>branches
  --- Answers a new stream with the branches, given as the stages of a Pipeline.
  --- > (ScatterStream filters: ['-uppercase', '-reversed']) process: 'ab' ⇒ ['AB', 'ba']
  ["filters:"] = function(class, list) return class:new():setFilters_(list) end,
  ["fromArray:"] = function(class, list) return class:new():setFilters_(list) end,
})

--- Passes on an array of the latest object of each source whenever one arrives, once each source has written one.
local CombinerStream = K.newClass("CombinerStream", Filter)
K.alias("MPWCombinerStream", CombinerStream)
K.methods(CombinerStream, {
  --- -<self> setCount:<Number>count
  --- Sets how many sources there are, forgets their objects and answers the stream.
  --- > #CombinerStream{ count: 2 } inputs count ⇒ 2
  ["setCount:"] = function(self, n)
    self._latest, self._arrived, self._sources = {}, 0, K.expectInteger(n, "count:")
    return self
  end,
  --- -<nothing> writeObject:<any>object from:<Number>place
  --- Takes the object as the latest one of the source at the place, counted from 0. Without a count of sources, or at
  --- another place, this is an `outOfRange` error.
  --- > last := CombinerStream count: 2. last writeObject: 1 from: 0; writeObject: 2 from: 1. last target ⇒ [[1, 2]]
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
  --- -<WriteStream> inputAt:<Number>place
  --- Answers a stream for the source at the place, counted from 0. nil is ignored.
  --- > latest := CombinerStream count: 1. (latest inputAt: 0) writeObject: 'x'. latest target ⇒ [['x']]
  ["inputAt:"] = function(self, place)
    return K.mapFilter(function(object)
      self:writeObject_from_(object, place)
      return nil
    end)
  end,
  --- -<Array> inputs
  --- Answers a stream for each source.
  --- > latest := CombinerStream count: 1. latest inputs first writeObject: 'x'. latest target ⇒ [['x']]
  ["inputs"] = function(self)
    local list = {}
    for i = 1, self._sources or 0 do list[i] = self:inputAt_(i - 1) end
    return K.array(list)
  end,
})
K.classMethods(CombinerStream, {
  --- +<self> count:<Number>count
  --- Answers a new stream for `count` sources.
  --- > (CombinerStream count: 2) inputs count ⇒ 2
  ["count:"] = function(class, n) return class:new():setCount_(n) end,
})

-- Objects that a queue holds unless it says otherwise.
local CAPACITY = 1048576
--- Holds objects until it is flushed or closed, at most 1,048,576 by default. With `async: true` a fiber empties it, so
--- that the writer does not wait.
local Queue = K.newClass("Queue", Filter)
K.alias("MPWQueue", Queue)
K.methods(Queue, {
  --- As in Object.
  ["init"] = function(self)
    self._items, self._from, self._left, self._seen = {}, 1, CAPACITY, false
    return self
  end,
  --- -<self> setCapacity:<Number>count
  --- Sets how many objects the queue holds at most, 1,048,576 by default, and answers it.
  --- > #Queue{ capacity: 2 } process: 1 ⇒ [1]
  ["setCapacity:"] = function(self, n)
    n = K.expectInteger(n, "capacity:")
    if n < 1 then throw("outOfRange", "capacity: expects a count from 1 on, got " .. K.str(n)) end
    self._left = n
    return self
  end,
  --- -<self> setUnique:<Boolean>unique
  --- Sets whether the queue drops an object that equals a waiting one, false by default, and answers it.
  --- > queue := #Queue{ unique: true }. queue ! 'a'; writeObject: 'a'. queue count ⇒ 1
  ["setUnique:"] = function(self, unique)
    self._seen = K.truth(unique) and {} or false
    return self
  end,
  -- Replaced and documented in sources.lua, which adds the fiber of `async: true`.
  ["writeObject:"] = function(self, object)
    if object == nil then return end
    local seen = self._seen
    if seen then
      local key = K.key(object)
      if seen[key] then return end
      seen[key] = true
    end
    if #self._items - self._from + 1 >= self._left then
      throw("tooLarge", "the Queue is full: it holds " .. (self._left == 1 and "1 object" or K.str(self._left) .. " objects"))
    end
    self._items[#self._items + 1] = object
  end,
  --- -<any> nextObject
  --- Removes the oldest object and answers it; nil for an empty queue.
  --- > queue := Queue new. queue ! 'a'; writeObject: 'b'. queue nextObject ⇒ 'a'
  ["nextObject"] = function(self)
    local items, from = self._items, self._from
    local object = items[from]
    if object == nil then return nil end
    if self._seen then self._seen[K.key(object)] = nil end
    items[from], self._from = false, from + 1
    if self._from > #items then self._items, self._from = {}, 1 end
    return object
  end,
  --- -<Number> count
  --- Answers how many objects wait.
  --- > queue := Queue new. queue ! 'a'; writeObject: 'b'. queue count ⇒ 2
  ["count"] = function(self) return #self._items - self._from + 1 end,
  --- -<Boolean> isEmpty
  --- Answers whether no object waits.
  --- > Queue new isEmpty ⇒ true
  ["isEmpty"] = function(self) return self:count() == 0 end,
  --- -<self> flush
  --- Passes on all objects that wait, flushes the streams behind, and answers the queue.
  --- > queue := Queue new. queue ! 1; flush. queue target ⇒ [1]
  ["flush"] = function(self)
    while true do
      local object = self:nextObject()
      if object == nil then break end
      self:forward_(object)
    end
    return K.classes.WriteStream._methods.flush(self)
  end,
  --- -<self> close
  --- Passes on all objects that wait, closes the streams behind, and answers the queue.
  --- > queue := Queue new. queue ! 1; close. queue target ⇒ [1]
  ["close"] = function(self)
    self:flush()
    return K.classes.WriteStream._methods.close(self)
  end,
})
K.classMethods(Queue, {
  --- +<self> capacity:<Number>count
  --- Answers a new queue that holds at most `count` objects.
  --- > (Queue capacity: 100) isEmpty ⇒ true
  ["capacity:"] = function(class, n) return class:new():setCapacity_(n) end,
})
