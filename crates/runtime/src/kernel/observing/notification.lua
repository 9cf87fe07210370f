-- `protocol:ModelDidChange notify`: what is observed in stores is looked at again, for values that
-- changed without a write through the store.
local K = ...
local Notification = K.classes.Notification

local ModelDidChange = K.newClass("ModelDidChange", Notification)
K.classMethod(ModelDidChange, "notify_", function(class, object)
  K.lookAgain()
  return Notification._meta.notify_(class, object)
end)
