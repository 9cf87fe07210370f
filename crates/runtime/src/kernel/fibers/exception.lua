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
  -- The value of the block, or what the handler answers when the block raises an error.
  ["onError:"] = function(block, on) return handled(block, on, any) end,
  -- Only for errors of a kind, or of a class of errors.
  ["on:do:"] = function(block, kind, on)
    return handled(block, on, function(value)
      return kind == value.i_kind or (K.isClass(kind) and K.isKind(value, kind))
    end)
  end,
  -- Runs the other block afterwards, whatever happens.
  ["ensure:"] = function(block, always)
    local ok, value = try(block)
    always()
    if ok then return value end
    error(value, 0)
  end,
  -- Tries again: the whole number of tries is the argument.
  ["retry:"] = function(block, times)
    local pause = 0.01
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
  ["description"] = function(self) return self.i_kind .. ": " .. tostring(self.i_message) end,
  ["signal"] = function(self)
    self._trace = K.traceback(1)
    -- A message that the program wrote is for clients, unlike that of a store that it asked.
    if rawget(self, "_side") == nil then self._side = "program" end
    error(self, 0)
  end,
  ["raise"] = function(self) return self:signal() end,
  -- In a handler: runs the block once more.
  ["retry"] = function(self) error({ _retry = self }, 0) end,
  ["isTemporary"] = function(self) return self._temporary == true end,
  ["hint"] = function(self) return rawget(self, "i_hint") end,
  ["trace"] = function(self)
    local lines = {}
    for i, place in ipairs(rawget(self, "_trace") or {}) do lines[i] = place[1] .. ":" .. place[2] end
    return K.array(lines, #lines)
  end,
})
K.classMethods(Error, {
  ["signal:"] = function(class, message)
    local err = setmetatable({ i_kind = "error", i_message = message }, class._methods)
    if class ~= Error then err.i_kind = class._name end
    return err:signal()
  end,
  ["kind:message:"] = function(class, kind, message)
    return setmetatable({ i_kind = kind, i_message = message }, class._methods)
  end,
  -- With headers of the HTTP response: a dictionary.
  ["kind:message:headers:"] = function(class, kind, message, headers)
    return setmetatable({ i_kind = kind, i_message = message, i_headers = checked(headers) }, class._methods)
  end,
  -- With what is wrong in the client's content: a dictionary from fields to messages.
  ["kind:message:fields:"] = function(class, kind, message, fields)
    return setmetatable({ i_kind = kind, i_message = message, i_fields = problems(fields) }, class._methods)
  end,
  -- With an HTTP status of its own.
  ["status:message:"] = function(class, status, message)
    return setmetatable({ i_kind = "error", i_message = message, i_status = errorStatus(status) }, class._methods)
  end,
  ["status:message:headers:"] = function(class, status, message, headers)
    local err = class:status_message_(status, message)
    err.i_headers = checked(headers)
    return err
  end,
})
