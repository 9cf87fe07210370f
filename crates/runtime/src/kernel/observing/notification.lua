-- `protocol:ModelDidChange notify` reads the observed paths of stores again, for values that changed
-- without a write through the store.
local K = ...

local ModelDidChange = K.newClass("ModelDidChange", K.classes.Notification)
ModelDidChange:follow_(K.lookAgain)
