-- Errors in programs: the messages that catch, repeat and raise them.
local K = ...
local error, type, tostring, getmetatable, setmetatable, rawget =
  error, type, tostring, getmetatable, setmetatable, rawget
local try = K.try
local Error = K.classes.Error

-- Whether a handler of the program may take it.
local function catchable(raised)
  return getmetatable(raised) ~= nil and not rawget(raised, "_uncatchable")
end

K.catchable = catchable

-- Leaving a block by `^` is an end like any other: not an error, without a class.
function K.isReturn(raised)
  return type(raised) == "table" and getmetatable(raised) == nil and not rawget(raised, "_retry")
    and not rawget(raised, "_gaveUp")
end

local Block = K.classes.Block

-- Runs a block; hands an error that `takes` accepts to the handler. `error retry` in the handler
-- runs the block once more.
local function handled(block, on, takes)
  while true do
    local ok, value = try(block)
    if ok then return value end
    if not catchable(value) or not takes(value) then error(value, 0) end
    if type(on) ~= "function" then return on end
    local good, answer = try(on, value)
    if good then return answer end
    if type(answer) ~= "table" or rawget(answer, "_retry") ~= value then error(answer, 0) end
  end
end

local function any() return true end

K.methods(Block, {
  --- -<any> onError:<Block(error)|Object?>handler
  --- The value of the block. When it raises an error, the value of the handler, which gets the error, or the argument
  --- where it is no block. A request that passes its deadline is not caught.
  --- > { 1 / 0 } onError: { :error | error kind } ⇒ 'divisionByZero'
  ["onError:"] = function(block, on) return handled(block, on, any) end,
  --- -<any> on:<String|Class>kind do:<Block(error)|Object?>handler
  --- Like `onError:`, for errors of one kind or of a class of errors only. Others propagate.
  --- > { 1 / 0 } on: 'divisionByZero' do: { :error | 0 } ⇒ 0
  ["on:do:"] = function(block, kind, on)
    return handled(block, on, function(value)
      return kind == value.i_kind or (K.isClass(kind) and K.isKind(value, kind))
    end)
  end,
  --- -<any> ensure:<Block()>cleanup
  --- The value of the block. The cleanup runs afterwards, also when the block raises an error, which then propagates.
  --- > log := []. { 3 } ensure: { log add: 'closed' }. log ⇒ ['closed']
  ["ensure:"] = function(block, always)
    K.expectBlock(always, "ensure:")
    local ok, value = try(block)
    always()
    if ok then return value end
    error(value, 0)
  end,
  --- -<any> retry:<Number>attempts
  --- The value of the block, which is evaluated again after an error, up to this number of attempts in all, at least 1.
  --- The pauses between them double from 10 ms up to 5 s, give or take half; the last error propagates.
  --- > n := 0. { n := n + 1. n < 3 ifTrue: { Error signal: 'busy' }. n } retry: 5 ⇒ 3
  --- > { 3 } retry: 0 ⇒ error: retry: needs at least 1 attempt, not 0
  ["retry:"] = function(block, times)
    local pause = 0.01
    times = K.expectInteger(times, "retry:")
    if times < 1 then K.throw("outOfRange", "retry: needs at least 1 attempt, not " .. K.str(times)) end
    for attempt = 1, times do
      local ok, value = try(block)
      if ok then return value end
      if attempt == times or not catchable(value) then error(value, 0) end
      K.native.sleep(pause * (0.5 + math.random()))
      pause = math.min(pause * 2, 5)
    end
  end,
})

-- What an error says to HTTP clients.
local function errorStatus(status)
  if type(status) == "number" and status >= 400 and status <= 599 and status % 1 == 0 then return status end
  K.throw("typeError", "the status of an error must be a whole number from 400 to 599, not " .. K.str(status))
end
local function checked(headers)
  if type(headers) == "table" and headers._isDictionary then return headers end
  K.throw("typeError", "the headers of an error must be a dictionary, not " .. K.nameOf(headers))
end
local function problems(fields)
  local list, n = {}, 0
  checked(fields):keysAndValuesDo_(function(name, message)
    local pointer = K.str(name)
    -- RFC 6901: a pointer begins with a slash.
    if string.byte(pointer, 1) ~= 47 then
      pointer = "/" .. string.gsub(string.gsub(pointer, "~", "~0"), "/", "~1")
    end
    n = n + 1
    list[n] = K.dictionary({ "pointer", "message" }, { pointer = pointer, message = K.str(message) }, 2)
  end)
  return K.array(list, n)
end

K.methods(Error, {
  --- -<String> description
  --- The kind and the message, with a colon between them.
  --- > { 1 / 0 } onError: { :error | error description } ⇒ 'divisionByZero: 1 cannot be divided by 0'
  ["description"] = function(self) return K.str(self.i_kind or "error") .. ": " .. K.str(self.i_message) end,
  --- -<nothing> signal
  --- -<nothing> raise
  --- Raises the error.
  --- > (Error kind: 'busy' message: 'try later') signal ⇒ error: try later
  ["signal"] = function(self)
    self._trace = K.trace()
    -- A message that the program wrote is for clients, unlike that of a store that it asked.
    if rawget(self, "_side") == nil then self._side = "program" end
    error(self, 0)
  end,
  ["raise"] = function(self) return self:signal() end,
  --- -<nothing> retry
  --- In a handler of `onError:` or `on:do:`: evaluates the block once more.
  --- > n := 0. { n := n + 1. 6 / (n - 1) } onError: { :error | error retry } ⇒ 6
  ["retry"] = function(self) error({ _retry = self }, 0) end,
  --- -<Boolean> isTemporary
  --- Whether a store reported a failure that may pass, such as a connection that was refused, so that a retry makes
  --- sense.
  --- > { 1 / 0 } onError: { :error | error isTemporary } ⇒ false
  ["isTemporary"] = function(self) return self._temporary == true end,
  --- -<String?> hint
  --- How to solve the problem, in one sentence; nil where no hint is known.
  --- > { 'a' + 'b' } onError: { :e | e hint } ⇒ 'join texts with a comma, or convert with asNumber'
  ["hint"] = function(self) return rawget(self, "i_hint") end,
  --- -<Array> trace
  --- The places that the error came through, as texts `file:line:column`, the innermost first, at most 64. Empty before it is
  --- raised.
  --- > (Error kind: 'busy' message: 'try later') trace ⇒ []
  ["trace"] = function(self)
    local lines = {}
    for i, place in ipairs(K.framesOf(rawget(self, "_trace"))) do lines[i] = place end
    return K.array(lines, #lines)
  end,
})
K.classMethods(Error, {
  --- +<nothing> signal:<any?>message
  --- Raises an error with this message. Its kind is `error`, of a class below Error the name of that class.
  --- > Error signal: 'out of tea' ⇒ error: out of tea
  ["signal:"] = function(class, message)
    local err = setmetatable({ i_kind = "error", i_message = message }, class._methods)
    if class ~= Error then err.i_kind = class._name end
    return err:signal()
  end,
  --- +<self> kind:<String>kind message:<any?>message
  --- An error of this kind, to be raised by `signal`.
  --- > { Error kind: 'busy' message: 'later' | signal } on: 'busy' do: { :error | error message } ⇒ 'later'
  ["kind:message:"] = function(class, kind, message)
    return setmetatable({ i_kind = kind, i_message = message }, class._methods)
  end,
  --- +<self> kind:<String>kind message:<any?>message headers:<Dictionary>headers
  --- An error of this kind with headers of the HTTP response that it becomes.
  --- > (Error kind: 'busy' message: 'later' headers: #{ 'retry-after': '5' }) headers at: 'retry-after' ⇒ '5'
  ["kind:message:headers:"] = function(class, kind, message, headers)
    return setmetatable({ i_kind = kind, i_message = message, i_headers = checked(headers) }, class._methods)
  end,
  --- +<self> kind:<String>kind message:<any?>message fields:<Dictionary>fields
  --- An error of this kind with what is wrong in the content of a client: a message for each field, which is a name or
  --- a JSON pointer (RFC 6901).
  --- > (Error kind: 'invalid' message: 'no' fields: #{ name: 'too long' }) fields first at: 'pointer' ⇒ '/name'
  ["kind:message:fields:"] = function(class, kind, message, fields)
    return setmetatable({ i_kind = kind, i_message = message, i_fields = problems(fields) }, class._methods)
  end,
  --- +<self> status:<Number>status message:<any?>message
  --- An error of the kind `error` with the HTTP status that it becomes, from 400 to 599; another one is an error.
  --- > (Error status: 409 message: 'taken') status ⇒ 409
  ["status:message:"] = function(class, status, message)
    return setmetatable({ i_kind = "error", i_message = message, i_status = errorStatus(status) }, class._methods)
  end,
  --- +<self> status:<Number>status message:<any?>message headers:<Dictionary>headers
  --- An error with the HTTP status that it becomes, from 400 to 599, and headers of that response.
  --- > (Error status: 429 message: 'slow down' headers: #{ 'retry-after': '5' }) status ⇒ 429
  ["status:message:headers:"] = function(class, status, message, headers)
    local err = class:status_message_(status, message)
    err.i_headers = checked(headers)
    return err
  end,
})
