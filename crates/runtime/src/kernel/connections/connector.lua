-- Connectors as objects: `b → c → t` with a MessageConnector c. Each arrow gives it one end; with
-- both it connects. A program defines others: `connector Traced { -connect { … } }`.
local K = ...
local Object = K.classes.Object
local Connector = K.classes.Connector

for _, key in ipairs { "_made", "_from", "_to" } do K.nilKeys[key] = true end
K.method(Connector, "_isConnector", true)
K.ivar(Connector, "source")
K.ivar(Connector, "target")

local function isComplete(self) return self.i_source ~= nil and self.i_target ~= nil end

local function disconnect(self)
  if self._made then self._made:disconnect() end
  self._made = nil
  return self
end

K.methods(Connector, {
  ["isComplete"] = isComplete,
  -- A subclass of the program may do something else between the two ends.
  ["connect"] = function(self)
    disconnect(self)
    self._made = K.connect(self.i_source, self:targetPort())
    return self
  end,
  ["targetPort"] = function(self) return self.i_target end,
  ["connector"] = function(self) return self end,
  ["isConnected"] = function(self) return self._made ~= nil and self._made:isConnected() end,
  ["disconnect"] = disconnect,
  ["description"] = function(self)
    return K.endName(self.i_source) .. " → " .. K.endName(self.i_target)
  end,
  -- A complete connector stands for its sending end.
  ["doesNotUnderstand:"] = function(self, message)
    local source = self.i_source
    if source == nil then return Object._methods.doesNotUnderstand_(self, message) end
    return source:perform_withArguments_(message.i_selector, message:arguments())
  end,
})

-- Sends each object of the source as a message to the target: `selector`, or what the target takes.
local MessageConnector = K.newClass("MessageConnector", Connector)
K.alias("STMessageConnector", MessageConnector)
K.ivar(MessageConnector, "selector")
K.methods(MessageConnector, {
  ["setMessage:"] = function(self, selector) self:setSelector_(selector) end,
  ["targetPort"] = function(self)
    if self.i_selector == nil then return self.i_target end
    return self.i_target:portFor_(self.i_selector)
  end,
})
