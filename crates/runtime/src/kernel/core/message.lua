-- Messages as objects, and what an absent method answers.
local K = ...
local type, setmetatable = type, setmetatable
local find, gsub, sub = string.find, string.gsub, string.sub
local nilKeys = K.nilKeys

--- A message that its receiver does not understand: the argument of `doesNotUnderstand:`.
local Message = K.newClass("Message", K.classes.Object)
--- -<String> selector
--- The selector of the message, such as `at:put:`. Operators have names, such as `add:` for `+`.
--- > #Message{ selector: 'at:put:' } selector ⇒ 'at:put:'
K.ivar(Message, "selector")
--- -<Array> arguments
--- The arguments of the message, one for each colon of its selector.
--- > #Message{ selector: 'at:', arguments: [7] } arguments ⇒ [7]
K.ivar(Message, "arguments")

--- Message -<nothing> setSelector:<String>selector
--- Message -<nothing> setArguments:<Array>arguments
--- Sets the property of that name.
--- > message := Message new. message setSelector: 'count'. message selector ⇒ 'count'

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
