-- `protocol:ModelDidChange notify` reads the observed paths of stores again, for values that changed
-- without a write through the store.
local K = ...

--- The notification that what stores hold changed without a write: `notify` reads their observed paths again.
local ModelDidChange = K.newClass("ModelDidChange", K.classes.Notification)
ModelDidChange:follow_(K.lookAgain)
