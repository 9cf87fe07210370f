-- Widgets and their properties. A property holds a value, a reference or a block; the last two are
-- live: while something watches the property, it follows them.
--
-- `_given` of a widget maps the name of a property to what it was given, `_watchers` to the functions
-- that are called after a change, `_sources` to what ends the observation of its references.
local K = ...
local type, rawget, rawset, setmetatable, ipairs, pairs = type, rawget, rawset, setmetatable, ipairs, pairs
local throw = K.throw
local Reference = K.classes.Reference

--- A part of a window: a field, a button, a table. Its properties take a value, a reference or a block, which are
--- followed.
local Widget = K.newClass("Widget", K.classes.Object)
K.alias("NSView", Widget)
Widget._plainName = true
for _, key in ipairs {
  "_isWidget", "_isControl", "_given", "_watchers", "_sources", "_references", "_observe", "_actions",
  "_parent", "_properties", "_view", "_seen", "_session", "_id", "_events",
} do K.nilKeys[key] = true end
rawset(Widget._methods, "_isWidget", true)

local function isWidget(value) return type(value) == "table" and not K.isClass(value) and value._isWidget == true end
K.isWidget = isWidget
local function isReference(value)
  return type(value) == "table" and not K.isClass(value) and value._isReference == true
end
K.isLiveReference = isReference

-- Kinds of values ---------------------------------------------------------------------------------

-- What a property makes of a value: `convert(value, widget, name)`.
local kinds = {}
function kinds.any(value) return value end
function kinds.text(value) return value == nil and "" or K.str(value) end
function kinds.boolean(value) return K.truth(value) end
function kinds.number(value, widget, name)
  if value == nil or type(value) == "number" then return value end
  if type(value) == "table" and value._isBig then return K.bigToNumber(value) end
  local number = K.classes.String._methods.asNumber(K.str(value))
  if type(number) == "number" then return number end
  throw("typeError", name .. " of " .. K.nameOf(widget) .. " must be a number, not " .. K.nameOf(value))
end
function kinds.list(value, widget, name)
  if value == nil then return K.array({}, 0) end
  if isReference(value) then value = value:value() end
  if isWidget(value) then return K.array { value } end
  if type(value) == "table" and not K.isClass(value) and value._isArray then return value end
  if type(value) == "table" and not K.isClass(value) and (value._isCollection or K.understands(value, "do_")) then
    local list = {}
    value:do_(function(one) list[#list + 1] = K.orNull(one) end)
    return K.array(list, #list)
  end
  throw("typeError", name .. " of " .. K.nameOf(widget) .. " must be a collection, not " .. K.nameOf(value))
end
function kinds.frame(value, widget, name)
  if value == nil or K.isKind(value, K.classes.Rectangle) then return value end
  throw("typeError", name .. " of " .. K.nameOf(widget) .. " must be a rectangle, not " .. K.nameOf(value),
    { i_hint = "write `frame: (10 @ 45 extent: 180 @ 24)`" })
end
-- What is called with the user's input: never read, so a block is no live value.
function kinds.handler(value) return value end
function kinds.menu(value) return value end

-- Declaring ---------------------------------------------------------------------------------------

-- The property of a class: its kind, its default, and whether a block in it is a handler.
local function propertyOf(self, name) return self._properties[name] end

local current, put

function K.widgetClass(name, super, kind, properties, aliases)
  local class = K.newClass(name, super)
  class._plainName = true
  local all = {}
  for key, property in pairs(rawget(super._methods, "_properties") or {}) do all[key] = property end
  rawset(class._methods, "_view", kind)
  for key, property in pairs(properties) do
    all[key] = { kind = kinds[property[1]], default = property[2], isHandler = property[1] == "handler" }
    K.method(class, K.mangle(key), function(self) return current(self, key) end)
    K.method(class, K.mangle(K.setterName(key)), function(self, value) put(self, key, value) return self end)
  end
  rawset(class._methods, "_properties", all)
  for _, alias in ipairs(aliases or {}) do K.alias(alias, class) end
  return class
end

-- Another name of a property, such as the original's `stringValue`.
function K.propertyAlias(class, alias, name)
  K.method(class, K.mangle(alias), function(self) return current(self, name) end)
  K.method(class, K.mangle(K.setterName(alias)), function(self, value) put(self, name, value) return self end)
end

-- Reading and writing -----------------------------------------------------------------------------

-- Properties that hold widgets: their blocks make new ones, so that they run when what they read has changed only.
local holding = { children = true, rows = true, view = true, dialogs = true }

local function givenOf(self, name)
  local given = rawget(self, "_given")
  return given and given[name]
end
K.givenProperty = givenOf

function current(self, name)
  local property = self._properties[name]
  local value = givenOf(self, name)
  if property.isHandler then return value end
  if isReference(value) then
    value = value:value()
  elseif type(value) == "function" then
    -- While it is followed, a block that makes widgets has made those that are shown.
    local sources = holding[name] and rawget(self, "_sources")
    local entry = sources and sources[name]
    if entry and entry.value ~= nil then value = entry.value else value = value() end
  end
  if value == nil then value = property.default end
  return property.kind(value, self, name)
end
K.readProperty = current

-- Tells those who watch the property.
local function notify(self, name)
  local watchers = rawget(self, "_watchers")
  local list = watchers and watchers[name]
  if not list then return end
  local copy = {}
  for i = 1, #list do copy[i] = list[i] end
  for i = 1, #copy do copy[i].update() end
end
K.notifyProperty = notify

local startSource, stopSource

-- Gives the property a value, a reference or a block.
function put(self, name, value)
  local given = rawget(self, "_given")
  if not given then
    given = {}
    rawset(self, "_given", given)
  end
  local property = self._properties[name]
  local isLive = isReference(value) or type(value) == "function"
  -- A value goes to the reference that the property follows.
  if not isLive and not property.isHandler and isReference(given[name]) and value ~= nil then
    if not K.eq(given[name]:value(), value) then given[name]:setValue_(value) end
    return notify(self, name)
  end
  if not isLive and not property.isHandler then property.kind(value, self, name) end
  stopSource(self, name)
  local before = given[name]
  given[name] = value
  local watchers = rawget(self, "_watchers")
  if watchers and watchers[name] then startSource(self, name) end
  if isLive or not K.eq(before, value) then notify(self, name) end
end
K.putProperty = put

-- Watching ----------------------------------------------------------------------------------------

-- Widgets with a watched block, whose value is compared after each event of the user: a block may read
-- what cannot tell of its changes.
local blocks = {}
-- Widgets that follow references or blocks.
local followers = setmetatable({}, { __mode = "k" })

local function observeAll(entry, stops, references)
  for i = 1, #references do
    local ok, stop = K.try(K.observe, references[i], entry.changed)
    if ok then stops[#stops + 1] = stop end
  end
end

local function endAll(stops)
  for i = 1, #stops do stops[i]() end
end

-- A copy of a short list of texts and numbers; nil for anything else, whose parts may change.
local SHORT = 1000
local function plainItems(value)
  if type(value) ~= "table" or K.isClass(value) or not value._isArray or #value > SHORT then return nil end
  local copy = {}
  for i = 1, #value do
    if type(value[i]) ~= "string" and type(value[i]) ~= "number" then return nil end
    copy[i] = value[i]
  end
  return copy
end

local function sameItems(before, after)
  if not before or not after or #before ~= #after then return false end
  for i = 1, #before do
    if before[i] ~= after[i] then return false end
  end
  return true
end

-- Runs the block, and observes the references of stores that it reads now.
local function retrack(self, name, block)
  local entry = rawget(self, "_sources")[name]
  if not entry then return end
  local value, references = K.tracked(block)
  entry.value, entry.plain = value, plainItems(value)
  endAll(entry.stops)
  entry.stops = {}
  observeAll(entry, entry.stops, references)
  -- Collections in variables are changed in place.
  local held = {}
  for _, reference in ipairs(K.variablesRead(block)) do
    local inside = reference:value()
    if type(inside) == "table" and not K.isClass(inside) and inside._isCollection then held[#held + 1] = inside end
  end
  observeAll(entry, entry.stops, held)
end

-- Evaluates the block again, and notifies observers if its value differs.
local function refresh(self, name, block)
  local entry = rawget(self, "_sources")[name]
  if not entry or entry.isBusy then return end
  entry.isBusy = true
  local before, items = entry.value, entry.plain
  local ok, failure = K.try(function() retrack(self, name, block) end)
  entry.isBusy = false
  if not ok then error(failure, 0) end
  local isTable = type(before) == "table" and not before._isText
  if isTable and not sameItems(items, entry.plain) or not isTable and not K.eq(before, entry.value) then
    notify(self, name)
  end
end

function startSource(self, name)
  local value = givenOf(self, name)
  if self._properties[name].isHandler then return end
  local isBlock = type(value) == "function"
  if not isBlock and not isReference(value) then return end
  local sources = rawget(self, "_sources")
  if not sources then
    sources = {}
    rawset(self, "_sources", sources)
  end
  local entry = { stops = {}, variables = {} }
  sources[name] = entry
  followers[self] = true
  if isBlock then
    entry.changed = function() refresh(self, name, value) end
    local named = blocks[self] or {}
    blocks[self], named[name] = named, value
    observeAll(entry, entry.variables, K.variablesRead(value))
    return retrack(self, name, value)
  end
  local ok, stop = K.try(K.observe, value, function() notify(self, name) end)
  if ok then
    entry.stops[1] = stop
  elseif type(stop) ~= "table" or stop.i_kind ~= "unsupported" then
    error(stop, 0)
  end
end

function stopSource(self, name)
  local sources = rawget(self, "_sources")
  local entry = sources and sources[name]
  if not entry then return end
  sources[name] = nil
  local named = blocks[self]
  if named then
    named[name] = nil
    if next(named) == nil then blocks[self] = nil end
  end
  endAll(entry.stops)
  endAll(entry.variables)
end

-- Calls `update` after each change of the property, until what this answers is called.
function K.watchProperty(self, name, update)
  local watchers = rawget(self, "_watchers")
  if not watchers then
    watchers = {}
    rawset(self, "_watchers", watchers)
  end
  local list, entry = watchers[name], { update = update, at = 1 }
  if list then
    entry.at = #list + 1
    list[entry.at] = entry
  else
    list = { entry }
    watchers[name] = list
    startSource(self, name)
  end
  return function()
    local at = entry.at
    if not at then return end
    -- The last one takes its place: a page has as many watchers as browsers.
    local n = #list
    local last = list[n]
    list[n] = nil
    if last ~= entry then list[at], last.at = last, at end
    entry.at = nil
    if #list == 0 and watchers[name] == list then
      watchers[name] = nil
      stopSource(self, name)
    end
  end
end

-- The outermost widget around this one: its window.
local function rootOf(self)
  for _ = 1, 1000 do
    local parent = rawget(self, "_parent")
    if not parent then return self end
    self = parent
  end
  return self
end
K.rootWidget = rootOf

-- After an event of the user: what blocks of the same window show may have changed.
function K.refreshWidgets(widget)
  local list, root = {}, rootOf(widget)
  for one, named in pairs(blocks) do
    if rootOf(one) == root then
      for name, block in pairs(named) do
        if not holding[name] then list[#list + 1] = { one, name, block } end
      end
    end
  end
  for i = 1, #list do
    local one = list[i]
    local sources = rawget(one[1], "_sources")
    if sources and sources[one[2]] then refresh(one[1], one[2], one[3]) end
  end
end

-- `protocol:ModelDidChange notify`: all widgets read again what they follow, also in stores that cannot tell.
local ModelDidChange = K.classes.ModelDidChange
ModelDidChange:follow_(function()
  local list = {}
  for widget in pairs(followers) do
    for name in pairs(rawget(widget, "_sources")) do list[#list + 1] = { widget, name } end
  end
  for i = 1, #list do
    local widget, name = list[i][1], list[i][2]
    local value = givenOf(widget, name)
    if type(value) == "function" then refresh(widget, name, value) else notify(widget, name) end
  end
end)

-- References --------------------------------------------------------------------------------------

-- The property as a reference, which can be observed: `control ref: #value`.
local function referenceTo(self, name)
  if type(name) ~= "string" then name = K.str(name) end
  if not propertyOf(self, name) then K.unknownProperty(self, name) end
  local known = rawget(self, "_references")
  if not known then
    known = {}
    rawset(self, "_references", known)
  end
  local reference = known[name]
  if not reference then
    reference = setmetatable({
      _scheme = "var", _path = name,
      _get = function() return current(self, name) end,
      _set = function(value) put(self, name, value) end,
      _observe = function(_, update) return K.watchProperty(self, name, update) end,
    }, Reference._methods)
    known[name] = reference
  end
  return reference
end
K.propertyReference = referenceTo

K.methods(Widget, {
  --- -<Reference> ref:<String>property
  --- A property as a reference, which can be read, written and followed. A misspelled name is an error.
  --- > field := #TextField{ value: 'a' }. (field ref: 'value') value ⇒ 'a'
  ["ref:"] = referenceTo,
  --- -<Reference> valueReference
  --- The property `value` as a reference: arrows from and to a control use it.
  --- > #TextField{ value: 'a' } valueReference value ⇒ 'a'
  ["valueReference"] = function(self) return referenceTo(self, "value") end,
})
-- What every widget has.
--- Widget -<String> label
--- Widget -<self> setLabel:<any>value
--- The accessible name. Without one it is the title, the label that stands before, or the placeholder.
--- > #TextField{ label: 'Name' } label ⇒ 'Name'

--- Widget -<Boolean> enabled
--- Widget -<self> setEnabled:<any>value
--- Whether the user can use the widget.
--- > #Button{ title: 'Save' } enabled ⇒ true

--- Widget -<any> key
--- Widget -<self> setKey:<any>value
--- The name by which `find:` finds the widget; nil without one.
--- > #TextField{ key: #age } key ⇒ 'age'

--- Widget -<Rectangle?> frame
--- Widget -<self> setFrame:<any>value
--- The place and size in pixels, with the origin at the bottom left; nil where the layout decides. Another value than a
--- Rectangle is an error.
--- > #Button{} frame ⇒ nil

--- Widget -<Boolean> hidden
--- Widget -<self> setHidden:<any>value
--- Whether the widget is left out.
--- > #Button{} hidden ⇒ false
local common = {
  label = { "text", "" }, enabled = { "boolean", true }, key = { "any" }, frame = { "frame" }, hidden = { "boolean", false },
}
local all = {}
for name, property in pairs(common) do
  all[name] = { kind = kinds[property[1]], default = property[2] }
  K.method(Widget, K.mangle(name), function(self) return current(self, name) end)
  K.method(Widget, K.mangle(K.setterName(name)), function(self, value) put(self, name, value) return self end)
end
rawset(Widget._methods, "_properties", all)
rawset(Widget._methods, "_view", "Label")
