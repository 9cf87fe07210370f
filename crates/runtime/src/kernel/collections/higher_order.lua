-- Higher-order messages: `tasks collect title`, `numbers select > 3`, `(1 to: 5) reduce * 1`,
-- `stdout do println: names each`. The unary message answers a stand-in; the message that the
-- stand-in gets is sent to each element. An argument that is an enumerator (`each`) varies.
local K = ...
local type, setmetatable = type, setmetatable
local yes = K.yes
local NULL = K.NULL

--- The receiver of the message after `collect`, `select`, `reject`, `detect`, `do`, `reduce` or `async`, which sends
--- that message to the elements. An argument made by `each` gives one element per step. It takes one message and is not
--- kept.
local HigherOrder = K.newClass("HigherOrder", K.classes.Object)

-- Sends a message to one value; `_over` is what `/` is called.
local function send(value, name, a, b, c)
  if name == "_over" then return K.div(value, a) end
  return value[name](value, a, b, c)
end

local function varies(argument)
  return type(argument) == "table" and argument._isEnumerator
end

-- Calls `take(value, answer, stored)` for each element with what it answered, until that says stop.
-- A receiver that is no collection gets the message once for each element of the varying argument.
local function run(receiver, name, a, b, c, take)
  local va, vb, vc = varies(a), varies(b), varies(c)
  local list, n, single
  if type(receiver) == "string" or type(receiver) == "table" and receiver._isCollection then
    list = receiver:_elements()
    n = #list
  else
    single = receiver
    n = (va or vb or vc) and math.huge or 1
  end
  local i = 0
  while i < n do
    i = i + 1
    if va and a:atEnd() or vb and b:atEnd() or vc and c:atEnd() then return end
    local x, y, z = a, b, c
    if va then x = a:nextObject() end
    if vb then y = b:nextObject() end
    if vc then z = c:nextObject() end
    local stored = single
    if list then stored = list[i] end
    local value = stored
    if value == NULL then value = nil end
    if take(value, send(value, name, x, y, z), stored) then return end
  end
end

-- A kind of stand-in: `perform(receiver, name, a, b, c)` does what the message to it asks.
local function kind(perform)
  local messages = setmetatable({}, {
    __index = function(cache, name)
      if type(name) ~= "string" or K.isInternal(name) and name ~= "_over" then return nil end
      local function message(proxy, a, b, c) return perform(proxy._receiver, name, a, b, c) end
      cache[name] = message
      return message
    end,
  })
  local meta = { __index = messages, _class = HigherOrder }
  return function(receiver) return setmetatable({ _receiver = receiver, _standIn = true }, meta) end
end

local collect = kind(function(receiver, name, a, b, c)
  local out, n = {}, 0
  run(receiver, name, a, b, c, function(_, answer)
    n = n + 1
    out[n] = answer == nil and NULL or answer
  end)
  return K.array(out)
end)

local each = kind(function(receiver, name, a, b, c)
  run(receiver, name, a, b, c, function() end)
  return nil
end)

local function filter(wanted)
  return kind(function(receiver, name, a, b, c)
    local out, n = {}, 0
    run(receiver, name, a, b, c, function(_, answer, stored)
      if (yes(answer) or false) == wanted then
        n = n + 1
        out[n] = stored
      end
    end)
    return K.array(out)
  end)
end

local first = kind(function(receiver, name, a, b, c)
  local found
  run(receiver, name, a, b, c, function(value, answer)
    if yes(answer) then
      found = value
      return true
    end
  end)
  return found
end)

-- The argument is the start value; the message goes to the result so far, with each element.
local reduce = kind(function(receiver, name, start)
  local list, result = receiver:_elements(), start
  for i = 1, #list do
    local value = list[i]
    if value == NULL then value = nil end
    result = send(result, name, value)
  end
  return result
end)

-- The message is answered in a fiber of its own; the fiber is the value.
local async = kind(function(receiver, name, a, b, c)
  return K.fork(function() return send(receiver, name, a, b, c) end)
end)

--- Object -<any> collect
--- String -<any> collect
--- Collection -<any> collect
--- Sends the message after it to each element and answers an Array of the results. Another object than a collection or
--- text gets the message once for each element of an argument made by `each`.
--- > ['ann', 'ben'] collect uppercase ⇒ ['ANN', 'BEN']
--- > [1, 2] collect + [10, 20] each ⇒ [11, 22]

--- String -<any> select
--- Collection -<any> select
--- Sends the message after it to each element and answers an Array of the elements that answer true. Unlike `select:`
--- this is an Array also for a Set, a Dictionary and a text.
--- > [1, 5, 3] select > 2 ⇒ [5, 3]

--- String -<any> reject
--- Collection -<any> reject
--- Sends the message after it to each element and answers an Array of the elements that answer false.
--- > [1, nil, 3] reject isNil ⇒ [1, 3]

--- Object -<any> do
--- String -<any> do
--- Collection -<any> do
--- Sends the message after it to each element and answers nil. Another object than a collection or text gets the
--- message once for each element of an argument made by `each`.
--- > out := ByteStream new. out do print: (1 to: 3) each. out stringValue ⇒ '123'

--- String -<any> detect
--- String -<any> selectFirst
--- Collection -<any> detect
--- Collection -<any> selectFirst
--- Sends the message after it to the elements and answers the first one that answers true; nil when there is none.
--- > [1, 5, 3] detect > 2 ⇒ 5

--- String -<any> reduce
--- Collection -<any> reduce
--- Folds the elements with the message after it, which goes to the result so far; its argument is the start.
--- > (1 to: 5) reduce * 1 ⇒ 120

--- Object -<any> async
--- Sends the message after it in a new fiber and answers the Fiber; its `value` waits for the message's value.
--- > 'report' async uppercase | value ⇒ 'REPORT'

local messages = {
  ["collect"] = collect, ["select"] = filter(true), ["reject"] = filter(false),
  ["do"] = each, ["selectFirst"] = first, ["detect"] = first, ["reduce"] = reduce,
}
K.methods(K.classes.Collection, messages)
K.methods(K.classes.String, messages)
-- Any object can be sent one message with varying arguments.
K.methods(K.classes.Object, { ["do"] = each, ["collect"] = collect, ["async"] = async })
