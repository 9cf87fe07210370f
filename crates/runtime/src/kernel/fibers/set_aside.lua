-- Records that code cannot take: whatever follows a log or changes sets them aside, so that one of them holds up no
-- other, now and at each start.
--
-- A fault of the record, such as a value that an index does not take or a panic of a library, comes back whenever it is
-- tried. A fault of the place that takes it concerns all records alike: that one stays an error.
local K = ...

-- Kinds of faults of a place.
local OF_PLACES = {}
for _, kind in ipairs { "unavailable", "cancelled", "timeout", "inDoubt", "tooMany", "unauthorized", "gone" } do
  OF_PLACES[kind] = true
end

-- Counts a record as set aside for a follower, a search index or another one, and reports the first in this process.
function K.setAside(kind, follower, record, fault)
  if not K.native.countSetAside(kind, follower) then return end
  K.reportError(string.format("error: %s sets aside what it cannot take, which is counted; the first is %s: ", follower,
    record), fault)
end

-- Whether a fault is of one record; others are raised.
function K.isOfRecord(fault) return K.catchable(fault) and not OF_PLACES[K.str(fault.i_kind)] end

-- Runs a block for a record. Answers false for one that was set aside.
function K.deliver(kind, follower, record, block, ...)
  local ok, fault = K.try(block, ...)
  if ok or K.isReturn(fault) then return true end
  if not K.isOfRecord(fault) then error(fault, 0) end
  K.setAside(kind, follower, record, fault)
  return false
end
