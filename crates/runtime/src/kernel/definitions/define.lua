-- Definitions: what `class`, `scheme`, `filter` … mean at run time; loop bounds; templates.
local K = ...
local rawget, rawset = rawget, rawset
local throw = K.throw
local classes = K.classes
local Object = K.classes.Object

--- The root of systems: objects composed of others, as in `system Greeter { … }`. What `connectComponents` answers
--- replaces the system that a literal makes.
local System = K.newClass("System", Object)
K.alias("STSystem", System)
--- A named set of messages, as in `protocol ModelDidChange { … }`: the class itself passes notifications to those who
--- follow it.
local Protocol = K.newClass("Protocol", Object)
K.alias("STProtocol", Protocol)
--- A connector as an object: it stands between two ends and connects them once it has both.
local Connector = K.newClass("Connector", Object)
K.alias("STConnector", Connector)
--- The root of protocols that are declared by `notification`.
local Notification = K.newClass("Notification", Protocol)
K.classMethods(Protocol, {
  --- +<Class> notify
  --- Notifies all followers of the protocol without an object: each gets nil.
  --- > heard := 0. Notification follow: { heard := heard + 1 }. Notification notify. heard ⇒ 1
  ["notify"] = function(class) return class:notify_(nil) end,
  --- +<Class> notify:<any?>object
  --- Notifies all followers of the protocol in the order in which they came: each gets the object.
  --- > heard := []. Notification follow: { :what | heard add: what }. Notification notify: 'title'. heard ⇒ ['title']
  ["notify:"] = function(class, object)
    for _, follower in ipairs(rawget(class, "_followers") or {}) do follower(object) end
    return class
  end,
  --- +<Class> follow:<Block(object)>action
  --- Evaluates the block with the object of each later notification. A connection, `protocol:Name → { … }`, can end.
  --- > heard := []. Notification follow: { :what | heard add: what }. Notification notify: 'price'. heard ⇒ ['price']
  ["follow:"] = function(class, block)
    class._followers = rawget(class, "_followers") or {}
    table.insert(class._followers, block)
    return class
  end,
})
for _, key in ipairs { "_followers", "_promised", "_plainName", "_defined", "_source" } do K.nilKeys[key] = true end

local roots = {
  class = "Object", extension = "Object", scheme = "Scheme", filter = "Filter", system = "System",
  protocol = "Protocol", connector = "Connector", notification = "Notification",
}

-- Begins a definition; answers the class and the method tables of its superclass.
function K.define(keyword, name, super)
  local class = classes[name]
  -- A program may reuse a plain name such as `Cache` for a class of its own; to extend ours, it writes
  -- `extension`.
  if class and rawget(class, "_plainName") and keyword ~= "extension" then class = nil end
  local source = keyword ~= "extension" and K.refuseSameClass(class, name) or nil
  if class and (keyword == "extension" or super == nil or class._super == super) then
    local above = class._super
    return class, above and above._methods or Object._methods, above and above._meta or Object._meta
  end
  if keyword == "extension" then throw("unknownClass", string.format("there is no class `%s` to extend", name)) end
  super = super or classes[roots[keyword]]
  if not K.isClass(super) then throw("typeError", string.format("%s cannot be a superclass", K.nameOf(super))) end
  class = K.newClass(name, super)
  class._program, class._source = true, source
  return class, super._methods, super._meta
end

-- Ends a definition.
function K.defined(class)
  rawset(class, "_defined", true)
  K.native.forgetPlans()
  K.forgetRules()
  K.classesChanged()
  return class
end

-- A message that a protocol asks for.
function K.promise(class, name)
  class._promised = rawget(class, "_promised") or {}
  table.insert(class._promised, name)
end

-- `object Name : #Class{ … }`: a class whose instances begin with these values.
function K.template(name, class, keys, values, count)
  local template = K.newClass(name, class)
  local new = class._meta.new
  K.classMethod(template, "new", function(self)
    return K.fillObject(new(self), keys, values, count)
  end)
  return template
end

-- Text from many pieces.
function K.join(pieces) return table.concat(pieces) end
