-- Connectors as objects: `b → c → t` with a MessageConnector c. Each arrow gives it one end; with
-- both it connects. A program defines others: `connector Traced { -connect { … } }`.
local K = ...
local Object = K.classes.Object
local Connector = K.classes.Connector

for _, key in ipairs { "_made", "_from", "_to" } do K.nilKeys[key] = true end
K.method(Connector, "_isConnector", true)
--- -<any> source
--- The end that sends; nil while it is missing.
--- > MessageConnector new source ⇒ nil
K.ivar(Connector, "source")
--- -<any> target
--- The end that receives; nil while it is missing.
--- > MessageConnector new target ⇒ nil
K.ivar(Connector, "target")

--- Connector -<nothing> setSource:<any>source
--- Connector -<nothing> setTarget:<any>target
--- Sets one of the two ends without connecting them; `connect` does that.
--- > half := MessageConnector new. half setTarget: stdout. half isComplete ⇒ false

local function isComplete(self) return self.i_source ~= nil and self.i_target ~= nil end

local function disconnect(self)
  if self._made then self._made:disconnect() end
  self._made = nil
  return self
end

K.methods(Connector, {
  --- -<Boolean> isComplete
  --- Whether the connector has both ends.
  --- > MessageConnector new isComplete ⇒ false
  ["isComplete"] = isComplete,
  --- -<self> connect
  --- Connects the two ends; an arrow sends it once the connector has both. A connector of the program defines what it
  --- does.
  --- > list := []. half := MessageConnector new. half setSource: [1, 2]; setTarget: list; connect. list ⇒ [1, 2]
  ["connect"] = function(self)
    disconnect(self)
    self._made = K.connect(self.i_source, self:targetPort())
    return self
  end,
  --- -<any> targetPort
  --- What the source is connected to: the target, in a MessageConnector its port.
  --- > MessageConnector new targetPort ⇒ nil
  ["targetPort"] = function(self) return self.i_target end,
  --- -<self> connector
  --- The connector itself.
  --- > half := MessageConnector new. half connector isComplete ⇒ false
  ["connector"] = function(self) return self end,
  --- -<Boolean> isConnected
  --- Whether a connection that the connector made stands.
  --- > MessageConnector new isConnected ⇒ false
  ["isConnected"] = function(self) return self._made ~= nil and self._made:isConnected() end,
  --- -<self> disconnect
  --- Ends the connection that the connector made, if any.
  --- > MessageConnector new disconnect isConnected ⇒ false
  ["disconnect"] = disconnect,
  --- -<String> description
  --- The names of both ends, with the arrow between them.
  --- > MessageConnector new description ⇒ 'nil → nil'
  ["description"] = function(self)
    return K.endName(self.i_source) .. " → " .. K.endName(self.i_target)
  end,
  --- -<any> doesNotUnderstand:<Message>message
  --- Sends the message to the source; an error where the connector has none.
  --- > list := []. link := MessageConnector new. { :n | n * 2 } → link. link → list. link writeObject: 4. list ⇒ [8]
  ["doesNotUnderstand:"] = function(self, message)
    local source = self.i_source
    if source == nil then return Object._methods.doesNotUnderstand_(self, message) end
    return source:perform_withArguments_(message.i_selector, message:arguments())
  end,
})

--- A connector that sends each object of the source as the argument of a message, `selector`, to the target; without
--- one, each object as the target takes it.
local MessageConnector = K.newClass("MessageConnector", Connector)
K.alias("STMessageConnector", MessageConnector)
--- -<String?> selector
--- The selector of the message, with one colon; nil where the target takes objects in its own way.
--- > #MessageConnector{ selector: #add: } selector ⇒ 'add:'
K.ivar(MessageConnector, "selector")
K.methods(MessageConnector, {
  --- -<nothing> setSelector:<String?>selector
  --- -<nothing> setMessage:<String>selector
  --- Sets the selector of the message.
  --- > #MessageConnector{ message: #add: } selector ⇒ 'add:'
  ["setMessage:"] = function(self, selector) self:setSelector_(selector) end,
  --- -<any> targetPort
  --- The port of the target for the message; the target itself without a selector.
  --- > link := #MessageConnector{ selector: #add: }. link setTarget: []. link targetPort key ⇒ 'add:'
  ["targetPort"] = function(self)
    if self.i_selector == nil then return self.i_target end
    return self.i_target:portFor_(self.i_selector)
  end,
})
