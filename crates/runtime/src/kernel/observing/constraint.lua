-- Constraints: `a |= b`, `a |= expression`, `a =|= b`. A constraint takes effect when it is made, and
-- after every change of what it reads.
local K = ...
local type, rawget, setmetatable, error = type, rawget, setmetatable, error
local running = coroutine.running
local throw, same = K.throw, K.sameValue
local classes = K.classes

--- What `a |= b` and `a =|= b` answer: the left end gets the value of the right one at once and after each change.
local Constraint = K.newClass("Constraint", K.classes.Connection)
for _, key in ipairs { "_left", "_right", "_update", "_stops" } do K.nilKeys[key] = true end

local function isReference(thing)
  return type(thing) == "table" and not K.isClass(thing) and thing._isReference
end

-- The reference that an end stands for. A variable that holds a control stands for its value.
local function endOf(thing)
  if type(thing) == "table" and not K.isClass(thing) then
    if rawget(thing, "_isControl") or thing._isControl then return thing:valueReference() end
    if thing._isReference then
      local scheme = thing._scheme
      if (scheme == "var" or scheme == "default") and not rawget(thing, "_store") and not thing._observe then
        local held = thing:value()
        if type(held) == "table" and not K.isClass(held) and held._isControl then return held:valueReference() end
      end
      return thing
    end
  end
  throw("typeError", "a constraint joins two references or variables",
    { i_hint = "write a name or `scheme:path` on both sides" })
end

-- What makes the left end equal to what `read` answers. A place that is telling its observers keeps
-- its value: a change does not come back to where it began.
local function updater(left, read)
  local get, set, isTelling, isDirect = K.accessOf(left)
  local function write()
    local value = read()
    if same(get(), value) or isTelling() then return end
    set(value)
  end
  if isDirect then return write, true end
  local busy, again = false, false
  return function()
    -- A write may wait: what changes meanwhile is written after it. What it changes itself ends here.
    if busy then
      if busy ~= (running() or 0) then again = true end
      return
    end
    busy = running() or 0
    repeat
      again = false
      local ok, raised = K.try(write)
      if not ok then
        busy = false
        error(raised, 0)
      end
    until not again
    busy = false
  end
end

-- What keeps the constraints of variables and stores: for drawings.
local ofProgram = {}

local function endAll(constraint)
  local stops = constraint._stops
  constraint._stops = {}
  for i = 1, #stops do stops[i]() end
end

local function newConstraint(left, right, update, connector)
  local constraint = K.newConnection(right, left, connector or "|=")
  constraint._left, constraint._right, constraint._update, constraint._stops = left, right, update, {}
  return setmetatable(constraint, Constraint._methods)
end

-- It stands: the object whose property it writes keeps it, or the program.
local function linked(constraint)
  local object = constraint._left._object
  return K.linkConnection(constraint, type(object) == "table" and object or ofProgram, function() endAll(constraint) end)
end

local function follow(constraint, reference, update, isPlain)
  local stops = constraint._stops
  stops[#stops + 1] = K.observe(reference, update, isPlain)
end

-- Whole stores ------------------------------------------------------------------------------------

-- Each write and each deletion in one store is repeated in the other.
local function followStore(constraint, left, right)
  local source = K.schemeNamed(right._path)
  if not K.isKind(source, classes.LoggingStore) then
    source = source:logger()
    K.schemes[right._path] = source
  end
  local target = K.schemeNamed(left._path)
  local stops = constraint._stops
  stops[#stops + 1] = source:_follow(function(path)
    local value = K.storeGet(source, path)
    if K.eq(K.storeGet(target, path), value) then return end
    if value == nil then K.storeDelete(target, path) else K.storePutAt(target, path, value) end
  end)
end

local function constrainStores(left, right, both)
  local constraint = newConstraint(left, right, function() K.copyStore(K.schemeNamed(right._path), K.schemeNamed(left._path), "") end)
  followStore(constraint, left, right)
  if both then followStore(constraint, right, left) end
  return linked(constraint)
end

-- References --------------------------------------------------------------------------------------

-- Two ends begin with the right one's value, or with the left one's where the right one has none.
local function begin(left, right, update, back)
  if right:value() ~= nil then return update() end
  if back and left:value() ~= nil then return back() end
end

function K.constrain(left, right, both)
  if isReference(left) and isReference(right) and left._scheme == "scheme" and right._scheme == "scheme" then
    return constrainStores(left, right, both)
  end
  left, right = endOf(left), endOf(right)
  local readRight, _, _, isDirect, rightName = K.accessOf(right)
  local readLeft, _, _, _, leftName = K.accessOf(left)
  local update, toDirect = updater(left, readRight)
  local back = both and updater(right, readLeft)
  local isPlain = isDirect and toDirect
  local constraint = newConstraint(left, right, update, both and "=|=")
  local ok, raised = K.try(function()
    local areVariables = leftName and rightName
    follow(constraint, right, areVariables and K.copier(leftName) or update, isPlain)
    if back then follow(constraint, left, areVariables and K.copier(rightName) or back, isPlain) end
    begin(left, right, update, back)
  end)
  if ok then return linked(constraint) end
  endAll(constraint)
  error(raised, 0)
end

-- Expressions -------------------------------------------------------------------------------------

-- Whether one of the references has no value yet: then the expression may fail without being wrong.
local function isIncomplete(references)
  for i = 1, #references do
    local ok, value = K.try(references[i].value, references[i])
    if ok and value == nil then return true end
  end
  return false
end

-- The references of stores that an expression reads in methods, where the compiler does not see them.
-- Answers the value of the expression, too, or what it raised.
local function readIn(expression, references)
  local known, more = {}, {}
  for i = 1, #references do known[references[i]:stringValue()] = true end
  local value, list
  local ok, raised = K.try(function() value, list = K.tracked(expression) end)
  if not ok then return more, nil, raised end
  for i = 1, #list do
    if not known[list[i]:stringValue()] and K.observable(list[i]) then more[#more + 1] = list[i] end
  end
  return more, value
end

-- `left |= expression`; `references` are the places that the compiler found in it.
function K.constrainTo(left, expression, references)
  left = endOf(left)
  local more, first, failure = readIn(expression, references)
  if #references + #more == 0 then
    if failure then error(failure, 0) end
    if isReference(first) or type(first) == "table" and not K.isClass(first) and first._isControl then
      return K.constrain(left, first)
    end
    endOf(nil)
  end
  local function read()
    local ok, value = K.try(expression)
    if ok then return value end
    if not K.catchable(value) or not isIncomplete(references) then error(value, 0) end
  end
  local update = updater(left, read)
  local constraint = newConstraint(left, K.array(references, #references), update)
  local ok, raised = K.try(function()
    for i = 1, #references do follow(constraint, references[i], update) end
    -- Of these, those that report their changes.
    for i = 1, #more do K.try(function() follow(constraint, more[i], update) end) end
    if failure or first ~= nil then update() end
  end)
  if ok then return linked(constraint) end
  endAll(constraint)
  error(raised, 0)
end

local function shown(thing)
  if type(thing) == "table" and thing._isArray then
    local names = {}
    for i = 1, #thing do names[i] = thing[i]:stringValue() end
    return table.concat(names, ", ")
  end
  return thing:stringValue()
end

K.methods(Constraint, {
  --- -<self> update
  --- Assigns the present value of the right end to the left one.
  --- > n := 1. link := (double |= n * 2). link update. double ⇒ 2
  ["update"] = function(self)
    self._update()
    return self
  end,
  --- -<any> source
  --- What the constraint reads: a reference, a store, or an array of the references in an expression.
  --- > n := 1. link := (double |= n * 2). link source stringValue ⇒ 'var:n'
  ["source"] = function(self)
    local right = self._right
    if right._scheme == "scheme" then return K.schemeNamed(right._path) end
    if right._isArray and #right == 1 then return right[1] end
    return right
  end,
  --- -<Reference> target
  --- The reference that the constraint assigns.
  --- > n := 1. link := (double |= n * 2). link target stringValue ⇒ 'var:double'
  ["target"] = function(self) return self._left end,
  --- -<Boolean> isStream
  --- Whether the value is a stream: false.
  --- > n := 1. link := (double |= n * 2). link isStream ⇒ false
  ["isStream"] = function() return false end,
  --- -<String> description
  --- -<String> stringValue
  --- The two ends with the operator between them.
  --- > n := 1. link := (double |= n * 2). link description ⇒ 'var:double |= var:n'
  ["description"] = function(self)
    return shown(self._left) .. " " .. self._connector .. " " .. shown(self._right)
  end,
  ["stringValue"] = function(self) return self:description() end,
})
-- It stands for no other object.
for _, name in ipairs { "doesNotUnderstand_", "respondsTo_", "respondsToSelector_", "isKindOf_", "isKindOfClass_" } do
  K.method(Constraint, name, classes.Object._methods[name])
end
