-- What generated code asks of any value: truth, equality, the value of a block, a message by name.
local K = ...
local type, rawequal = type, rawequal

-- true or false: what `ifTrue:` looks at. nil is false, numbers are true unless 0.
function K.truth(value)
  if value == true then return true end
  if value == false or value == nil then return false end
  if type(value) == "number" then return value ~= 0 end
  return K.truthSlow(value)
end

function K.truthSlow(value)
  if type(value) == "table" then
    if value._isBig then return true end
    if value._isDecimal then return value._units ~= 0 end
  end
  K.refuse(value, "ifTrue:", "only true, false and numbers can be asked")
end

function K.eq(a, b)
  if rawequal(a, b) then return true end
  if type(a) == "table" then return a:isEqual_(b) end
  -- Big integers, decimals and mutable strings may equal plain values.
  if type(b) == "table" and a ~= nil and b._equalsPlain then return b:isEqual_(a) end
  return false
end

function K.ne(a, b)
  if type(a) == "table" then return a:isNotEqualTo_(b) end
  return not K.eq(a, b)
end

-- The value of a block, or of anything else itself: `ifNil: 3` and `ifNil: { 3 }`.
function K.valueOf(thing, ...)
  if type(thing) == "function" then return thing(...) end
  return thing
end
