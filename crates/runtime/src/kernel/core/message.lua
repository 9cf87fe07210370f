-- Messages as objects, and what an absent method answers.
local K = ...
local type, setmetatable = type, setmetatable
local find, gsub, sub = string.find, string.gsub, string.sub
local nilKeys = K.nilKeys

local Message = K.newClass("Message", K.classes.Object)
K.ivar(Message, "selector")
K.ivar(Message, "arguments")

local refusals = {}

-- Apart from what answers it: LuaJIT's tracer does not compile functions that make closures.
local function newRefusal(key)
  local function refusal(self, ...)
    return self:doesNotUnderstand_(K.newMessage(K.selector(key), key, ...))
  end
  refusals[key] = refusal
  return refusal
end

-- What an absent method answers: a function that sends `doesNotUnderstand:`. Internal fields and
-- instance variables that were never set are nil.
function K.missing.__index(_, key)
  if nilKeys[key] then return nil end
  local refusal = refusals[key]
  if refusal then return refusal end
  if type(key) ~= "string" then return nil end
  if K.isInternal(key) then return nil end
  if find(key, "^i_%w") and sub(key, -1) ~= "_" then return nil end
  return newRefusal(key)
end

function K.newMessage(selector, name, ...)
  local message = setmetatable({ i_selector = selector, _selectorName = name }, Message._methods)
  local arguments = { ... }
  -- What the compiler adds for stores is no argument: there are as many as colons.
  local _, colons = gsub(selector, ":", "")
  if colons > 0 then arguments[colons + 1] = nil end
  message.i_arguments = K.array(arguments)
  return message
end
